//! The sockets of a port: how many connections wait to be accepted, and what was sent to the server and not read by it.
//!
//! sock_diag(7) tells it of the lab's own network namespace, with how long the listen queue may become; for a process in another
//! one there is /proc/PID/net/tcp.

use std::fs;

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, netlink, recv, send, socket};

/// include/net/tcp_states.h.
const ESTABLISHED: u8 = 1;
const CLOSE_WAIT: u8 = 8;
pub(crate) const LISTEN: u8 = 10;

/// What is known of a port's sockets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSockets {
    /// Sockets that listen.
    pub listening: u64,
    /// Connections that wait in their queues to be accepted.
    pub waiting: u64,
    /// How many may wait, if that is known; the kernel lets one more in (sk_acceptq_is_full()).
    pub backlog: Option<u64>,
    /// Connections that are open on both sides, those that wait to be accepted included.
    pub established: u64,
    /// Connections whose client has closed.
    pub close_wait: u64,
    /// Connections with bytes that the server has not read.
    pub unread: u64,
    /// Those bytes.
    pub unread_bytes: u64,
    /// Connections with bytes that the client's kernel has not acknowledged.
    pub unsent: u64,
    /// Those bytes.
    pub unsent_bytes: u64,
}

impl PortSockets {
    /// Reads them; none if there are no tables. Without a process those of the lab's namespace.
    pub fn read(pid: Option<u32>, port: u16) -> Option<PortSockets> {
        let mut sockets = PortSockets::default();
        if let Some(found) = by_diag(pid, port, 1 << ESTABLISHED | 1 << CLOSE_WAIT | 1 << LISTEN) {
            let backlog =
                found.iter().filter(|socket| socket.state == LISTEN).map(|socket| socket.sending).sum();
            sockets.backlog = Some(backlog);
            found.iter().for_each(|socket| sockets.count(socket));
            return Some(sockets);
        }
        let process = pid.map_or("self".to_owned(), |pid| pid.to_string());
        let tables = ["tcp", "tcp6"].iter();
        let tables: Vec<_> = tables
            .filter_map(|name| fs::read_to_string(format!("/proc/{process}/net/{name}")).ok())
            .collect();
        tables.iter().for_each(|text| sockets.add(text, port));
        (!tables.is_empty()).then_some(sockets)
    }

    fn count(&mut self, socket: &Socket) {
        match socket.state {
            // Of a socket that listens the receive queue is that of connections.
            LISTEN => {
                self.listening += 1;
                self.waiting += socket.received;
                return;
            }
            ESTABLISHED => self.established += 1,
            CLOSE_WAIT => self.close_wait += 1,
            _ => return,
        }
        self.unread += u64::from(socket.received > 0);
        self.unread_bytes += socket.received;
        self.unsent += u64::from(socket.sending > 0);
        self.unsent_bytes += socket.sending;
    }

    /// Lines as proc_pid_net(5) has them.
    fn add(&mut self, text: &str, port: u16) {
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_ascii_whitespace().take(5).collect();
            let [_, local, _, state, queues] = fields[..] else { continue };
            let hex = |text: &str| u64::from_str_radix(text, 16).ok();
            if local.rsplit_once(':').and_then(|(_, text)| hex(text)) != Some(u64::from(port)) {
                continue;
            }
            let queues =
                queues.split_once(':').and_then(|(sent, received)| Some((hex(sent)?, hex(received)?)));
            if let (Some(state), Some((sending, received))) = (hex(state), queues) {
                self.count(&Socket { state: state as u8, received, sending });
            }
        }
    }

    /// Whether no further connection is let in.
    pub fn is_full(&self) -> bool {
        self.backlog.is_some_and(|backlog| self.waiting > backlog)
    }

    /// A paragraph.
    pub fn describe(&self, port: u16) -> String {
        let backlog = self.backlog.map_or(String::new(), |backlog| format!(" of at most {}", backlog + 1));
        format!(
            "port {port}: {} listening, {}{backlog} in the listen queue; {} established, {} in CLOSE-WAIT; \
             {} with {} bytes not read by the server, {} with {} bytes not acknowledged by the client\n",
            self.listening,
            self.waiting,
            self.established,
            self.close_wait,
            self.unread,
            self.unread_bytes,
            self.unsent,
            self.unsent_bytes,
        )
    }
}

/// A socket of the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Socket {
    /// As in include/net/tcp_states.h.
    pub(crate) state: u8,
    /// Bytes that were not read; of a socket that listens, connections that wait.
    received: u64,
    /// Bytes that were not acknowledged; of a socket that listens, how many connections may wait.
    sending: u64,
}

