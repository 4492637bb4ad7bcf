//! Socket addresses as connect(2) takes them.

use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt as _;

use crate::connect::Peer;

/// An address, and how many bytes of it count.
pub(super) struct Address {
    pub(super) storage: libc::sockaddr_storage,
    pub(super) length: libc::socklen_t,
}

/// The address of a peer. A path that is longer than the kernel takes is cut, and connects nowhere.
pub(super) fn socket_address(to: &Peer) -> Address {
    // SAFETY: sockaddr_storage is plain data for which zeroes are valid.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let length = match *to {
        Peer::Tcp(SocketAddr::V4(to)) => {
            let address = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: to.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(to.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: sockaddr_storage is large and aligned enough for every address of a socket.
            unsafe { std::ptr::from_mut(&mut storage).cast::<libc::sockaddr_in>().write(address) };
            size_of::<libc::sockaddr_in>()
        }
        Peer::Tcp(SocketAddr::V6(to)) => {
            let address = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: to.port().to_be(),
                sin6_flowinfo: to.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: to.ip().octets() },
                sin6_scope_id: to.scope_id(),
            };
            // SAFETY: as above.
            unsafe { std::ptr::from_mut(&mut storage).cast::<libc::sockaddr_in6>().write(address) };
            size_of::<libc::sockaddr_in6>()
        }
        Peer::Unix(ref path) => {
            let mut address =
                libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
            // The last byte stays zero.
            for (to, from) in address.sun_path[..107].iter_mut().zip(path.as_os_str().as_bytes()) {
                *to = *from as libc::c_char;
            }
            // SAFETY: as above.
            unsafe { std::ptr::from_mut(&mut storage).cast::<libc::sockaddr_un>().write(address) };
            size_of::<libc::sockaddr_un>()
        }
    };
    Address { storage, length: length as libc::socklen_t }
}
