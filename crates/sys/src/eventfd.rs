use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};

/// A counter that wakes a waiting loop (eventfd(2)), non-blocking.
#[derive(Debug)]
pub struct EventFd(OwnedFd);

impl EventFd {
    /// A counter at zero.
    ///
    /// # Errors
    /// EMFILE, ENFILE, ENOMEM.
    pub fn new() -> io::Result<EventFd> {
        Ok(EventFd(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Adds one, which wakes a waiting loop. This cannot fail: a full counter is readable already.
    pub fn wake(&self) {
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Sets it back to zero.
    pub fn reset(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<EventFd> for OwnedFd {
    fn from(eventfd: EventFd) -> OwnedFd {
        eventfd.0
    }
}
