//! Sending the front of an outbox with one system call, and reporting the result to the connection: the same for
//! every driver.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use pitot_proto::{Connection, FileFailure, OpenError, Outbox, Worker};
use pitot_sys::socket;
use rustix::io::Errno;

/// Limit on the bytes of a file that one call sends.
const FILE_BYTES: usize = 1 << 20;

/// The result of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The result was reported to the connection, and this many bytes were sent.
    Reported(usize),
    /// The socket buffer is full.
    Full,
}

/// Sends the start of the outbox with one system call; with `cork`, a head waits for its file (MSG_MORE). 0 means that
/// a file is shorter than its announced size.
///
/// # Errors
/// Those of sendmsg(2) and sendfile(2).
pub fn send_once(fd: BorrowedFd<'_>, out: &Outbox, cork: bool) -> io::Result<usize> {
    if let Some((handle, range)) = out.front_file() {
        let file = handle.0.downcast_ref::<OwnedFd>().ok_or(io::ErrorKind::InvalidInput)?;
        let count = usize::try_from(range.end - range.start).unwrap_or(usize::MAX).min(FILE_BYTES);
        return socket::send_file(fd, file, range.start, count);
    }
    let gathered = out.gather();
    socket::send(fd, gathered.slices(), gathered.more && cork)
}

/// Reports the result of a send to its connection; `of_file` is true if a file was in front of the outbox.
pub fn report(
    connection: &mut Connection,
    worker: &mut Worker,
    result: io::Result<usize>,
    of_file: bool,
) -> Sent {
    match result {
        Ok(0) if of_file => connection.file_failed(worker, FileFailure::Truncated),
        Ok(n) => {
            connection.sent(worker, n as u64);
            return Sent::Reported(n);
        }
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Sent::Full,
        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
        Err(e) if of_file && !is_of_socket(&e) => connection.file_failed(worker, unreadable(&e)),
        Err(_) => connection.broken(worker),
    }
    Sent::Reported(0)
}

/// Classifies an error of a read from a file.
pub fn unreadable(e: &io::Error) -> FileFailure {
    FileFailure::Unreadable(match Errno::from_io_error(e) {
        Some(Errno::AGAIN | Errno::NOMEM | Errno::NFILE | Errno::MFILE) => OpenError::Unavailable,
        _ => OpenError::Failed,
    })
}

/// True for errors of the socket rather than of the file that is sent to it.
fn is_of_socket(e: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(e),
        Some(
            Errno::PIPE
                | Errno::CONNRESET
                | Errno::NOTCONN
                | Errno::TIMEDOUT
                | Errno::HOSTUNREACH
                | Errno::NETUNREACH
        )
    )
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::net::TcpStream;
    use std::sync::Arc;

    use pitot_proto::FileHandle;

    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_corked_head_waits_for_its_file_and_another_does_not() {
        let how = socket::Listen { backlog: 1, reuse_port: false, nonblocking: false, congestion: None };
        let listener = socket::listen(([127, 0, 0, 1], 0).into(), how).unwrap();
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        for cork in [true, false] {
            let mut client = TcpStream::connect(socket::local_addr(&listener).unwrap()).unwrap();
            let server = socket::accept(&listener, true).unwrap();
            let mut out = Outbox::new();
            out.bytes(b"head");
            out.file(FileHandle(Arc::new(OwnedFd::from(file.try_clone().unwrap()))), 0..100);
            assert_eq!(send_once(server.as_fd(), &out, cork).unwrap(), 4);
            out.advance(4);
            if cork {
                client.set_nonblocking(true).unwrap();
                assert_eq!(client.read(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
                client.set_nonblocking(false).unwrap();
            } else {
                assert_eq!(client.read(&mut [0; 8]).unwrap(), 4);
            }
            assert_eq!(send_once(server.as_fd(), &out, cork).unwrap(), 100);
            client.read_exact(&mut [0; 100]).unwrap();
        }
    }
}
