//! The thread that answers scrapes.
//!
//! One thread waits for the listener and for a few connections together, so that a client that says nothing keeps nobody waiting.
//! Each has a deadline; when there are too many, the oldest goes. Requests are taken up to a number a second: whoever asks in a loop
//! waits in the backlog, and takes no CPU time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::setpriority_process;
use rustix::time::Timespec;

use crate::exchange::{self, Asked, REQUEST_BYTES_MAX};
use crate::family::Family;
use crate::text::{Format, text};

/// Connections at a time.
const CONNECTIONS_MAX: usize = 8;
/// How long one may take: Prometheus waits for 10 s, unless it is told otherwise.
const DEADLINE: Duration = Duration::from_secs(10);
/// Connections taken in a second.
const ACCEPTS_MAX: u32 = 50;
const SECOND: Duration = Duration::from_secs(1);
/// The lowest priority (setpriority(2)).
const NICE_MAX: i32 = 19;
/// The stack of the thread, which is not deep.
const STACK_BYTES: usize = 256 << 10;

/// Where families are published.
#[derive(Clone, Debug, Default)]
pub struct Publisher(Arc<Mutex<Arc<Vec<Family>>>>);

impl Publisher {
    /// Publishes families in place of those before.
    pub fn publish(&self, families: Vec<Family>) {
        let mut published = Arc::new(families);
        // What was there before is freed without the lock.
        std::mem::swap(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), &mut published);
    }

    fn published(&self) -> Arc<Vec<Family>> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Listens, and answers scrapes as long as the process lives. Returns where, and where to publish.
///
/// # Errors
/// If the address cannot be listened on, or no thread be started.
pub fn listen(address: SocketAddr) -> io::Result<(SocketAddr, Publisher)> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let publisher = Publisher::default();
    let mut responder = Responder {
        listener,
        publisher: publisher.clone(),
        connections: Vec::new(),
        made: Made::default(),
        second: Instant::now(),
        accepted: 0,
    };
    thread::Builder::new().name("metrics".into()).stack_size(STACK_BYTES).spawn(move || responder.run())?;
    Ok((address, publisher))
}

struct Responder {
    listener: TcpListener,
    publisher: Publisher,
    connections: Vec<Connection>,
    made: Made,
    /// The begin of the second in which so many connections were accepted.
    second: Instant,
    accepted: u32,
}

/// The families that were asked for last, and their text.
#[derive(Default)]
struct Made {
    families: Arc<Vec<Family>>,
    format: Format,
    /// Empty before the first.
    text: String,
}

impl Responder {
    fn run(&mut self) {
        // Without a process that is the calling thread. If it is not possible, the thread has the priority of others.
        let _ = setpriority_process(None, NICE_MAX);
        loop {
            self.turn();
        }
    }

    /// Waits for something to do, and does it.
    fn turn(&mut self) {
        let now = Instant::now();
        if now >= self.second + SECOND {
            (self.second, self.accepted) = (now, 0);
        }
        let accepts = self.accepted < ACCEPTS_MAX;
        let next_second = (!accepts).then_some(self.second + SECOND);
        let deadlines = self.connections.iter().map(|connection| connection.deadline);
        let until = deadlines.chain(next_second).min();
        let timeout = until.map(|until| {
            let left = until.saturating_duration_since(now);
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() }
        });
        let mut waits: Vec<PollFd<'_>> =
            self.connections.iter().map(|c| PollFd::from_borrowed_fd(c.stream.as_fd(), c.awaits())).collect();
        if accepts {
            waits.push(PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN));
        }
        if poll(&mut waits, timeout.as_ref()).is_err() {
            return;
        }
        let is_ready: Vec<bool> = waits.iter().map(|wait| !wait.revents().is_empty()).collect();
        let now = Instant::now();
        let mut ready = is_ready.iter();
        let mut connections = std::mem::take(&mut self.connections);
        connections.retain_mut(|connection| {
            let is_ready = ready.next().is_some_and(|ready| *ready);
            now < connection.deadline && (!is_ready || connection.turn(|format| self.text(format)))
        });
        self.connections = connections;
        if accepts && ready.next().is_some_and(|ready| *ready) {
            self.accept(now);
        }
    }

    fn accept(&mut self, now: Instant) {
        self.accepted += 1;
        match self.listener.accept() {
            Ok((stream, _)) if stream.set_nonblocking(true).is_ok() => {
                if self.connections.len() == CONNECTIONS_MAX {
                    self.connections.remove(0);
                }
                self.connections.push(Connection::new(stream, now + DEADLINE));
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // Descriptors are short, say: the next second may have some.
            Err(_) => self.accepted = ACCEPTS_MAX,
            Ok(_) => {}
        }
    }

    /// The text of what is published.
    fn text(&mut self, format: Format) -> &str {
        let families = self.publisher.published();
        let is_made = Arc::ptr_eq(&families, &self.made.families) && self.made.format == format;
        if !is_made || self.made.text.is_empty() {
            let text = text(&families, format);
            self.made = Made { families, format, text };
        }
        &self.made.text
    }
}

