//! Misbehaving clients besides those of the load, in one thread.

use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use pitot_meter::{Nanos, Random, now};
use pitot_sys::{connect, socket};
use rustix::net::sockopt;

use crate::entry::Begun;
use crate::options::Options;

/// Interval of turns over all clients.
const TICK: Duration = Duration::from_millis(10);
/// Bytes that a slow reader reads at once, and how often: 640 bytes a second.
const SIP_BYTES: usize = 64;
const SIP_INTERVAL: Nanos = Nanos::from_millis(100);
/// The receive buffer of a slow reader, small so that the kernel does not read ahead.
const SLOW_BUFFER_BYTES: usize = 4096;
/// Requests that a slow reader sends at once, more than it will ever read.
const REQUESTS_AT_ONCE: usize = 16;
/// Random bytes that a client sends on one connection, and how long it keeps the connection.
const GARBAGE_BYTES: usize = 1024;
const GARBAGE_LIFE: Nanos = Nanos::from_millis(100);

/// The behaviour of a client.
#[derive(Clone, Debug)]
pub(crate) enum Habit {
    /// It requests more than it reads.
    SlowReader {
        /// The requested path.
        path: String,
    },
    /// It sends half a request.
    HalfOpen,
    /// It sends random bytes, and reconnects.
    Garbage {
        /// The seed of the bytes.
        seed: u64,
    },
}

/// Begins a fault of clients with this behaviour. `what` is the end of a sentence.
pub(crate) fn begin(options: &Options, habit: Habit, what: &str) -> Result<Begun, String> {
    let to = options.to.ok_or("the server's address is unknown")?;
    let clients = Clients::start(to, options.clients, habit);
    Ok(Begun { what: format!("{} clients {what}", options.clients), held: Some(Box::new(clients)) })
}

/// Running clients, which end when this is dropped.
struct Clients {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Clients {
    /// Starts `count` clients of the server at `to`.
    fn start(to: SocketAddr, count: usize, habit: Habit) -> Clients {
        let _ = pitot_sys::limits::raise_descriptors();
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut clients: Vec<Client> = (0..count).map(|_| Client::default()).collect();
            let mut random = Random::new(if let Habit::Garbage { seed } = habit { seed } else { 0 });
            while !is_over.load(Ordering::Relaxed) {
                let at = now();
                for client in &mut clients {
                    client.turn(to, &habit, &mut random, at);
                }
                std::thread::sleep(TICK);
            }
        });
        Clients { stop, thread: Some(thread) }
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[derive(Debug, Default)]
struct Client {
    socket: Option<OwnedFd>,
    opened: Nanos,
    next_read: Nanos,
    /// It has sent its bytes.
    has_sent: bool,
}

impl Client {
    /// Acts without blocking. An error ends the connection, and the next turn opens another one.
    fn turn(&mut self, to: SocketAddr, habit: &Habit, random: &mut Random, at: Nanos) {
        if self.socket.is_none() && self.open(to, habit, at).is_none() {
            return;
        }
        let Some(socket) = &self.socket else { return };
        let mut buffer = [0; SIP_BYTES];
        let goes_on = match habit {
            Habit::SlowReader { path } => {
                let request = format!("GET {path} HTTP/1.1\r\nHost: pitot\r\n\r\n").repeat(REQUESTS_AT_ONCE);
                let sent = sends(socket, request.as_bytes()).is_some();
                let reads = at >= self.next_read;
                if reads {
                    self.next_read = at + SIP_INTERVAL;
                }
                sent && (!reads || receives(socket, &mut buffer))
            }
            Habit::HalfOpen => {
                if !self.has_sent {
                    self.has_sent = sends(socket, b"GET /half HTTP/1.1\r\nHost: pi") == Some(true);
                }
                receives(socket, &mut buffer)
            }
            Habit::Garbage { .. } => {
                if !self.has_sent {
                    let bytes: Vec<u8> = (0..GARBAGE_BYTES).map(|_| random.next_u64() as u8).collect();
                    self.has_sent = sends(socket, &bytes) == Some(true);
                }
                at.since(self.opened) < GARBAGE_LIFE
            }
        };
        if !goes_on {
            self.socket = None;
        }
    }

    fn open(&mut self, to: SocketAddr, habit: &Habit, at: Nanos) -> Option<()> {
        let socket = connect::open(to, None).ok()?;
        if let Habit::SlowReader { .. } = habit {
            // Before connecting, since the window is negotiated then.
            let _ = sockopt::set_socket_recv_buffer_size(&socket, SLOW_BUFFER_BYTES);
        }
        connect::start(&socket, to).ok()?;
        *self = Client { socket: Some(socket), opened: at, next_read: at, has_sent: false };
        Some(())
    }
}

/// Sends a text. False if there is no room, or no connection yet; `None` if the connection is closed.
fn sends(socket: &OwnedFd, bytes: &[u8]) -> Option<bool> {
    match socket::send(socket, &[IoSlice::new(bytes)], false) {
        Ok(_) => Some(true),
        Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => Some(false),
        Err(_) => None,
    }
}

/// Receives available bytes. False if the connection is closed.
fn receives(socket: &OwnedFd, buffer: &mut [u8]) -> bool {
    match socket::recv(socket, buffer) {
        Ok(received) => received > 0,
        Err(e) => e.kind() == std::io::ErrorKind::WouldBlock,
    }
}
