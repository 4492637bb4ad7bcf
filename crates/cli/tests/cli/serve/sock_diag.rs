//! The state of one TCP connection, by a netlink socket (sock_diag(7)). The table in /proc/net/tcp would tell the same,
//! but the kernel walks all its sockets for it, and a test has left thousands in TIME-WAIT.

use std::net::{Ipv4Addr, SocketAddrV4};

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, netlink, recv, send, socket};

/// Linux's uapi/linux/netlink.h, sock_diag.h and inet_diag.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const AF_INET: u8 = 2;
const IPPROTO_TCP: u8 = 6;
const TCP_LISTEN: u8 = 10;
const REQUEST_BYTES: u32 = 72;
/// Where a message of netlink has its error, and a message of inet_diag the state and the length of the receive queue.
const ERROR_AT: usize = 16;
const STATE_AT: usize = 17;
const RECEIVE_QUEUE_AT: usize = 16 + 56;

/// A way to ask the kernel.
pub(crate) struct SockDiag(OwnedFd);

impl SockDiag {
    pub(crate) fn open() -> SockDiag {
        let opened = socket(AddressFamily::NETLINK, SocketType::DGRAM, Some(netlink::SOCK_DIAG));
        SockDiag(opened.expect("a netlink socket"))
    }

    /// The bytes that have arrived on the connection from `remote` and that its owner `local` has not read; none if there
    /// is no such connection (any more).
    pub(crate) fn unread(&self, local: SocketAddrV4, remote: SocketAddrV4) -> Option<u32> {
        send(&self.0, &request(local, remote), SendFlags::empty()).expect("the kernel takes questions");
        let mut answer = [0; 1024];
        let (len, _) = recv(&self.0, &mut answer, RecvFlags::empty()).expect("the kernel answers");
        let answer = &answer[..len];
        let word = |at: usize| u32::from_ne_bytes(answer[at..at + 4].try_into().expect("four bytes"));
        match u16::from_ne_bytes([answer[4], answer[5]]) {
            // The answer for a connection that is not there may be the socket that listens.
            SOCK_DIAG_BY_FAMILY if answer[STATE_AT] == TCP_LISTEN => None,
            SOCK_DIAG_BY_FAMILY => Some(word(RECEIVE_QUEUE_AT)),
            NLMSG_ERROR if Errno::from_raw_os_error(-(word(ERROR_AT) as i32)) == Errno::NOENT => None,
            kind => panic!("the kernel answers with a message of type {kind}, {answer:?}"),
        }
    }
}

/// A `nlmsghdr` and an `inet_diag_req_v2` for exactly one connection.
fn request(local: SocketAddrV4, remote: SocketAddrV4) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(REQUEST_BYTES as usize);
    bytes.extend(REQUEST_BYTES.to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    // Sequence number and port of netlink.
    bytes.extend([0; 8]);
    bytes.extend([AF_INET, IPPROTO_TCP, 0, 0]);
    // In every state.
    bytes.extend([0xff; 4]);
    bytes.extend(local.port().to_be_bytes());
    bytes.extend(remote.port().to_be_bytes());
    let address = |ip: &Ipv4Addr| [&ip.octets()[..], &[0; 12]].concat();
    bytes.extend(address(local.ip()));
    bytes.extend(address(remote.ip()));
    // Any interface, any cookie.
    bytes.extend([0; 4]);
    bytes.extend([0xff; 8]);
    bytes
}

#[test]
fn what_the_owner_of_a_connection_has_not_read_is_counted() {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};

    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut client = TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens");
    let (mut server, _) = listener.accept().expect("a connection");
    let (SocketAddr::V4(local), SocketAddr::V4(remote)) =
        (server.local_addr().expect("an address"), client.local_addr().expect("an address"))
    else {
        panic!("IPv4 was asked for");
    };
    let unread = || SockDiag::open().unread(local, remote);
    client.write_all(b"hello").expect("room");
    assert_eq!(unread(), Some(5));
    server.read_exact(&mut [0; 5]).expect("five bytes");
    assert_eq!(unread(), Some(0));
    assert_eq!(SockDiag::open().unread(local, SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1)), None);
}
