//! A server that keeps every request that it receives, and answers as the test says.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use pitot_proto_harness::http2::Either;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Which connection it came on, from 0 in the order in which they were accepted.
    pub(crate) connection: usize,
    /// The request line and the headers, with the empty line.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// `GET /path`.
    pub(crate) fn line(&self) -> &str {
        self.head.split(" HTTP/1.1").next().unwrap()
    }

    /// The values of a header, in the order in which they came.
    pub(crate) fn headers(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let all = self.headers(name);
        assert!(all.len() <= 1, "{name} stands twice: {}", self.head);
        all.first().copied()
    }
}

/// The whole reply to a request.
pub(crate) type Answer = dyn Fn(&Request) -> String + Send + Sync;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
}

pub(crate) fn ok(_: &Request) -> String {
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".into()
}

impl Server {
    pub(crate) fn start(answer: impl Fn(&Request) -> String + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = serve(answer, move || listener.accept().map(|(stream, _)| stream), Either::accept);
        Server { address, seen }
    }

    /// One that listens on a socket of the file system.
    pub(crate) fn unix(path: &Path, answer: impl Fn(&Request) -> String + Send + Sync + 'static) -> Server {
        let listener = UnixListener::bind(path).unwrap();
        let seen = serve(answer, move || listener.accept().map(|(stream, _)| stream), Ok);
        Server { address: ([127, 0, 0, 1], 9).into(), seen }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests up to now.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

/// Accepts until the process of the test ends.
fn serve<S: Send + 'static, C: Read + Write>(
    answer: impl Fn(&Request) -> String + Send + Sync + 'static,
    accept: impl Fn() -> std::io::Result<S> + Send + 'static,
    begin: impl Fn(S) -> std::io::Result<C> + Copy + Send + 'static,
) -> Arc<Mutex<Vec<Request>>> {
    let seen: Arc<Mutex<Vec<Request>>> = Arc::default();
    let (all, answer): (_, Arc<Answer>) = (Arc::clone(&seen), Arc::new(answer));
    std::thread::spawn(move || {
        let mut connection = 0;
        while let Ok(stream) = accept() {
            let (all, answer) = (Arc::clone(&all), Arc::clone(&answer));
            std::thread::spawn(move || {
                if let Ok(mut stream) = begin(stream) {
                    converse(&mut stream, connection, &all, &*answer);
                }
            });
            connection += 1;
        }
    });
    seen
}

fn converse(
    stream: &mut (impl Read + Write),
    connection: usize,
    seen: &Mutex<Vec<Request>>,
    answer: &Answer,
) {
    let mut input = Vec::new();
    loop {
        let Some(end) = input.windows(4).position(|four| four == b"\r\n\r\n") else {
            if !more(stream, &mut input) {
                return;
            }
            continue;
        };
        let head = String::from_utf8(input[..end + 4].to_vec()).unwrap();
        let mut request = Request { connection, head, body: Vec::new() };
        let length = request.header("content-length").map_or(0, |value| value.parse::<usize>().unwrap());
        while input.len() < end + 4 + length {
            if !more(stream, &mut input) {
                return;
            }
        }
        request.body = input[end + 4..end + 4 + length].to_vec();
        input.drain(..end + 4 + length);
        let reply = answer(&request);
        seen.lock().unwrap().push(request);
        let closes = reply.contains("Connection: close");
        if stream.write_all(reply.as_bytes()).is_err() || closes {
            return;
        }
    }
}

fn more(stream: &mut impl Read, input: &mut Vec<u8>) -> bool {
    let mut buffer = [0; 16 * 1024];
    match stream.read(&mut buffer) {
        Ok(n) if n > 0 => {
            input.extend_from_slice(&buffer[..n]);
            true
        }
        _ => false,
    }
}
