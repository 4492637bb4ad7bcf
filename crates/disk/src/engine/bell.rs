//! How helper threads wake an event loop.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use pitot_sys::{EventFd, Unavailable};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read, write};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::Told;

/// A descriptor that is readable from a ring until it is silenced.
#[derive(Debug)]
pub(super) enum Bell {
    EventFd(EventFd),
    Pipe { reader: OwnedFd, writer: OwnedFd },
}

impl Bell {
    pub(super) fn new(told: Told) -> Result<Bell, Unavailable> {
        let made = match told {
            Told::EventFd => EventFd::new().map(Bell::EventFd),
            Told::Pipe => pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
                .map(|(reader, writer)| Bell::Pipe { reader, writer })
                .map_err(io::Error::from),
        };
        made.map_err(|e| Unavailable {
            what: format!("the {} of a thread pool", told.name()),
            cause: format!("the kernel says: {e}"),
            cure: "raise the limit on descriptors: ulimit -n".into(),
        })
    }

    /// A pipe that is full is readable, so there is nothing to fail.
    pub(super) fn ring(&self) {
        match self {
            Bell::EventFd(eventfd) => eventfd.wake(),
            Bell::Pipe { writer, .. } => {
                let _ = write(writer, &[1]);
            }
        }
    }

    pub(super) fn silence(&self) {
        match self {
            Bell::EventFd(eventfd) => eventfd.reset(),
            // A ring is one byte, and there are never more rings than the depth.
            Bell::Pipe { reader, .. } => while read(reader, &mut [0; 4096]) == Ok(4096) {},
        }
    }

    /// Waits for a ring.
    pub(super) fn wait(&self) -> io::Result<()> {
        loop {
            match poll(&mut [PollFd::from_borrowed_fd(self.as_fd(), PollFlags::IN)], None) {
                Err(Errno::INTR) => {}
                answer => return Ok(answer.map(|_| ())?),
            }
        }
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Bell::EventFd(eventfd) => eventfd.as_fd(),
            Bell::Pipe { reader, .. } => reader.as_fd(),
        }
    }
}
