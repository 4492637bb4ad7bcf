//! The server: one thread for each connection, which tells what it is about to do, and what it has done.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use pitot_meter::{Random, now};

use super::ledger::{Did, Event, Ledger, Live};
use crate::support::{Running, until};

/// Set for the process that is the server: where it tells what it does, and its seed.
const SERVER: &str = "PITOT_TEST_ERRORS_SERVER";
/// How long each request is worked on, so that many are under way when a fault comes.
pub const PAUSE: Duration = Duration::from_millis(4);

const BODY_BYTES: usize = 64;
/// Sent by the test when the load is over: whoever connected before has been accepted before.
const LAST: &[u8] = b"LAST\r\n\r\n";

/// Its standard input is the socket that listens.
#[test]
#[ignore = "no test: the server that the tests of errors start"]
fn server() {
    let asked = std::env::var(SERVER).expect("a test has started it");
    let (path, seed) = asked.split_once(' ').unwrap();
    let log = Arc::new(UnixStream::connect(path).unwrap());
    let listener = TcpListener::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    let seed: u64 = seed.parse().unwrap();
    for id in 0.. {
        let (stream, _) = listener.accept().unwrap();
        let log = Log { to: Arc::clone(&log), id };
        log.tell(Did::Accepted);
        std::thread::spawn(move || serve(stream, &log, Random::new(seed << 32 | u64::from(id))));
    }
}

/// Where one connection tells what it does.
struct Log {
    to: Arc<UnixStream>,
    id: u32,
}

impl Log {
    /// One write of a few bytes, which the socket takes as a whole or not at all.
    fn tell(&self, did: Did) {
        let event = Event { connection: self.id, did, at: now() };
        (&*self.to).write_all(&event.bytes()).unwrap();
    }
}

fn serve(mut stream: TcpStream, log: &Log, mut random: Random) {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    loop {
        request.clear();
        while !request.ends_with(b"\r\n\r\n") {
            match stream.read(&mut piece) {
                Ok(0) => return log.tell(Did::SawEnd),
                Ok(length) => request.extend_from_slice(&piece[..length]),
                Err(_) => return log.tell(Did::SawReset),
            }
        }
        if request.starts_with(LAST) {
            log.tell(Did::WasLast);
            let _ = stream.write_all(LAST);
            return;
        }
        log.tell(Did::TookRequest);
        std::thread::sleep(PAUSE);
        let body = "x".repeat(BODY_BYTES);
        let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY_BYTES}\r\n\r\n{body}");
        let outcome = match (random.unit() * 100.0) as u32 {
            0..3 => {
                log.tell(Did::WillRefuse);
                let refusal = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy";
                stream.write_all(refusal).map(|()| log.tell(Did::Refused))
            }
            3..6 => {
                log.tell(Did::WillClose);
                return finish(stream, log, Did::Closed);
            }
            6..9 => {
                log.tell(Did::WillCut);
                match stream.write_all(&reply.as_bytes()[..reply.len() - BODY_BYTES / 2]) {
                    Ok(()) => return finish(stream, log, Did::Cut),
                    Err(e) => Err(e),
                }
            }
            9..12 => {
                log.tell(Did::WillReset);
                pitot_sys::socket::reset_on_close(&stream).unwrap();
                drop(stream);
                return log.tell(Did::Reset);
            }
            _ => {
                log.tell(Did::WillReply);
                stream.write_all(reply.as_bytes()).map(|()| log.tell(Did::Replied))
            }
        };
        // Nothing was sent.
        if outcome.is_err() {
            return log.tell(Did::SawReset);
        }
    }
}

/// Ends its side in order, and waits for the client to end the other.
fn finish(mut stream: TcpStream, log: &Log, did: Did) {
    let _ = stream.shutdown(Shutdown::Write);
    log.tell(did);
    let mut rest = [0; 64];
    match stream.read(&mut rest) {
        Ok(0) => log.tell(Did::SawEnd),
        _ => log.tell(Did::SawReset),
    }
}

/// A server that runs, and who listens to it.
pub struct Server {
    running: Running,
    ledger: JoinHandle<Ledger>,
    live: Arc<Live>,
}

impl Server {
    pub fn start(listener: &TcpListener, seed: u64) -> Server {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = UnixListener::bind(&path).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "fault_errors::server::server", "--nocapture"]);
        command.env(SERVER, format!("{} {seed}", path.display()));
        command.stdin(Stdio::from(OwnedFd::from(listener.try_clone().unwrap())));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let running = Running::start(&mut command);
        let (log, _) = log.accept().unwrap();
        let live = Arc::new(Live::default());
        let told = Arc::clone(&live);
        let ledger = std::thread::spawn(move || Ledger::read(log, &told));
        Server { running, ledger, live }
    }

    /// Waits for requests, and so for a load that has begun.
    pub fn is_asked(&self) {
        until("the server is never asked", || self.live.taken.load(Ordering::Relaxed) > 0);
    }

    pub fn pid(&self) -> u32 {
        self.running.id()
    }

    /// What it did, once it is dead.
    pub fn ended(mut self) -> Ledger {
        self.running.wait().unwrap();
        self.ledger.join().unwrap()
    }

    /// What it did, once all its connections have ended: the load is over, which came by this address.
    pub fn ended_by_itself(self, address: &str) -> Ledger {
        let mut last = TcpStream::connect(address).unwrap();
        last.write_all(LAST).unwrap();
        last.read_exact(&mut [0; LAST.len()]).unwrap();
        until("connections of the server have no end", || self.live.open.load(Ordering::Relaxed) == 0);
        drop(self.running);
        self.ledger.join().unwrap()
    }
}
