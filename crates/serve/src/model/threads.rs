//! Fleets of threads.

use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use pitot_sys::{Waker, affinity};

use super::Fleet;
use crate::plan::ServeError;

/// Threads that run until a waker tells them to stop.
pub(super) struct Threads {
    stop: Arc<Waker>,
    threads: Vec<JoinHandle<io::Result<()>>>,
    stopping: bool,
}

impl Threads {
    pub(super) fn new() -> Result<Threads, ServeError> {
        let stop =
            Waker::new().map_err(|e| ServeError::starting("a pipe for stopping could not be made", &e))?;
        Ok(Threads { stop: Arc::new(stop), threads: Vec::new(), stopping: false })
    }

    /// Readable once the threads are to stop.
    pub(super) fn stop_waker(&self) -> Arc<Waker> {
        Arc::clone(&self.stop)
    }

    /// Starts a thread on the given CPUs.
    pub(super) fn start(
        &mut self,
        name: String,
        cpus: Vec<usize>,
        work: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> Result<(), ServeError> {
        let work = move || {
            if !cpus.is_empty() {
                affinity::pin(&cpus)?;
            }
            work()
        };
        let thread = Builder::new().name(name).spawn(work);
        self.threads.push(thread.map_err(|e| ServeError::starting("a thread could not be started", &e))?);
        Ok(())
    }
}

impl Fleet for Threads {
    fn stop(&mut self) {
        self.stopping = true;
        self.stop.wake();
    }

    fn tend(&mut self) -> Result<(), ServeError> {
        for ended in self.threads.extract_if(.., |thread| thread.is_finished()) {
            match ended.join() {
                Ok(Ok(())) if self.stopping => {}
                Ok(Ok(())) => return Err(ServeError::new("a worker ended by itself", "please report this")),
                Ok(Err(e)) => return Err(ServeError::starting("a worker could not go on", &e)),
                Err(_) => return Err(ServeError::new("a worker panicked", "please report this")),
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