/// A client.
struct Connection {
    stream: TcpStream,
    deadline: Instant,
    received: Vec<u8>,
    /// What is to be sent, once that is known, and how much of it was.
    reply: Vec<u8>,
    sent: usize,
}

impl Connection {
    fn new(stream: TcpStream, deadline: Instant) -> Connection {
        Connection { stream, deadline, received: Vec::new(), reply: Vec::new(), sent: 0 }
    }

    fn awaits(&self) -> PollFlags {
        if self.reply.is_empty() { PollFlags::IN } else { PollFlags::OUT }
    }

    /// Reads or writes what it can; false once it is over.
    fn turn<'t>(&mut self, text: impl FnOnce(Format) -> &'t str) -> bool {
        if self.reply.is_empty() {
            let mut bytes = [0; REQUEST_BYTES_MAX];
            match self.stream.read(&mut bytes[self.received.len()..]) {
                Ok(0) => return false,
                Ok(count) => self.received.extend_from_slice(&bytes[self.received.len()..][..count]),
                Err(e) => return is_not_yet(&e),
            }
            self.reply = match exchange::read(&self.received) {
                Asked::Partial => return true,
                Asked::Figures { head, format } => exchange::figures(text(format), format, head),
                Asked::Wrong(status, reason) => exchange::wrong(status, reason),
            };
        }
        match self.stream.write(&self.reply[self.sent..]) {
            Ok(count) => self.sent += count,
            Err(e) => return is_not_yet(&e),
        }
        if self.sent < self.reply.len() {
            return true;
        }
        // If something unread were left, the kernel would reset the connection, and the reply might be lost.
        let _ = self.stream.shutdown(Shutdown::Write);
        let _ = self.stream.read(&mut [0; REQUEST_BYTES_MAX]);
        false
    }
}

fn is_not_yet(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn listening() -> (SocketAddr, Publisher) {
        listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap()
    }

    fn asked(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
        stream.write_all(request).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    }

    const SCRAPE: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

    #[test]
    fn a_scrape_has_what_was_published_last() {
        let (address, publisher) = listening();
        assert!(asked(address, SCRAPE).ends_with("\r\n\r\n# EOF\n"));
        for count in [1u64, 2] {
            publisher.publish(vec![Family::counter("pitot_requests", "Requests.").with(Vec::new(), count)]);
            let reply = asked(address, SCRAPE);
            assert!(reply.ends_with(&format!("pitot_requests_total {count}\n# EOF\n")), "{reply}");
        }
        assert!(asked(address, b"GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 404 "));
    }

    #[test]
    fn clients_that_say_nothing_or_too_much_keep_nobody_waiting() {
        let (address, _publisher) = listening();
        let silent: Vec<TcpStream> =
            (0..2 * CONNECTIONS_MAX).map(|_| TcpStream::connect(address).unwrap()).collect();
        for stream in &silent {
            // Some are no more, which it may say.
            let _ = (&*stream).write_all(b"GET /metrics HT");
        }
        assert!(asked(address, SCRAPE).starts_with("HTTP/1.1 200 "));
        let mut long = vec![b'a'; REQUEST_BYTES_MAX];
        long[..6].copy_from_slice(b"GET /a");
        assert!(asked(address, &long).starts_with("HTTP/1.1 431 "));
        assert!(asked(address, b"\x16\x03\x01\x02\x00").starts_with("HTTP/1.1 400 "));
        assert!(asked(address, SCRAPE).starts_with("HTTP/1.1 200 "));
    }

    #[test]
    fn a_client_in_a_loop_is_made_to_wait() {
        let (address, _publisher) = listening();
        let begun = Instant::now();
        for _ in 0..2 * ACCEPTS_MAX + 1 {
            assert!(asked(address, SCRAPE).starts_with("HTTP/1.1 200 "));
        }
        assert!(begun.elapsed() >= SECOND, "{:?}", begun.elapsed());
    }
}
