//! What every readiness mechanism is to its user.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use crate::Token;

/// When a mechanism reports a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// In every wait for as long as it is ready: interest in writing must be given up when there is nothing to write.
    Level,
    /// Once each time it becomes ready, and once if what is of interest is so when it is first watched: the user must
    /// go on until EAGAIN, or until it knows that it would come.
    Edge,
}

/// The kinds of readiness that are reported for a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Neither; errors may still be reported.
    Nothing,
    /// Something to read, or the end of input.
    Read,
    /// Room to write.
    Write,
    /// Input and room to write.
    ReadWrite,
}

impl Interest {
    /// True for `Read` and `ReadWrite`.
    pub const fn reads(self) -> bool {
        matches!(self, Interest::Read | Interest::ReadWrite)
    }

    /// True for `Write` and `ReadWrite`.
    pub const fn writes(self) -> bool {
        matches!(self, Interest::Write | Interest::ReadWrite)
    }
}

/// A descriptor that became ready. Errors and hang-ups are reported as both, since the next call on it returns them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The token with which the descriptor is watched.
    pub token: Token,
    /// A receive or an accept would not wait.
    pub readable: bool,
    /// A send would not wait.
    pub writable: bool,
    /// Nothing comes after what can be received now: the peer has finished sending or the connection is broken. With an
    /// edge trigger a short receive must then be followed by one that finds the end, as no event will. A mechanism
    /// that cannot know it always says false.
    pub ended: bool,
}

/// A mechanism that waits for readiness. One thread uses it.
///
/// A watched descriptor must be unwatched before it is closed.
pub trait Readiness {
    /// When it reports a descriptor.
    fn trigger(&self) -> Trigger;

    /// A mechanism that watches nothing yet.
    ///
    /// # Errors
    /// EMFILE, ENFILE, ENOMEM.
    fn new() -> io::Result<Self>
    where
        Self: Sized;

    /// Starts to watch a descriptor. With an edge trigger `interest` is that of the moment: both are reported from then on.
    ///
    /// # Errors
    /// ENOMEM, ENOSPC (/proc/sys/fs/epoll/max_user_watches).
    fn watch(&mut self, fd: BorrowedFd<'_>, token: Token, interest: Interest) -> io::Result<()>;

    /// Changes the interest in a watched descriptor. Never needed with an edge trigger, but for a socket that is a file
    /// (unix(7)) and has just been found full: see [`SigIo`](super::SigIo).
    ///
    /// # Errors
    /// ENOENT if it is not watched.
    fn rewatch(&mut self, fd: BorrowedFd<'_>, token: Token, interest: Interest) -> io::Result<()>;

    /// Stops watching a descriptor. `closing` says that it will be closed at once and that no other descriptor refers
    /// to the same socket, so that a mechanism which the kernel cleans up by itself may skip the call.
    fn unwatch(&mut self, fd: BorrowedFd<'_>, closing: bool);

    /// Waits until something is ready or the time is over, and appends it to `ready`. A signal ends the wait early.
    ///
    /// # Errors
    /// Only what would be a defect of the caller (EBADF, EINVAL).
    fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()>;
}

/// What the bits of poll(2), which signals carry too, say of a descriptor.
pub(super) fn ready_from_bits(token: Token, bits: libc::c_short) -> Ready {
    let broken = bits & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0;
    Ready {
        token,
        readable: broken || bits & libc::POLLIN != 0,
        writable: broken || bits & libc::POLLOUT != 0,
        ended: broken || bits & libc::POLLRDHUP != 0,
    }
}

pub(super) fn timespec(d: Duration) -> rustix::event::Timespec {
    rustix::event::Timespec {
        tv_sec: d.as_secs().min(i64::MAX as u64) as i64,
        tv_nsec: d.subsec_nanos().into(),
    }
}