/// The sockets of the port in these states (a bit for each), as sock_diag(7) tells: of a machine with 50,000 sockets the tables
/// in /proc take seconds to read, and what they say is not of one moment. None for a process in another network namespace,
/// and where the kernel does not tell.
pub(crate) fn by_diag(pid: Option<u32>, port: u16, states: u32) -> Option<Vec<Socket>> {
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/net")).ok();
    if let Some(pid) = pid
        && namespace(&pid.to_string()) != namespace("self")
    {
        return None;
    }
    let kernel = socket(AddressFamily::NETLINK, SocketType::DGRAM, Some(netlink::SOCK_DIAG)).ok()?;
    let mut found = ask(&kernel, AF_INET, port, states)?;
    // A kernel may be without IPv6.
    found.extend(ask(&kernel, AF_INET6, port, states).into_iter().flatten());
    Some(found)
}

/// Linux's uapi/linux/netlink.h, sock_diag.h and inet_diag.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST_DUMP: u16 = 0x301;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
const REQUEST_BYTES: u32 = 72;
const HEADER_BYTES: usize = 16;
const NLMSG_DONE: u16 = 3;
/// Of an answer: where its socket's state, its port and the lengths of its queues stand.
const STATE_AT: usize = HEADER_BYTES + 1;
const PORT_AT: usize = HEADER_BYTES + 4;
const RECEIVE_QUEUE_AT: usize = HEADER_BYTES + 56;
const SEND_QUEUE_AT: usize = HEADER_BYTES + 60;

/// The sockets of a family; none if the kernel refuses.
fn ask(kernel: &OwnedFd, family: u8, port: u16, states: u32) -> Option<Vec<Socket>> {
    let mut request = Vec::with_capacity(REQUEST_BYTES as usize);
    request.extend(REQUEST_BYTES.to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(NLM_F_REQUEST_DUMP.to_ne_bytes());
    // Sequence number and port of netlink.
    request.extend([0; 8]);
    request.extend([family, IPPROTO_TCP, 0, 0]);
    request.extend(states.to_ne_bytes());
    request.extend(port.to_be_bytes());
    request.resize(REQUEST_BYTES as usize, 0);
    send(kernel, &request, SendFlags::empty()).ok()?;
    let mut found = Vec::new();
    let mut answer = vec![0; 32 * 1024];
    loop {
        let (len, _) = recv(kernel, &mut answer[..], RecvFlags::empty()).ok()?;
        let mut rest = &answer[..len.min(answer.len())];
        if rest.is_empty() {
            return None;
        }
        while let Some(header) = rest.get(..HEADER_BYTES) {
            let length = u32::from_ne_bytes(header[..4].try_into().ok()?) as usize;
            match u16::from_ne_bytes([header[4], header[5]]) {
                SOCK_DIAG_BY_FAMILY => {}
                NLMSG_DONE => return Some(found),
                _ => return None,
            }
            let message = rest.get(..length.max(HEADER_BYTES))?;
            let word = |at: usize| Some(u32::from_ne_bytes(message.get(at..at + 4)?.try_into().ok()?));
            if message.get(PORT_AT..PORT_AT + 2)? == port.to_be_bytes() {
                found.push(Socket {
                    state: *message.get(STATE_AT)?,
                    received: word(RECEIVE_QUEUE_AT)?.into(),
                    sending: word(SEND_QUEUE_AT)?.into(),
                });
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn what_waits_and_what_was_not_read_is_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut clients: Vec<_> =
            (0..3).map(|_| TcpStream::connect(listener.local_addr().unwrap()).unwrap()).collect();
        clients[0].write_all(b"hello").unwrap();
        let _accepted = listener.accept().unwrap();
        let sockets = PortSockets::read(None, port).unwrap();
        assert_eq!((sockets.listening, sockets.waiting, sockets.established), (1, 2, 3));
        assert_eq!((sockets.unread, sockets.unread_bytes, sockets.unsent), (1, 5, 0));
        // The standard library asks for 4096 or for what the kernel allows.
        assert!(sockets.backlog.is_none_or(|backlog| backlog >= 128), "{sockets:?}");
        assert!(!sockets.is_full());
        assert!(sockets.describe(port).contains("2 of at most"), "{}", sockets.describe(port));
    }

    #[test]
    fn a_queue_that_lets_nobody_in_is_full() {
        let sockets = PortSockets { waiting: 2, backlog: Some(1), ..PortSockets::default() };
        assert!(sockets.is_full());
        assert!(!PortSockets { backlog: None, ..sockets }.is_full());
    }
}
