//! The TCP sockets of an address, as sock_diag(7) tells, or /proc/PID/net/tcp.
//!
//! sock_diag tells it of the caller's own network namespace, with how long the listen queue may become, and fast: of a machine
//! with 50,000 sockets the tables in /proc take seconds to read, and what they say is not of one moment. For a process in another
//! namespace, and where the kernel does not tell, there are the tables.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, netlink, recv, send, socket};

use crate::netlink::{ANSWER_BYTES_MAX, DONE, DUMP, Message, REQUEST, message};

/// Open on both sides (this state and the next ones are numbered as in include/net/tcp_states.h).
pub const ESTABLISHED: u8 = 1;
/// Closed, and kept for a while for what may still be under way.
pub const TIME_WAIT: u8 = 6;
/// Closed by the other side.
pub const CLOSE_WAIT: u8 = 8;
/// It listens.
pub const LISTEN: u8 = 10;
/// A bit for every state.
pub const ALL_STATES: u32 = u32::MAX;

/// A socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSocket {
    /// As in include/net/tcp_states.h.
    pub state: u8,
    /// Bytes that were not read; of a socket that listens, connections that wait.
    pub unread: u64,
    /// Bytes that were not acknowledged; of a socket that listens, how many connections may wait, if that is known.
    pub unacknowledged: u64,
}

/// The sockets of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpSockets {
    /// All that were asked for.
    pub all: Vec<TcpSocket>,
    /// sock_diag has told of them.
    are_from_diag: bool,
}

impl TcpSockets {
    /// How many connections may wait in the listen queues, if that is known.
    pub fn backlog(&self) -> Option<u64> {
        let listening = self.all.iter().filter(|socket| socket.state == LISTEN);
        self.are_from_diag.then(|| listening.map(|socket| socket.unacknowledged).sum())
    }

    /// Connections of which the kernel has bytes that the other side has not acknowledged.
    pub fn sending(&self) -> u64 {
        self.all.iter().filter(|socket| socket.state != LISTEN && socket.unacknowledged > 0).count() as u64
    }
}

/// Every address with this port.
pub fn any_address(port: u16) -> SocketAddr {
    (Ipv4Addr::UNSPECIFIED, port).into()
}

/// The sockets with this local address in these states (a bit for each), in the network namespace of a process, or of the
/// caller. None if neither source tells. 0.0.0.0 and :: stand for every address, and a socket that listens at one of them for
/// all. In another namespace, where addresses may have been translated, and in the tables only the port counts.
pub fn of_address(pid: Option<u32>, address: SocketAddr, states: u32) -> Option<TcpSockets> {
    if let Some(all) = by_diag(pid, address, states) {
        return Some(TcpSockets { all, are_from_diag: true });
    }
    let port = address.port();
    let process = pid.map_or("self".to_owned(), |pid| pid.to_string());
    let tables = ["tcp", "tcp6"].iter();
    let tables: Vec<String> =
        tables.filter_map(|name| fs::read_to_string(format!("/proc/{process}/net/{name}")).ok()).collect();
    let all = tables.iter().flat_map(|text| in_table(text, port));
    let all = all.filter(|socket| states & 1u32.checked_shl(socket.state.into()).unwrap_or(0) != 0).collect();
    (!tables.is_empty()).then_some(TcpSockets { all, are_from_diag: false })
}

/// Where these processes listen, as the tables of their network namespaces say: in order, each address once. A process that
/// may not be looked at counts as one that does not listen.
pub fn listening(pids: impl IntoIterator<Item = u32>) -> Vec<SocketAddr> {
    let of = |pid: u32| {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let links = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
        let links: Vec<String> = links.map(|link| link.to_string_lossy().into_owned()).collect();
        let tables = ["tcp", "tcp6"].map(|name| fs::read_to_string(format!("/proc/{pid}/net/{name}")));
        let all = tables.into_iter().flatten().flat_map(|text| listening_in(&text));
        let own = all.filter(|(_, inode)| links.contains(&format!("socket:[{inode}]")));
        own.map(|(address, _)| address).collect::<Vec<_>>()
    };
    let addresses: BTreeSet<SocketAddr> = pids.into_iter().flat_map(of).collect();
    addresses.into_iter().collect()
}

