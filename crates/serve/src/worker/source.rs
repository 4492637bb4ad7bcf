use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use pitot_sys::Waker;

/// Where a worker's connections come from.
#[derive(Debug)]
pub enum Source {
    /// A listener, which it accepts from.
    Listener(OwnedFd),
    /// Another thread, which has accepted them.
    Handoff(Arc<Handoff>),
}

/// Connections on their way from an acceptor to a worker loop. It is as long as connections come faster than the
/// loop wakes up, and the limit on connections bounds it.
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

    /// Gives a connection to the loop. It is a blocking one, as a ring wants it: in a ring a send on a non-blocking
    /// socket fails with EAGAIN where another waits for room.
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

    /// Forgets that it was woken. What was given before is still to be taken, by the same wake-up.
    pub fn reset(&self) {
        self.wake.reset();
    }
}

impl AsFd for Handoff {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
