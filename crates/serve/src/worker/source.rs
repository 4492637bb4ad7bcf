use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use pitot_sys::Waker;

/// The source of a worker's connections.
#[derive(Debug)]
pub enum Source {
    /// A listener that it accepts from.
    Listener(OwnedFd),
    /// A queue of connections that another thread has accepted.
    Handoff(Arc<Handoff>),
}

/// A queue of connections from an acceptor to a worker loop, bounded by the limit on connections.
#[derive(Debug)]
pub struct Handoff {
    queue: Mutex<VecDeque<OwnedFd>>,
    wake: Waker,
}

impl Handoff {
    /// An empty queue.
    ///
    /// # Errors
    /// As [`Waker::new`].
    pub fn new() -> io::Result<Handoff> {
        Ok(Handoff { queue: Mutex::default(), wake: Waker::new()? })
    }

    /// Passes a connection to the loop. Its socket is blocking, as a ring needs it: there, a send on a non-blocking
    /// socket fails with EAGAIN instead of waiting for room.
    pub fn give(&self, connection: OwnedFd) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.push_back(connection);
        if queue.len() == 1 {
            self.wake.wake();
        }
    }

    /// The next connection, if there is one.
    pub fn take(&self) -> Option<OwnedFd> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Resets the waker. Connections that were passed before have to be taken in the same wake-up.
    pub fn reset(&self) {
        self.wake.reset();
    }
}

impl AsFd for Handoff {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
