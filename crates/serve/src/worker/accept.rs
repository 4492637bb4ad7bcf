use std::io;

use rustix::io::Errno;

/// What to do after a failed accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptFailure {
    /// There is nothing to accept.
    Nothing,
    /// The connection was aborted, or the call interrupted; try again.
    TryNext,
    /// Out of descriptors or memory, by this error: the connections in the backlog have to wait.
    NoRoom(Errno),
    /// The listener is shut down.
    Closed,
}

impl AcceptFailure {
    /// Classifies the errors of accept(2), which include pending network errors of the new connection.
    pub fn of(e: &io::Error) -> AcceptFailure {
        match Errno::from_io_error(e) {
            Some(Errno::AGAIN) => AcceptFailure::Nothing,
            Some(why @ (Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)) => {
                AcceptFailure::NoRoom(why)
            }
            Some(Errno::INVAL | Errno::BADF | Errno::NOTSOCK | Errno::CANCELED) => AcceptFailure::Closed,
            _ => AcceptFailure::TryNext,
        }
    }
}
