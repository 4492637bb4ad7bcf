//! TCP sockets (tcp(7), socket(7)). Sends never raise SIGPIPE.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::net::{
    self, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, SocketFlags, SocketType, sockopt,
};

/// The options of a listening socket.
#[derive(Clone, Copy, Debug)]
pub struct Listen<'a> {
    /// The length of the queue of connections that are established and not yet accepted (listen(2)).
    pub backlog: u32,
    /// Share the port with other listeners; the kernel spreads connections over them (SO_REUSEPORT).
    pub reuse_port: bool,
    /// accept(2) returns EAGAIN instead of waiting.
    pub nonblocking: bool,
    /// The congestion control of its connections (TCP_CONGESTION, tcp(7)), if not the kernel's own choice.
    pub congestion: Option<&'a str>,
}

/// A listening socket on `addr`, with TCP_NODELAY set, which accepted connections inherit.
///
/// # Errors
/// EADDRINUSE, EACCES (ports below 1024), EADDRNOTAVAIL, EMFILE; for the congestion control ENOENT and EPERM.
pub fn listen(addr: SocketAddr, how: Listen<'_>) -> io::Result<OwnedFd> {
    let family = if addr.is_ipv4() { net::AddressFamily::INET } else { net::AddressFamily::INET6 };
    let nonblocking = if how.nonblocking { SocketFlags::NONBLOCK } else { SocketFlags::empty() };
    let fd = net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | nonblocking, None)?;
    sockopt::set_socket_reuseaddr(&fd, true)?;
    if how.reuse_port {
        sockopt::set_socket_reuseport(&fd, true)?;
    }
    sockopt::set_tcp_nodelay(&fd, true)?;
    if let Some(name) = how.congestion {
        sockopt::set_tcp_congestion(&fd, name)?;
    }
    net::bind(&fd, &addr)?;
    net::listen(&fd, i32::try_from(how.backlog).unwrap_or(i32::MAX))?;
    Ok(fd)
}

/// `addr` if no listener has it yet; with port 0, a port that is free. Listeners that share their port need this
/// before the first of them is made: they would join those of another server of the same user without a word, even on
/// a port that the kernel chooses.
///
/// # Errors
/// As [`listen`].
pub fn free_addr(addr: SocketAddr) -> io::Result<SocketAddr> {
    let family = if addr.is_ipv4() { net::AddressFamily::INET } else { net::AddressFamily::INET6 };
    let fd = net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&fd, addr.port() != 0)?;
    net::bind(&fd, &addr)?;
    local_addr(&fd)
}

/// The address to which a socket is bound.
///
/// # Errors
/// EBADF; EINVAL for a socket that is not of the internet.
pub fn local_addr(fd: impl AsFd) -> io::Result<SocketAddr> {
    Ok(SocketAddr::try_from(net::getsockname(fd)?)?)
}

/// The address of the peer.
///
/// # Errors
/// ENOTCONN; EINVAL for a socket that is not of the internet.
pub fn peer_addr(fd: impl AsFd) -> io::Result<SocketAddr> {
    let peer = net::getpeername(fd)?.ok_or(io::ErrorKind::NotConnected)?;
    Ok(SocketAddr::try_from(peer)?)
}

/// The next established connection.
///
/// # Errors
/// EAGAIN if there is none and the listener is non-blocking; EMFILE, ENFILE, ENOBUFS, ENOMEM if there is no room for
/// it; ECONNABORTED if it has gone already; EINVAL once the listener is shut down.
pub fn accept(listener: impl AsFd, nonblocking: bool) -> io::Result<OwnedFd> {
    let flags = if nonblocking { SocketFlags::NONBLOCK } else { SocketFlags::empty() };
    Ok(net::accept_with(listener, SocketFlags::CLOEXEC | flags)?)
}

/// Receives what is there; 0 means that the peer has finished sending.
///
/// # Errors
/// EAGAIN, ECONNRESET, ETIMEDOUT, EINTR.
pub fn recv(fd: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    let (received, _) = net::recv(fd, buffer, RecvFlags::empty())?;
    Ok(received)
}

/// Sends the slices, or the first part of them; `more` says that more follows at once (MSG_MORE).
///
/// # Errors
/// EAGAIN, EPIPE, ECONNRESET, EINTR.
pub fn send(fd: impl AsFd, slices: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
    let flags = SendFlags::NOSIGNAL | if more { SendFlags::MORE } else { SendFlags::empty() };
    Ok(match slices {
        [one] => net::send(fd, one, flags)?,
        _ => net::sendmsg(fd, slices, &mut SendAncillaryBuffer::default(), flags)?,
    })
}

/// Sends up to `count` bytes of `file` from `offset` on, without a copy through user memory (sendfile(2)). The result
/// is 0 at the end of the file.
///
/// # Errors
/// EAGAIN, EPIPE, ECONNRESET, EIO, EINTR.
pub fn send_file(socket: impl AsFd, file: impl AsFd, offset: u64, count: usize) -> io::Result<usize> {
    let mut offset = offset;
    Ok(rustix::fs::sendfile(socket, file, Some(&mut offset), count)?)
}

