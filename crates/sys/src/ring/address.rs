//! Socket addresses as connect(2) takes them.

use std::net::SocketAddr;

/// An address, and how many bytes of it count.
pub(super) struct Address {
    pub(super) storage: libc::sockaddr_storage,
    pub(super) length: libc::socklen_t,
}

/// The address of a peer.
pub(super) fn socket_address(to: SocketAddr) -> Address {
    // SAFETY: sockaddr_storage is plain data for which zeroes are valid.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let length = match to {
        SocketAddr::V4(to) => {
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
        SocketAddr::V6(to) => {
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
    };
    Address { storage, length: length as libc::socklen_t }
}
