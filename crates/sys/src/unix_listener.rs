//! Listening sockets that are files (unix(7)).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, chmod, fstat, openat};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// Why there is no listener.
#[derive(Debug)]
pub enum Refused {
    /// A server listens on it.
    InUse,
    /// There is something else of this name.
    NotASocket,
    /// The path is longer than the 108 bytes that an address holds.
    TooLong,
    /// An error of the system.
    Failed(io::Error),
}

impl From<Errno> for Refused {
    fn from(e: Errno) -> Refused {
        Refused::Failed(e.into())
    }
}

/// The file of a listening socket, which is removed in the end, unless another has taken its place.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|identity| identity == self.identity) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let meta = path.symlink_metadata()?;
    Ok((meta.dev(), meta.ino()))
}

/// A listener at `path`, with the permissions `mode` if they are given, else those that the umask leaves. A socket on which
/// nobody listens any more is replaced.
///
/// # Errors
/// See [`Refused`].
pub fn listen(
    path: &Path,
    backlog: u32,
    nonblocking: bool,
    mode: Option<u32>,
) -> Result<(OwnedFd, SocketFile), Refused> {
    let addr = SocketAddrUnix::new(path).map_err(|e| match e {
        Errno::NAMETOOLONG => Refused::TooLong,
        e => e.into(),
    })?;
    let nonblocking = if nonblocking { SocketFlags::NONBLOCK } else { SocketFlags::empty() };
    let fd =
        net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC | nonblocking, None)?;
    match net::bind(&fd, &addr) {
        Err(Errno::ADDRINUSE) => {
            remove_stale(path, &addr)?;
            net::bind(&fd, &addr)
                .map_err(|e| if e == Errno::ADDRINUSE { Refused::InUse } else { e.into() })?;
        }
        bound => bound?,
    }
    let identity = identity(path).map_err(Refused::Failed)?;
    let file = SocketFile { path: path.to_owned(), identity };
    // Before the first client can connect.
    if let Some(mode) = mode {
        set_mode(path, identity, mode)?;
    }
    net::listen(&fd, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok((fd, file))
}

/// Sets the permissions of the socket and of nothing that has taken its place, such as a link to a file of somebody else.
fn set_mode(path: &Path, socket: (u64, u64), mode: u32) -> Result<(), Refused> {
    let file = openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let same = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let stat = fstat(&file)?;
    if (stat.st_dev, stat.st_ino) != socket {
        return Err(Refused::NotASocket);
    }
    Ok(chmod(same, Mode::from_raw_mode(mode))?)
}

/// Removes the socket of a server that is gone.
fn remove_stale(path: &Path, addr: &SocketAddrUnix) -> Result<(), Refused> {
    let meta = match path.symlink_metadata() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        meta => meta.map_err(Refused::Failed)?,
    };
    if !meta.file_type().is_socket() {
        return Err(Refused::NotASocket);
    }
    // A full backlog would make a blocking connect wait.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let probe = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match net::connect(&probe, addr) {
        Err(Errno::CONNREFUSED) => std::fs::remove_file(path).map_err(Refused::Failed),
        Err(Errno::NOENT) => Ok(()),
        // Somebody has it, or it cannot be told.
        _ => Err(Refused::InUse),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::socket;

    #[test]
    fn a_socket_file_lives_as_long_as_its_server_and_a_stale_one_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let (listener, file) = listen(&path, 5, false, Some(0o600)).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        let _client = UnixStream::connect(&path).unwrap();
        assert!(matches!(listen(&path, 5, false, None), Err(Refused::InUse)));
        // A server that was killed leaves its file.
        drop(listener);
        std::mem::forget(file);
        let (listener, file) = listen(&path, 5, true, None).unwrap();
        assert_eq!(socket::accept(&listener, true).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let _client = UnixStream::connect(&path).unwrap();
        assert!(socket::accept(&listener, true).is_ok());
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn nothing_but_a_stale_socket_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "precious").unwrap();
        assert!(matches!(listen(&path, 5, false, None), Err(Refused::NotASocket)));
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
        assert!(matches!(
            listen(&directory.path().join("x".repeat(108)), 5, false, None),
            Err(Refused::TooLong)
        ));
        assert!(matches!(listen(&directory.path().join("none/x"), 5, false, None), Err(Refused::Failed(_))));
        // A file that has taken the place of the socket is another's.
        let path = directory.path().join("socket");
        let (_listener, file) = listen(&path, 5, false, None).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "another").unwrap();
        drop(file);
        assert!(path.exists());
    }

    #[test]
    fn a_shut_down_listener_lets_no_accept_wait() {
        let directory = tempfile::tempdir().unwrap();
        let (listener, _file) = listen(&directory.path().join("socket"), 5, false, None).unwrap();
        socket::stop_receiving(&listener).unwrap();
        assert_eq!(socket::accept(&listener, false).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