/// Tells the peer that nothing more will be sent.
///
/// # Errors
/// ENOTCONN if the peer has reset the connection.
pub fn finish_sending(fd: impl AsFd) -> io::Result<()> {
    Ok(net::shutdown(fd, Shutdown::Write)?)
}

/// Makes every reader of the socket, in whatever thread or process, see its end: receives return 0, and accepts on a
/// listener fail with EINVAL.
///
/// # Errors
/// ENOTCONN if it is not connected and not listening.
pub fn stop_receiving(fd: impl AsFd) -> io::Result<()> {
    Ok(net::shutdown(fd, Shutdown::Read)?)
}

/// Closes with a reset instead of an orderly end, once the descriptor is closed (SO_LINGER with zero).
///
/// # Errors
/// EBADF.
pub fn reset_on_close(fd: impl AsFd) -> io::Result<()> {
    Ok(sockopt::set_socket_linger(fd, Some(Duration::ZERO))?)
}

/// Sets the time after which a blocking receive gives up with EAGAIN; none means never.
///
/// # Errors
/// EINVAL for a time of zero.
pub fn set_receive_timeout(fd: impl AsFd, timeout: Option<Duration>) -> io::Result<()> {
    Ok(sockopt::set_socket_timeout(fd, sockopt::Timeout::Recv, timeout)?)
}

/// Sets the time after which a blocking send without progress gives up with EAGAIN; none means never.
///
/// # Errors
/// EINVAL for a time of zero.
pub fn set_send_timeout(fd: impl AsFd, timeout: Option<Duration>) -> io::Result<()> {
    Ok(sockopt::set_socket_timeout(fd, sockopt::Timeout::Send, timeout)?)
}

/// Makes operations on the socket wait, or not.
///
/// # Errors
/// EBADF.
pub fn set_nonblocking(fd: impl AsFd, nonblocking: bool) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(fd, nonblocking)?)
}

/// Sets an option for which rustix has no function (setsockopt(2)).
pub(crate) fn set_option(
    fd: impl AsFd,
    level: libc::c_int,
    name: libc::c_int,
    value: &[u8],
) -> io::Result<()> {
    // SAFETY: the pointer is to bytes whose number is given, and the kernel only reads them.
    let done = unsafe {
        let size = value.len() as libc::socklen_t;
        libc::setsockopt(fd.as_fd().as_raw_fd(), level, name, value.as_ptr().cast(), size)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shut_down_listener_lets_no_accept_wait() {
        let how = Listen { backlog: 5, reuse_port: false, nonblocking: false, congestion: None };
        let listener = listen("127.0.0.1:0".parse().unwrap(), how).unwrap();
        stop_receiving(&listener).unwrap();
        assert_eq!(accept(&listener, false).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_port_that_is_shared_is_not_free() {
        let how = Listen { backlog: 5, reuse_port: true, nonblocking: true, congestion: None };
        let listener = listen("127.0.0.1:0".parse().unwrap(), how).unwrap();
        let addr = local_addr(&listener).unwrap();
        assert!(listen(addr, how).is_ok());
        assert_eq!(free_addr(addr).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(listener);
        assert_eq!(free_addr(addr).unwrap(), addr);
        assert_ne!(free_addr("127.0.0.1:0".parse().unwrap()).unwrap().port(), 0);
    }

    #[test]
    fn connections_have_the_congestion_control_of_their_listener() {
        let how = Listen { backlog: 5, reuse_port: false, nonblocking: false, congestion: Some("reno") };
        let listener = listen("127.0.0.1:0".parse().unwrap(), how).unwrap();
        let _client = std::net::TcpStream::connect(local_addr(&listener).unwrap()).unwrap();
        assert_eq!(sockopt::tcp_congestion(accept(&listener, false).unwrap()).unwrap(), "reno");
        let how = Listen { congestion: Some("no such"), ..how };
        let refused = listen("127.0.0.1:0".parse().unwrap(), how).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn bytes_pass_in_several_slices() {
        let how = Listen { backlog: 5, reuse_port: true, nonblocking: true, congestion: None };
        let listener = listen("127.0.0.1:0".parse().unwrap(), how).unwrap();
        assert_eq!(accept(&listener, true).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let client = std::net::TcpStream::connect(local_addr(&listener).unwrap()).unwrap();
        let server = accept(&listener, true).unwrap();
        assert_eq!(send(&client, &[IoSlice::new(b"ab"), IoSlice::new(b"c")], false).unwrap(), 3);
        let mut buffer = [0; 8];
        set_nonblocking(&server, false).unwrap();
        assert_eq!(recv(&server, &mut buffer).unwrap(), 3);
        assert_eq!(&buffer[..3], b"abc");
    }
}
