//! Outgoing TCP connections that do not block, and what the kernel knows of them (tcp(7), ip(7)).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

/// A non-blocking socket for a connection to `to`, with TCP_NODELAY, bound to the address `from` if one is given.
///
/// The port is chosen when the connection is made (IP_BIND_ADDRESS_NO_PORT), so that one port can serve connections
/// to several destinations and no port is taken from others.
///
/// # Errors
/// EMFILE, ENFILE; EADDRNOTAVAIL if `from` is not an address of this machine; EAFNOSUPPORT.
pub fn open(to: SocketAddr, from: Option<IpAddr>) -> io::Result<OwnedFd> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let fd = net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&fd, true)?;
    if let Some(from) = from {
        set_option(&fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
        net::bind(&fd, &SocketAddr::new(from, 0))?;
    }
    Ok(fd)
}

/// Starts to connect. `false` means that it is in progress: once the socket is writable [`outcome`] returns the result.
///
/// # Errors
/// EADDRNOTAVAIL if no local port is left, ENETUNREACH, ECONNREFUSED.
pub fn start(fd: impl AsFd, to: SocketAddr) -> io::Result<bool> {
    match net::connect(fd, &to) {
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
/// EBADF.
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

fn set_option(fd: &OwnedFd, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the pointer is to one int, whose size is given, and the kernel only reads it.
    let done = unsafe {
        let size = size_of::<libc::c_int>() as libc::socklen_t;
        libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const value).cast(), size)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
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
    fn a_refused_connect_says_so() {
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(connect(closed, None).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
