//! Fleets of threads.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::{Builder, JoinHandle};

use pitot_sys::{Waker, affinity};

use pitot_results::Failure;

use super::Workers;
use crate::failure::starting;

/// Threads that run until a waker tells them to stop. Each has one of its own, as a realtime signal can tell of a
/// descriptor to one thread only.
#[derive(Default)]
pub(super) struct Threads {
    wakers: Vec<Arc<Waker>>,
    threads: Vec<JoinHandle<io::Result<()>>>,
    stopping: bool,
}

impl Threads {
    /// A waker for one thread: readable once it is to stop.
    pub(super) fn stop_waker(&mut self) -> Result<Arc<Waker>, Failure> {
        let waker = Waker::new().map_err(|e| starting("cannot create a pipe to stop a worker", &e))?;
        let waker = Arc::new(waker);
        self.wakers.push(Arc::clone(&waker));
        Ok(waker)
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
        let thread = Builder::new().name(name).spawn(work);
        self.threads.push(thread.map_err(|e| starting("cannot start a thread", &e))?);
        Ok(())
    }

    /// Waits until every worker that has a sender to this channel has told that it is prepared, so that a server which
    /// says that it is ready does not fail for want of what its workers take at their start.
    pub(super) fn wait_until_prepared(&mut self, told: &Receiver<()>) -> Result<(), Failure> {
        let workers = self.wakers.len();
        while told.iter().take(workers).count() < workers {
            // One has dropped its sender, and ends with the reason.
            self.tend()?;
        }
        Ok(())
    }
}

impl Workers for Threads {
    fn stop(&mut self) {
        self.stopping = true;
        self.wakers.iter().for_each(|waker| waker.wake());
    }

    fn tend(&mut self) -> Result<(), Failure> {
        for ended in self.threads.extract_if(.., |thread| thread.is_finished()) {
            match ended.join() {
                Ok(Ok(())) if self.stopping => {}
                Ok(Ok(())) => return Err(Failure::run("a worker ended by itself", "please report this")),
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
        // Threads cannot be ended from outside; they end with the process.
        self.threads.clear();
    }
}
