//! The sockets of a ring.

use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::types;

/// A socket that the ring knows: an ordinary descriptor, or a slot of the ring's own table, which is cheaper per
/// operation and takes no descriptor of the process.
#[derive(Debug)]
pub enum RingFd {
    /// An ordinary descriptor of the process.
    Plain(OwnedFd),
    /// A slot of the ring. It must be closed by [`Ring::close`](super::Ring::close).
    Direct(u32),
}

/// How an operation of the ring names a socket.
pub(super) enum RingSocket {
    Fd(types::Fd),
    Fixed(types::Fixed),
}

/// How operations name this socket.
pub(super) fn target(fd: &RingFd) -> RingSocket {
    match fd {
        RingFd::Plain(fd) => RingSocket::Fd(types::Fd(fd.as_raw_fd())),
        RingFd::Direct(slot) => RingSocket::Fixed(types::Fixed(*slot)),
    }
}

/// A number that no other open socket of the ring has.
pub(super) fn number(fd: &RingFd) -> u64 {
    match fd {
        RingFd::Plain(fd) => fd.as_raw_fd() as u64,
        RingFd::Direct(slot) => 1 << 32 | u64::from(*slot),
    }
}
