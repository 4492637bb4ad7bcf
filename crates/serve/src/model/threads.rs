//! Workers that are threads.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::{Builder, JoinHandle};

use pitot_sys::{Waker, affinity, thread};

use pitot_results::Failure;

use super::contract::Workers;
use crate::failure::starting;

/// Threads that run until they are stopped through a waker. Each has its own waker, since a descriptor can send its
/// realtime signals to one thread only.
#[derive(Default)]
pub(super) struct Threads {
    wakers: Vec<Arc<Waker>>,
    threads: Vec<JoinHandle<io::Result<()>>>,
    before_stop: Option<Box<dyn FnOnce()>>,
    stopping: bool,
}

impl Threads {
    /// A waker for one thread, readable once the thread has to stop.
    pub(super) fn stop_waker(&mut self) -> Result<Arc<Waker>, Failure> {
        let waker = Waker::new().map_err(|e| starting("cannot create a pipe to stop a worker", &e))?;
        let waker = Arc::new(waker);
        self.wakers.push(Arc::clone(&waker));
        Ok(waker)
    }

    /// Runs `action` before the threads are stopped.
    pub(super) fn before_stop(&mut self, action: impl FnOnce() + 'static) {
        self.before_stop = Some(Box::new(action));
    }

    /// Starts a thread on the given CPUs.
    pub(super) fn start(
        &mut self,
        name: String,
        cpus: Vec<usize>,
        work: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> Result<(), Failure> {
        let work = move || {
            if !cpus.is_empty() {
                affinity::pin(&cpus)?;
            }
            work()
        };
        let thread = thread::spawn(Builder::new().name(name), thread::STACK_BYTES, work);
        self.threads.push(thread.map_err(|e| starting("cannot start a thread", &e))?);
        Ok(())
    }

    /// Waits until all workers have reported through this channel that they are prepared, so that a server that has
    /// printed `ready` does not fail later for lack of resources that its workers need at their start.
    pub(super) fn wait_until_prepared(&mut self, ready_receiver: &Receiver<()>) -> Result<(), Failure> {
        let workers = self.wakers.len();
        while ready_receiver.iter().take(workers).count() < workers {
            // A worker has dropped its sender, and returns the reason.
            self.tend()?;
        }
        Ok(())
    }
}

impl Workers for Threads {
    fn stop(&mut self) {
        if let Some(action) = self.before_stop.take() {
            action();
        }
        self.stopping = true;
        self.wakers.iter().for_each(|waker| waker.wake());
    }

    fn tend(&mut self) -> Result<(), Failure> {
        for ended in self.threads.extract_if(.., |thread| thread.is_finished()) {
            match ended.join() {
                Ok(Ok(())) if self.stopping => {}
                Ok(Ok(())) => return Err(Failure::run("a worker ended unexpectedly", "please report this")),
                Ok(Err(e)) => return Err(starting("a worker failed", &e)),
                Err(_) => return Err(Failure::run("a worker panicked", "please report this")),
            }
        }
        Ok(())
    }

    fn done(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    fn kill(&mut self) {
        // Threads cannot be killed; they end with the process.
        self.threads.clear();
    }
}