/// Addresses and inodes of the sockets in a table that listen.
fn listening_in(text: &str) -> Vec<(SocketAddr, String)> {
    let socket = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (host, port) = fields.next()?.rsplit_once(':')?;
        if u8::from_str_radix(fields.nth(1)?, 16) != Ok(LISTEN) {
            return None;
        }
        // Words of the address as the machine reads them, whose bytes are in the network's order.
        let words = (0..host.len()).step_by(8).map(|at| u32::from_str_radix(host.get(at..at + 8)?, 16).ok());
        let bytes: Vec<u8> =
            words.collect::<Option<Vec<u32>>>()?.into_iter().flat_map(u32::to_ne_bytes).collect();
        let ip = match <[u8; 4]>::try_from(&bytes[..]) {
            Ok(bytes) => IpAddr::from(bytes),
            Err(_) => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
        };
        let port = u16::from_str_radix(port, 16).ok()?;
        Some((SocketAddr::new(ip, port), fields.nth(5)?.to_owned()))
    };
    text.lines().skip(1).filter_map(socket).collect()
}

/// Those of a table as proc_pid_net(5) has it.
fn in_table(text: &str, port: u16) -> Vec<TcpSocket> {
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let socket = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (_, local) = fields.next()?.rsplit_once(':')?;
        if hex(local) != Some(port.into()) {
            return None;
        }
        let state = hex(fields.nth(1)?)? as u8;
        let (unacknowledged, unread) = fields.next()?.split_once(':')?;
        Some(TcpSocket { state, unread: hex(unread)?, unacknowledged: hex(unacknowledged)? })
    };
    text.lines().skip(1).filter_map(socket).collect()
}

/// None for a process in another network namespace, and where the kernel does not tell.
fn by_diag(pid: Option<u32>, address: SocketAddr, states: u32) -> Option<Vec<TcpSocket>> {
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/net")).ok();
    if let Some(pid) = pid
        && namespace(&pid.to_string()) != namespace("self")
    {
        return None;
    }
    let kernel = socket(AddressFamily::NETLINK, SocketType::DGRAM, Some(netlink::SOCK_DIAG)).ok()?;
    let mut found = ask(&kernel, AF_INET, address, states)?;
    // A kernel may be without IPv6.
    found.extend(ask(&kernel, AF_INET6, address, states).into_iter().flatten());
    Some(found)
}

/// Linux's uapi/linux/sock_diag.h and inet_diag.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
/// struct inet_diag_req_v2.
const REQUEST_BYTES: usize = 56;
/// Of an answer: where its socket's state, its port, its address and the lengths of its queues stand.
const STATE_AT: usize = 1;
const PORT_AT: usize = 4;
const ADDRESS_AT: usize = 8;
const RECEIVE_QUEUE_AT: usize = 56;
const SEND_QUEUE_AT: usize = 60;

