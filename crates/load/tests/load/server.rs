//! Servers that do what a script says and count what they have seen, on threads of the test.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a server does with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Answers rightly.
    Answer,
    /// Answers rightly, but 404.
    NotFound,
    /// Answers 503.
    Unavailable,
    /// Answers with other content of the same length.
    WrongBytes,
    /// Answers with less content, and says so.
    ShortBody,
    /// Answers rightly, with a pause of [`PAUSE`] in the middle.
    Falter,
    /// Answers rightly and says more.
    Excess,
    /// Sends half an answer and closes in order.
    Truncate,
    /// Sends half an answer and resets the connection.
    Reset,
    /// Closes in order without a word.
    Close,
    /// Says something that is no HTTP.
    Garbage,
    /// Says nothing and keeps the connection.
    Silence,
}

/// How long an answer that falters stands still.
pub const PAUSE: Duration = Duration::from_millis(400);

/// The content of a right answer.
pub const BODY: &str = "0123456789";

/// What a server has seen.
#[derive(Debug, Default)]
pub struct Seen {
    pub connections: AtomicU64,
    pub open: AtomicU64,
    pub open_peak: AtomicU64,
    pub requests: AtomicU64,
    /// When each request was answered, in the order in which they came.
    pub answered: Mutex<Vec<Instant>>,
    /// First lines of the requests.
    pub lines: Mutex<Vec<String>>,
}

/// A server that ends with its value.
pub struct Server {
    pub address: SocketAddr,
    pub seen: Arc<Seen>,
    stop: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

/// How a server behaves.
#[derive(Clone)]
pub struct Script {
    /// What becomes of the first requests, in the order in which they come; the rest is answered.
    pub acts: Vec<Act>,
    /// How long each answer takes.
    pub delay: Duration,
    /// All answers wait from the first of these times to the second, from the start of the server, again each period.
    pub freeze: Option<Freeze>,
    /// Take the connection away after each answer.
    pub close_after_answer: bool,
}

/// A server that stands still now and then.
#[derive(Clone, Copy, Debug)]
pub struct Freeze {
    pub period: Duration,
    pub from: Duration,
    pub to: Duration,
}

impl Freeze {
    /// How long a request that comes `at` has to wait until the server moves again.
    pub fn wait(&self, at: Duration) -> Duration {
        let phase = Duration::from_nanos((at.as_nanos() % self.period.as_nanos()) as u64);
        if phase >= self.from { self.to.saturating_sub(phase) } else { Duration::ZERO }
    }
}

impl Default for Script {
    fn default() -> Script {
        Script { acts: Vec::new(), delay: Duration::ZERO, freeze: None, close_after_answer: false }
    }
}

impl Server {
    pub fn start(script: Script) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let stop = Arc::new(AtomicBool::new(false));
        let started = Instant::now();
        let (script, acceptor_seen, acceptor_stop) = (Arc::new(script), Arc::clone(&seen), Arc::clone(&stop));
        let acceptor = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if acceptor_stop.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                acceptor_seen.connections.fetch_add(1, Ordering::SeqCst);
                let open = acceptor_seen.open.fetch_add(1, Ordering::SeqCst) + 1;
                acceptor_seen.open_peak.fetch_max(open, Ordering::SeqCst);
                let (script, seen) = (Arc::clone(&script), Arc::clone(&acceptor_seen));
                std::thread::spawn(move || {
                    serve(stream, &script, &seen, started);
                    seen.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Server { address, seen, stop, acceptor: Some(acceptor) }
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    pub fn requests(&self) -> u64 {
        self.seen.requests.load(Ordering::SeqCst)
    }

    pub fn connections(&self) -> u64 {
        self.seen.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // A last connection wakes the acceptor.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

/// A request's head, with its body; none at the end of the connection.
fn request(stream: &mut TcpStream, rest: &mut Vec<u8>) -> Option<String> {
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = rest.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned)
                })
                .map_or(0, |n| n.parse::<usize>().unwrap());
            while rest.len() < end + 4 + length {
                let n = stream.read(&mut buffer).ok().filter(|&n| n > 0)?;
                rest.extend_from_slice(&buffer[..n]);
            }
            rest.drain(..end + 4 + length);
            return Some(head);
        }
        let n = stream.read(&mut buffer).ok().filter(|&n| n > 0)?;
        rest.extend_from_slice(&buffer[..n]);
    }
}

fn serve(mut stream: TcpStream, script: &Script, seen: &Seen, started: Instant) {
    let _ = stream.set_nodelay(true);
    let mut rest = Vec::new();
    while let Some(head) = request(&mut stream, &mut rest) {
        let came = started.elapsed();
        let number = seen.requests.fetch_add(1, Ordering::SeqCst) as usize;
        let mut answered = seen.answered.lock().unwrap();
        let count = answered.len().max(number + 1);
        answered.resize(count, started);
        drop(answered);
        seen.lines.lock().unwrap().push(head.lines().next().unwrap_or_default().to_owned());
        let wait = script.delay + script.freeze.map_or(Duration::ZERO, |freeze| freeze.wait(came));
        if wait > Duration::ZERO {
            std::thread::sleep(wait);
        }
        let act = script.acts.get(number).copied().unwrap_or(Act::Answer);
        let goes_on = answer(&mut stream, act);
        seen.answered.lock().unwrap()[number] = Instant::now();
        if !goes_on || script.close_after_answer {
            return;
        }
    }
}

/// Does what the act says; false if the connection ends with it.
fn answer(stream: &mut TcpStream, act: Act) -> bool {
    let whole = |status: &str, body: &str| {
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    let right = whole("200 OK", BODY);
    let (text, goes_on) = match act {
        Act::Answer | Act::Falter => (right, true),
        Act::NotFound => (whole("404 Not Found", BODY), true),
        Act::Unavailable => (whole("503 Service Unavailable", BODY), true),
        Act::WrongBytes => (whole("200 OK", "9876543210"), true),
        Act::ShortBody => (whole("200 OK", &BODY[..4]), true),
        Act::Excess => (right + "and more", true),
        Act::Truncate | Act::Reset => (right[..right.len() - 3].to_owned(), false),
        Act::Close => (String::new(), false),
        Act::Garbage => ("what do you want?\r\n".to_owned(), true),
        Act::Silence => (String::new(), true),
    };
    let mut text = text.as_str();
    if act == Act::Falter {
        let (first, second) = text.split_at(text.len() - 5);
        if stream.write_all(first.as_bytes()).is_err() {
            return false;
        }
        std::thread::sleep(PAUSE);
        text = second;
    }
    if stream.write_all(text.as_bytes()).is_err() {
        return false;
    }
    if act == Act::Reset {
        let _ = pitot_sys::socket::reset_on_close(&*stream);
    } else if !goes_on {
        let _ = stream.shutdown(Shutdown::Both);
    }
    goes_on
}
