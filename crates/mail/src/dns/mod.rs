//! A stub resolver inside the event loop.
//!
//! It queries a recursive server, over UDP with EDNS (RFC 6891) and over TCP if an answer does not fit, with up to two hundred
//! questions at a time. A library's resolver would need a runtime, or a thread for each question. The resolver is small; only the
//! message format, where the traps are, is hickory's.

mod config;
mod message;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use pitot_meter::Nanos;
use pitot_results::mail::DnsCounts;
use pitot_sys::Waker;

pub use message::{Kind, Lookup, Records};

/// Questions in flight at once; others wait. A socket with default settings holds some 270 small datagrams (208
/// KiB in net.core.rmem_default, 768 bytes each): with more than that a burst is lost, and costs a second.
const IN_FLIGHT_MAX: usize = 200;
/// Questions over TCP at once, each in a separate thread.
const TCP_MAX: usize = 16;
/// How long the first, second and third attempt of a question waits for its answer.
const TIMEOUTS: [Nanos; 3] = [Nanos::from_secs(1), Nanos::from_secs(2), Nanos::from_secs(4)];
/// Datagrams taken from a socket before the loop continues.
const RECEIVES_MAX: usize = 512;

/// The resolver: servers, open questions and their deadlines.
#[derive(Debug)]
pub struct Resolver {
    servers: Vec<Server>,
    waiting: VecDeque<(Box<str>, Kind)>,
    in_flight: HashMap<u16, Question>,
    deadlines: BinaryHeap<Reverse<(Nanos, u16, u32)>>,
    random: RandomState,
    drawn: u64,
    timeout_scale: f64,
    tcp: Tcp,
    buffer: Box<[u8; 65536]>,
    /// Counts since the start.
    pub counts: DnsCounts,
    /// Why the last attempt failed, as long as no server has answered.
    pub silent_because: Option<String>,
}

#[derive(Debug)]
struct Server {
    addr: SocketAddr,
    socket: UdpSocket,
}

#[derive(Debug)]
struct Question {
    name: Box<str>,
    kind: Kind,
    attempt: usize,
    /// Distinguishes it from earlier questions with this number in the heap of deadlines.
    serial: u32,
    /// It waits for an answer over TCP.
    tcp: bool,
}

#[derive(Debug)]
struct Tcp {
    waker: Arc<Waker>,
    sender: mpsc::Sender<(u16, io::Result<Vec<u8>>)>,
    receiver: mpsc::Receiver<(u16, io::Result<Vec<u8>>)>,
    threads: usize,
}

/// A finished question: the name, the type of record, and the result.
pub type Finished = (Box<str>, Kind, Lookup);

impl Resolver {
    /// A resolver that queries `servers`, or those of the system if empty. `timeout_scale` scales its timeouts; answers over TCP wake
    /// `waker`.
    ///
    /// # Errors
    /// EMFILE; ENETUNREACH if there is no route to the servers.
    pub fn new(servers: &[SocketAddr], timeout_scale: f64, waker: Arc<Waker>) -> io::Result<Resolver> {
        let mut addrs = servers.to_vec();
        if addrs.is_empty() {
            addrs = config::servers(&std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default());
        }
        let open = |addr: SocketAddr| {
            let any: IpAddr =
                if addr.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
            let socket = UdpSocket::bind((any, 0))?;
            socket.connect(addr)?;
            socket.set_nonblocking(true)?;
            Ok(Server { addr, socket })
        };
        let (sender, receiver) = mpsc::channel();
        Ok(Resolver {
            servers: addrs.into_iter().map(open).collect::<io::Result<_>>()?,
            waiting: VecDeque::new(),
            in_flight: HashMap::new(),
            deadlines: BinaryHeap::new(),
            random: RandomState::new(),
            drawn: 0,
            timeout_scale,
            tcp: Tcp { waker, sender, receiver, threads: 0 },
            buffer: Box::new([0; 65536]),
            counts: DnsCounts::default(),
            silent_because: None,
        })
    }