/// The sockets of a family; none if the kernel refuses.
fn ask(kernel: &OwnedFd, family: u8, address: SocketAddr, states: u32) -> Option<Vec<TcpSocket>> {
    let wanted = address.ip().to_canonical();
    let mut request = vec![family, IPPROTO_TCP, 0, 0];
    request.extend(states.to_ne_bytes());
    request.extend(address.port().to_be_bytes());
    request.resize(REQUEST_BYTES, 0);
    let request = message(SOCK_DIAG_BY_FAMILY, REQUEST | DUMP, &request);
    send(kernel, &request, SendFlags::empty()).ok()?;
    let mut found = Vec::new();
    let mut answer = vec![0; ANSWER_BYTES_MAX];
    loop {
        let (len, _) = recv(kernel, &mut answer[..], RecvFlags::empty()).ok()?;
        let mut rest = &answer[..len.min(answer.len())];
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let Message { kind, content, rest: behind } = Message::first(rest)?;
            match kind {
                SOCK_DIAG_BY_FAMILY => {}
                DONE => return Some(found),
                _ => return None,
            }
            let bytes = |at: usize, len: usize| content.get(at..at + len);
            let word = |at: usize| Some(u32::from_ne_bytes(bytes(at, 4)?.try_into().ok()?));
            let ip = match family {
                AF_INET => IpAddr::from(<[u8; 4]>::try_from(bytes(ADDRESS_AT, 4)?).ok()?),
                _ => IpAddr::from(<[u8; 16]>::try_from(bytes(ADDRESS_AT, 16)?).ok()?).to_canonical(),
            };
            let is_there = ip == wanted || ip.is_unspecified() || wanted.is_unspecified();
            if bytes(PORT_AT, 2)? == address.port().to_be_bytes() && is_there {
                found.push(TcpSocket {
                    state: *content.get(STATE_AT)?,
                    unread: word(RECEIVE_QUEUE_AT)?.into(),
                    unacknowledged: word(SEND_QUEUE_AT)?.into(),
                });
            }
            rest = behind;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn sockets_of_the_port_are_in_the_tables_with_their_queues() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                    0: 0100007F:1F90 00000000:0000 0A 00000000:00000002 00:00000000 00000000     0        0 1\n\
                    1: 0100007F:1F90 0100007F:A000 01 00000010:00000005 00:00000000 00000000     0        0 2\n\
                    5: 0100007F:A000 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 6\n";
        let listening = TcpSocket { state: LISTEN, unread: 2, unacknowledged: 0 };
        let open = TcpSocket { state: ESTABLISHED, unread: 5, unacknowledged: 16 };
        assert_eq!(in_table(text, 8080), [listening, open]);
        assert_eq!(in_table("", 8080), []);
    }

    #[test]
    fn a_connection_sends_until_its_bytes_are_acknowledged() {
        let of = |state, unacknowledged| TcpSocket { state, unread: 0, unacknowledged };
        let all = vec![of(LISTEN, 4096), of(ESTABLISHED, 10), of(ESTABLISHED, 0), of(CLOSE_WAIT, 1)];
        assert_eq!(TcpSockets { all, are_from_diag: true }.sending(), 2);
    }

    #[test]
    fn a_process_listens_where_its_sockets_do() {
        let listeners = ["127.0.0.1:0", "127.0.0.1:0"].map(|address| TcpListener::bind(address).unwrap());
        let bound = listeners.each_ref().map(|listener| listener.local_addr().unwrap());
        let _client = TcpStream::connect(bound[0]).unwrap();
        let found = listening([std::process::id(), std::process::id()]);
        assert!(bound.iter().all(|address| found.contains(address)), "{found:?}");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let of_child = listening([child.id()]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(of_child, [], "its parent's sockets are not its own");
    }

    #[test]
    fn addresses_of_both_families_are_read_from_the_tables() {
        let rest = "00000000:00000000 00:00000000 00000000     0        0 77 1 0";
        let v4 = format!(
            "head\n 0: 0100007F:1F90 00000000:0000 0A {rest}\n 1: 0100007F:1F90 0100007F:A000 01 {rest}\n"
        );
        let v6 = format!(
            "head\n 0: B80D0120000000000000000001000000:0050 {}:0000 0A {rest}\n 1: 0:0 0:0 0A {rest}\n",
            "0".repeat(32)
        );
        let address = |text: &str| (text.parse::<SocketAddr>().unwrap(), "77".to_owned());
        assert_eq!(listening_in(&v4), [address("127.0.0.1:8080")]);
        assert_eq!(listening_in(&v6), [address("[2001:db8::1]:80")]);
    }

    #[test]
    fn both_sources_tell_of_the_same_sockets() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let states = |sockets: Vec<TcpSocket>| {
            let mut states: Vec<u8> = sockets.iter().map(|socket| socket.state).collect();
            // The table is not of one moment: on a busy machine it may tell of a socket twice.
            states.sort_unstable();
            states.dedup();
            states
        };
        let table = fs::read_to_string("/proc/self/net/tcp").unwrap();
        assert_eq!(states(in_table(&table, port)), [ESTABLISHED, LISTEN]);
        let address = listener.local_addr().unwrap();
        assert_eq!(states(of_address(None, address, ALL_STATES).unwrap().all), [ESTABLISHED, LISTEN]);
        assert_eq!(states(of_address(Some(std::process::id()), address, 1 << LISTEN).unwrap().all), [LISTEN]);
    }

    #[test]
    fn a_socket_at_another_address_with_the_same_port_is_another() {
        let listen = |address: (Ipv4Addr, u16)| TcpListener::bind(address).unwrap();
        // The kernel's choice for one address may be in use at the other.
        let (one, other) = (0..100)
            .find_map(|_| {
                let one = listen((Ipv4Addr::LOCALHOST, 0));
                let port = one.local_addr().unwrap().port();
                Some((one, TcpListener::bind((Ipv4Addr::new(127, 0, 0, 2), port)).ok()?))
            })
            .unwrap();
        let count = |address: SocketAddr| of_address(None, address, 1 << LISTEN).unwrap().all.len();
        let address = one.local_addr().unwrap();
        assert_eq!((count(address), count(other.local_addr().unwrap())), (1, 1));
        assert_eq!(count(any_address(address.port())), 2);
    }

    #[test]
    fn one_that_listens_everywhere_does_so_at_each_address() {
        let Ok(listener) = TcpListener::bind("[::]:0") else {
            assert!(!std::path::Path::new("/proc/net/if_inet6").exists(), "the kernel has IPv6");
            return;
        };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, listener.local_addr().unwrap().port()));
        let _client = TcpStream::connect(address).unwrap();
        let _accepted = listener.accept().unwrap();
        let mut states: Vec<u8> =
            of_address(None, address, ALL_STATES).unwrap().all.iter().map(|socket| socket.state).collect();
        states.sort_unstable();
        assert_eq!(states, [ESTABLISHED, LISTEN]);
    }
}
