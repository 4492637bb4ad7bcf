//! Outgoing TCP connections that do not block, and what the kernel knows of them (tcp(7), ip(7)).

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::socket::set_option;

/// Where a connection leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// To an address and a port.
    Tcp(SocketAddr),
    /// To a socket of the file system.
    Unix(Arc<Path>),
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Peer {
        Peer::Tcp(address)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Tcp(address) => write!(f, "{address}"),
            Peer::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A non-blocking socket for a connection to `to`; over TCP with TCP_NODELAY, and bound to the address `from` if one is
/// given.
///
/// The port is chosen when the connection is made (IP_BIND_ADDRESS_NO_PORT), so that one port can serve connections
/// to several destinations and no port is taken from others.
///
/// # Errors
/// EMFILE, ENFILE; EADDRNOTAVAIL if `from` is not an address of this machine; EAFNOSUPPORT.
pub fn open(to: impl Into<Peer>, from: Option<IpAddr>) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let family = match to.into() {
        Peer::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
        Peer::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
        Peer::Unix(_) => return Ok(net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?),
    };
    let fd = net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&fd, true)?;
    if let Some(from) = from {
        set_option(&fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, &1_i32.to_ne_bytes())?;
        net::bind(&fd, &SocketAddr::new(from, 0))?;
    }
    Ok(fd)
}

/// Starts to connect. `false` means that it is in progress: once the socket is writable [`outcome`] returns the result.
///
/// # Errors
/// EADDRNOTAVAIL if no local port is left, ENETUNREACH, ECONNREFUSED; of a socket of the file system ENOENT, EACCES, and
/// EAGAIN if the listen queue is full, since such a connect does not wait.
pub fn start(fd: impl AsFd, to: impl Into<Peer>) -> io::Result<bool> {
    let started = match to.into() {
        Peer::Tcp(address) => net::connect(fd, &address),
        Peer::Unix(path) => net::connect(fd, &SocketAddrUnix::new(&*path)?),
    };
    match started {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::INPROGRESS) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// How a connect ended (SO_ERROR), or why a connection broke.
///
/// # Errors
/// ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ECONNRESET.
pub fn outcome(fd: impl AsFd) -> io::Result<()> {
    sockopt::socket_error(fd)?.map_err(io::Error::from)
}

/// Segments that the kernel has sent again on this connection, from the first SYN on (TCP_INFO).
///
/// # Errors
/// EBADF; EOPNOTSUPP of a socket that is not one of TCP.
pub fn retransmits(fd: impl AsFd) -> io::Result<u32> {
    let mut info = std::mem::MaybeUninit::<libc::tcp_info>::zeroed();
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the pointers are to a buffer of `len` bytes and to its length; the kernel writes at most that many, and
    // all fields are integers, for which what it leaves at zero is valid.
    let info = unsafe {
        let fd = fd.as_fd().as_raw_fd();
        let option = libc::TCP_INFO;
        if libc::getsockopt(fd, libc::IPPROTO_TCP, option, info.as_mut_ptr().cast(), &raw mut len) != 0 {
            return Err(io::Error::last_os_error());
        }
        info.assume_init()
    };
    Ok(info.tcpi_total_retrans)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::readiness::{EpollEdge, Interest, Readiness};

    fn connect(to: SocketAddr, from: Option<IpAddr>) -> io::Result<OwnedFd> {
        let fd = open(to, from)?;
        if !start(&fd, to)? {
            let mut epoll = EpollEdge::new()?;
            epoll.watch(fd.as_fd(), crate::Token::new(0, 0), Interest::Write)?;
            let mut ready = Vec::new();
            while ready.is_empty() {
                epoll.wait(None, &mut ready)?;
            }
            outcome(&fd)?;
        }
        Ok(fd)
    }

    #[test]
    fn a_connection_comes_from_the_address_it_was_bound_to() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let from = "127.0.0.9".parse().unwrap();
        let client = connect(listener.local_addr().unwrap(), Some(from)).unwrap();
        assert_eq!(listener.accept().unwrap().1.ip(), from);
        assert_eq!(retransmits(&client).unwrap(), 0);
    }

    #[test]
    fn a_socket_of_the_file_system_is_connected_at_once() {
        let path: Arc<Path> =
            std::env::temp_dir().join(format!("pitot-connect-{}", std::process::id())).into();
        let peer = Peer::Unix(Arc::clone(&path));
        let fd = open(peer.clone(), None).unwrap();
        assert_eq!(start(&fd, peer.clone()).unwrap_err().kind(), io::ErrorKind::NotFound);
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(start(&fd, peer).unwrap());
        assert!(retransmits(&fd).is_err());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_refused_connect_says_so() {
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(connect(closed, None).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
