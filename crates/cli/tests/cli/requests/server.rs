//! A server of HTTP/1.1 and HTTP/2 that keeps all that it receives, and replies as a script says.

use std::io::{Read, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use pitot_proto_harness::http2::Either;

/// A request as it was received.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    /// The number of its connection, from 0.
    pub(crate) connection: usize,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// Bytes of later requests that had come with it.
    pub(crate) ahead: usize,
}

impl Request {
    /// The value of a header; empty if it has none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
    }

    /// `METHOD PATH`.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// What the server does with a request.
pub(crate) enum Act {
    /// Replies with a status, headers, and a body.
    Reply(u16, &'static str, String),
    /// Waits for one more request of the connection before it replies to any, to this one with 200.
    Wait,
    /// Closes the connection.
    Close,
}

/// Replies `200` with an empty body.
pub(crate) fn ok() -> Act {
    Act::Reply(200, "", String::new())
}

type Script = dyn Fn(&Request) -> Act + Send + Sync;

pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
    stop: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(script: impl Fn(&Request) -> Act + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, stop): (Arc<Mutex<Vec<Request>>>, Arc<AtomicBool>) = Default::default();
        let script: Arc<Script> = Arc::new(script);
        let (all, stopped) = (Arc::clone(&seen), Arc::clone(&stop));
        let acceptor = std::thread::spawn(move || {
            let mut connections = Vec::new();
            for stream in listener.incoming().map_while(Result::ok) {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let (number, all, script) = (connections.len(), Arc::clone(&all), Arc::clone(&script));
                let (own, other) = (stream.try_clone().unwrap(), stream.try_clone().unwrap());
                let thread = std::thread::spawn(move || {
                    serve(stream, number, &all, &*script);
                    // The descriptor that is kept for the end would hold it open.
                    let _ = other.shutdown(Shutdown::Both);
                });
                connections.push((own, thread));
            }
            for (stream, thread) in connections {
                let _ = stream.shutdown(Shutdown::Both);
                let _ = thread.join();
            }
        });
        Server { address, seen, stop, acceptor: Some(acceptor) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests, in the order in which they came.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn serve(stream: TcpStream, connection: usize, all: &Mutex<Vec<Request>>, script: &Script) {
    let Ok(mut stream) = Either::accept(stream) else { return };
    let mut input = Vec::new();
    let mut waiting = 0;
    while let Some(request) = next(&mut stream, &mut input, connection) {
        all.lock().unwrap().push(request.clone());
        let reply = match script(&request) {
            Act::Close => return,
            Act::Wait => {
                waiting += 1;
                continue;
            }
            Act::Reply(status, headers, body) => {
                format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
            }
        };
        let before = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".repeat(std::mem::take(&mut waiting));
        if stream.write_all((before + &reply).as_bytes()).is_err() {
            return;
        }
    }
}

/// The next request of a connection; none if there is none, whole.
fn next(stream: &mut impl Read, input: &mut Vec<u8>, connection: usize) -> Option<Request> {
    let mut more = |input: &mut Vec<u8>| {
        let mut piece = [0; 4096];
        let n = stream.read(&mut piece).ok().filter(|&n| n > 0)?;
        input.extend_from_slice(&piece[..n]);
        Some(())
    };
    let head = loop {
        match input.windows(4).position(|four| four == b"\r\n\r\n") {
            Some(end) => break end + 4,
            None => more(input)?,
        }
    };
    let text = String::from_utf8(input[..head].to_vec()).unwrap();
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap().split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let headers: Vec<(String, String)> =
        lines.filter_map(|l| l.split_once(": ")).map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
    let mut request = Request { connection, method, path, headers, body: String::new(), ahead: 0 };
    let length = request.header("content-length").parse().unwrap_or(0);
    while input.len() < head + length {
        more(input)?;
    }
    request.body = String::from_utf8(input[head..head + length].to_vec()).unwrap();
    input.drain(..head + length);
    request.ahead = input.len();
    Some(request)
}