    /// The sockets to wait for, one for each server.
    pub fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.servers.iter().map(|server| server.socket.as_fd())
    }

    /// The servers' addresses, for messages.
    pub fn names(&self) -> String {
        self.servers.iter().map(|s| s.addr.to_string()).collect::<Vec<_>>().join(", ")
    }

    /// True if no question is open.
    pub fn is_idle(&self) -> bool {
        self.in_flight.is_empty() && self.waiting.is_empty()
    }

    /// True if several questions went unanswered and no server has ever answered.
    pub fn is_silent(&self) -> bool {
        self.counts.answered == 0
            && self.counts.failed == 0
            && self.counts.unanswered_attempts >= (TIMEOUTS.len() * 2) as u64
    }

    /// When [`Resolver::expire`] has something to do.
    pub fn deadline(&self) -> Nanos {
        self.deadlines.peek().map_or(Nanos::MAX, |Reverse((at, ..))| *at)
    }

    /// Asks a question. One that cannot be encoded completes at once.
    pub fn ask(&mut self, name: &str, kind: Kind, now: Nanos, finished: &mut Vec<Finished>) {
        self.counts.questions += 1;
        self.waiting.push_back((name.into(), kind));
        self.begin_waiting(now, finished);
    }

    fn begin_waiting(&mut self, now: Nanos, finished: &mut Vec<Finished>) {
        while self.in_flight.len() < IN_FLIGHT_MAX
            && let Some((name, kind)) = self.waiting.pop_front()
        {
            let id = loop {
                self.drawn += 1;
                let id = self.random.hash_one(self.drawn) as u16;
                if !self.in_flight.contains_key(&id) {
                    break id;
                }
            };
            let question = Question { name, kind, attempt: 0, serial: self.drawn as u32, tcp: false };
            self.in_flight.insert(id, question);
            self.send(id, now, finished);
        }
    }

    /// Sends a question that is in flight, and starts its timeout.
    fn send(&mut self, id: u16, now: Nanos, finished: &mut Vec<Finished>) {
        let Some(question) = self.in_flight.get(&id) else { return };
        let Some(bytes) = message::question(id, &question.name, question.kind) else {
            return self.finish(id, Lookup::NoSuchName, finished);
        };
        // A refusal or a full buffer counts as a lost datagram: the next attempt follows.
        let server = &self.servers[question.attempt % self.servers.len()];
        if let Err(e) = server.socket.send(&bytes) {
            self.silent_because = Some(e.to_string());
        }
        self.arm(id, now);
    }

    fn arm(&mut self, id: u16, now: Nanos) {
        if let Some(q) = self.in_flight.get(&id) {
            let timeout = TIMEOUTS[q.attempt.min(TIMEOUTS.len() - 1)].0 as f64 * self.timeout_scale;
            self.deadlines.push(Reverse((now + Nanos(timeout as u64), id, q.serial)));
        }
    }

    fn finish(&mut self, id: u16, lookup: Lookup, finished: &mut Vec<Finished>) {
        if let Some(q) = self.in_flight.remove(&id) {
            finished.push((q.name, q.kind, lookup));
        }
    }

    /// Takes answers from the server of that number and over TCP.
    pub fn receive(&mut self, server: usize, now: Nanos, finished: &mut Vec<Finished>) {
        for _ in 0..RECEIVES_MAX {
            match self.servers[server].socket.recv(&mut self.buffer[..]) {
                Ok(n) => {
                    if let Some(answer) = message::answer(&self.buffer[..n]) {
                        self.answered(answer, server, now, finished);
                    }
                }
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock) => break,
                // ECONNREFUSED: nothing listens there, so the questions to this server need not wait.
                Err(e) => {
                    self.silent_because = Some(e.to_string());
                    let ids: Vec<u16> = self
                        .in_flight
                        .iter()
                        .filter(|(_, q)| !q.tcp && q.attempt % self.servers.len() == server)
                        .map(|(id, _)| *id)
                        .collect();
                    ids.into_iter().for_each(|id| self.unanswered(id, now, finished));
                }
            }
        }
        self.begin_waiting(now, finished);
    }

    /// Takes answers over TCP.
    pub fn receive_tcp(&mut self, now: Nanos, finished: &mut Vec<Finished>) {
        while let Ok((id, result)) = self.tcp.receiver.try_recv() {
            self.tcp.threads -= 1;
            let answer = result.ok().and_then(|bytes| message::answer(&bytes));
            match answer {
                // A part of the records may lack the host that is preferred, and more cannot be had than over TCP.
                Some(mut answer) if answer.id == id => {
                    if answer.truncated {
                        let why = "the DNS server truncated its answer over TCP, too";
                        answer.lookup = Lookup::Failed(why.to_owned());
                    }
                    self.accept(answer, finished);
                }
                _ => self.unanswered(id, now, finished),
            }
        }
        self.begin_waiting(now, finished);
    }

    fn answered(&mut self, answer: message::DnsReply, server: usize, now: Nanos, out: &mut Vec<Finished>) {
        if !answer.truncated {
            return self.accept(answer, out);
        }
        let addr = self.servers[server].addr;
        let Some(q) = self.in_flight.get_mut(&answer.id) else { return };
        // With no thread to spare the deadline brings the question back.
        if q.tcp || *q.name != *answer.name || q.kind != answer.kind || self.tcp.threads == TCP_MAX {
            return;
        }
        let Some(bytes) = message::question(answer.id, &q.name, q.kind) else { return };
        q.tcp = true;
        let (sender, waker, id) = (self.tcp.sender.clone(), Arc::clone(&self.tcp.waker), answer.id);
        let timeout = Duration::from(TIMEOUTS[TIMEOUTS.len() - 1]).mul_f64(self.timeout_scale);
        let spawned = std::thread::Builder::new().name("dns-tcp".into()).spawn(move || {
            let _ = sender.send((id, ask_over_tcp(addr, &bytes, timeout)));
            waker.wake();
        });
        if spawned.is_ok() {
            self.tcp.threads += 1;
            self.counts.over_tcp += 1;
        } else {
            self.unanswered(id, now, out);
        }
    }

    fn accept(&mut self, answer: message::DnsReply, finished: &mut Vec<Finished>) {
        let is_ours =
            self.in_flight.get(&answer.id).is_some_and(|q| *q.name == *answer.name && q.kind == answer.kind);
        if !is_ours {
            return;
        }
        match answer.lookup {
            Lookup::Failed(_) => self.counts.failed += 1,
            _ => self.counts.answered += 1,
        }
        self.finish(answer.id, answer.lookup, finished);
    }

    /// An attempt has failed: the next one, or the end.
    fn unanswered(&mut self, id: u16, now: Nanos, finished: &mut Vec<Finished>) {
        let Some(q) = self.in_flight.get_mut(&id) else { return };
        self.counts.unanswered_attempts += 1;
        let over_tcp = std::mem::take(&mut q.tcp);
        q.attempt += 1;
        self.drawn += 1;
        q.serial = self.drawn as u32;
        if q.attempt < TIMEOUTS.len().max(self.servers.len()) {
            self.send(id, now, finished);
        } else {
            let why = if over_tcp {
                format!(
                    "no answer over TCP from the DNS server {}, whose answer is too long for UDP",
                    self.names()
                )
            } else {
                format!("no answer from the DNS server {}", self.names())
            };
            self.finish(id, Lookup::Failed(why), finished);
        }
    }

    /// Handles questions that have timed out.
    pub fn expire(&mut self, now: Nanos, finished: &mut Vec<Finished>) {
        while self.deadline() <= now {
            let Some(Reverse((_, id, serial))) = self.deadlines.pop() else { break };
            if self.in_flight.get(&id).is_some_and(|q| q.serial == serial) {
                self.unanswered(id, now, finished);
            }
        }
        self.begin_waiting(now, finished);
    }
}

/// One question and its answer, each with its length in front (RFC 1035 section 4.2.2).
fn ask_over_tcp(addr: SocketAddr, question: &[u8], timeout: Duration) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&addr, timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    let length = u16::try_from(question.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    stream.write_all(&[&length.to_be_bytes(), question].concat())?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

/// True if this machine has a route to IPv6 addresses. No packet is sent.
pub fn has_ipv6() -> bool {
    let documentation = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
    UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).is_ok_and(|socket| socket.connect((documentation, 9)).is_ok())
}
