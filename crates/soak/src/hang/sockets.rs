//! The sockets of a server: connections that wait to be accepted, and unread bytes.

use std::net::SocketAddr;

use pitot_sys::tcp_sockets::{CLOSE_WAIT, ESTABLISHED, LISTEN, TcpSocket, of_address};

/// The sockets of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSockets {
    /// Sockets that listen.
    pub listening: u64,
    /// Connections that wait in their queues to be accepted.
    pub waiting: u64,
    /// How many may wait, if known; the kernel allows one more (sk_acceptq_is_full()).
    pub backlog: Option<u64>,
    /// Connections that are open on both sides, including those that wait to be accepted.
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
    /// Reads them, in the lab's namespace if there is no process; none if the kernel does not report them.
    pub fn read(pid: Option<u32>, address: SocketAddr) -> Option<PortSockets> {
        let found = of_address(pid, address, 1 << ESTABLISHED | 1 << CLOSE_WAIT | 1 << LISTEN)?;
        let mut sockets = PortSockets { backlog: found.backlog(), ..PortSockets::default() };
        found.all.iter().for_each(|socket| sockets.count(socket));
        Some(sockets)
    }

    fn count(&mut self, socket: &TcpSocket) {
        match socket.state {
            // The receive queue of a listening socket is that of connections.
            LISTEN => {
                self.listening += 1;
                self.waiting += socket.unread;
                return;
            }
            ESTABLISHED => self.established += 1,
            CLOSE_WAIT => self.close_wait += 1,
            _ => return,
        }
        self.unread += u64::from(socket.unread > 0);
        self.unread_bytes += socket.unread;
        self.unsent += u64::from(socket.unacknowledged > 0);
        self.unsent_bytes += socket.unacknowledged;
    }

    /// Whether the queue is full.
    pub fn is_full(&self) -> bool {
        self.backlog.is_some_and(|backlog| self.waiting > backlog)
    }

    /// A description for the evidence.
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

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn what_waits_and_what_was_not_read_is_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut clients: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
        clients[0].write_all(b"hello").unwrap();
        let _accepted = listener.accept().unwrap();
        let sockets = PortSockets::read(None, address).unwrap();
        assert_eq!((sockets.listening, sockets.waiting, sockets.established), (1, 2, 3));
        assert_eq!((sockets.unread, sockets.unread_bytes, sockets.unsent), (1, 5, 0));
        // The standard library asks for 4096 or for what the kernel allows.
        assert!(sockets.backlog.is_none_or(|backlog| backlog >= 128), "{sockets:?}");
        assert!(!sockets.is_full());
        assert!(sockets.describe(7).contains("2 of at most"), "{}", sockets.describe(7));
    }

    #[test]
    fn a_queue_that_lets_nobody_in_is_full() {
        let sockets = PortSockets { waiting: 2, backlog: Some(1), ..PortSockets::default() };
        assert!(sockets.is_full());
        assert!(!PortSockets { backlog: None, ..sockets }.is_full());
    }
}
