//! How helper threads notify an event loop of completions.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use pitot_sys::{EventFd, Unavailable};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read, write};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::NotifyBy;

/// A descriptor that is readable from a notification until it is drained.
#[derive(Debug)]
pub(super) enum Notifier {
    EventFd(EventFd),
    Pipe { reader: OwnedFd, writer: OwnedFd },
}

impl Notifier {
    pub(super) fn new(by: NotifyBy) -> Result<Notifier, Unavailable> {
        let made = match by {
            NotifyBy::EventFd => EventFd::new().map(Notifier::EventFd),
            NotifyBy::Pipe => pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
                .map(|(reader, writer)| Notifier::Pipe { reader, writer })
                .map_err(io::Error::from),
        };
        made.map_err(|e| Unavailable {
            what: format!("the {} of a thread pool", by.name()),
            cause: format!("kernel error: {e}"),
            fix: "raise the limit on descriptors: ulimit -n".into(),
        })
    }

    /// Makes the descriptor readable. This cannot fail: a pipe that is full is readable already.
    pub(super) fn notify(&self) {
        match self {
            Notifier::EventFd(eventfd) => eventfd.wake(),
            Notifier::Pipe { writer, .. } => {
                let _ = write(writer, &[1]);
            }
        }
    }

    /// Makes the descriptor unreadable until the next notification.
    pub(super) fn drain(&self) {
        match self {
            Notifier::EventFd(eventfd) => eventfd.reset(),
            // A notification is one byte, and there are never more of them than the depth.
            Notifier::Pipe { reader, .. } => while read(reader, &mut [0; 4096]) == Ok(4096) {},
        }
    }

    /// Blocks until there is a notification.
    pub(super) fn wait(&self) -> io::Result<()> {
        loop {
            match poll(&mut [PollFd::from_borrowed_fd(self.as_fd(), PollFlags::IN)], None) {
                Err(Errno::INTR) => {}
                answer => return Ok(answer.map(|_| ())?),
            }
        }
    }
}

impl AsFd for Notifier {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Notifier::EventFd(eventfd) => eventfd.as_fd(),
            Notifier::Pipe { reader, .. } => reader.as_fd(),
        }
    }
}
