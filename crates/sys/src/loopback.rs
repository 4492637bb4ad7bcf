//! The loopback interface, which is down in a new network namespace and in a kernel that has just started.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

/// Sets the interface `lo` up, which gives it 127.0.0.1 and ::1 (netdevice(7)).
///
/// # Errors
/// EPERM without CAP_NET_ADMIN.
pub fn raise() -> io::Result<()> {
    // Any socket does, and one of this family needs no address of its own.
    let socket = UnixDatagram::unbound()?;
    // SAFETY: an ifreq holds bytes, integers and a pointer that may be null, so zeroes are a valid one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request is an ifreq, which lives until the call returns.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw mut request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
