use std::io;

use rustix::io::Errno;

/// What to do about a failed accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptFailure {
    /// There is nothing to accept.
    Nothing,
    /// That connection is gone, or the call was interrupted; try the next.
    TryNext,
    /// No descriptor or memory is left: the connections in the backlog have to wait.
    NoRoom,
    /// The listener is shut down.
    Closed,
}

impl AcceptFailure {
    /// Reads the errors of accept(2), which include those of the network that the new connection has brought.
    pub fn of(e: &io::Error) -> AcceptFailure {
        match Errno::from_io_error(e) {
            Some(Errno::AGAIN) => AcceptFailure::Nothing,
            Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => AcceptFailure::NoRoom,
            Some(Errno::INVAL | Errno::BADF | Errno::NOTSOCK | Errno::CANCELED) => AcceptFailure::Closed,
            _ => AcceptFailure::TryNext,
        }
    }
}
