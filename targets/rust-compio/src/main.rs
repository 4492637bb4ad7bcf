//! A server on compio, a runtime of io_uring in each thread, that serves the pages of all targets.

use std::io::Write;
use std::path::Path;
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use compio::io::{AsyncRead, AsyncWriteExt};
use compio::net::{SocketOpts, TcpListener, TcpStream};
use compio::runtime::{Runtime, spawn};

/// The largest request that is taken, its body included.
const REQUEST_MAX: usize = 16 << 20;
const HEADERS_MAX: usize = 64;

static LOG: OnceLock<Log> = OnceLock::new();

fn main() {
    let [address, root, threads, keep_alive] = &std::env::args().skip(1).collect::<Vec<_>>()[..] else {
        panic!("ADDRESS ROOT THREADS on|off");
    };
    let threads: usize = threads.parse().unwrap();
    if let Some(log) = Log::from_env() {
        let _ = LOG.set(log);
    }
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| Runtime::new().unwrap().block_on(serve(address, root, keep_alive == "on", LOG.get())));
        }
    });
}

/// Each thread has a listener of its own, and keeps the connections that it accepts.
async fn serve(address: &str, root: &str, keep_alive: bool, log: Option<&'static Log>) {
    let root: Rc<Path> = Rc::from(Path::new(root));
    let options = SocketOpts::default().reuse_address(true).reuse_port(true);
    let listener = TcpListener::bind_with_options(address, &options).await.unwrap();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let _ = stream.set_nodelay(true);
        let root = Rc::clone(&root);
        spawn(async move { connection(stream, &root, keep_alive, log).await }).detach();
    }
}

/// A request that has arrived as a whole.
struct Request {
    method: String,
    path: String,
    head_bytes: usize,
    body_bytes: usize,
    keeps: bool,
}

enum Parsed {
    Whole(Request),
    Partial,
    Wrong,
}

fn parse(bytes: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let head_bytes = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < REQUEST_MAX => return Parsed::Partial,
        _ => return Parsed::Wrong,
    };
    let value = |name: &str| {
        let header = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        header.and_then(|header| std::str::from_utf8(header.value).ok())
    };
    let Ok(body_bytes) = value("content-length").unwrap_or("0").parse::<usize>() else { return Parsed::Wrong };
    if value("transfer-encoding").is_some() || body_bytes > REQUEST_MAX {
        return Parsed::Wrong;
    }
    if bytes.len() < head_bytes + body_bytes {
        return Parsed::Partial;
    }
    let says = |word: &str| value("connection").is_some_and(|value| value.eq_ignore_ascii_case(word));
    let keeps = if request.version == Some(1) { !says("close") } else { says("keep-alive") };
    let method = request.method.unwrap_or_default().to_owned();
    Parsed::Whole(Request { method, path: request.path.unwrap_or_default().to_owned(), head_bytes, body_bytes, keeps })
}

async fn connection(mut stream: TcpStream, root: &Path, keep_alive: bool, log: Option<&Log>) {
    let mut received = Vec::with_capacity(4096);
    loop {
        let request = match parse(&received) {
            Parsed::Whole(request) => request,
            Parsed::Wrong => {
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
                return;
            }
            Parsed::Partial => {
                received.reserve(4096);
                let (read, buffer) = append(&mut stream, received).await;
                received = buffer;
                if !read {
                    return;
                }
                continue;
            }
        };
        let keeps = keep_alive && request.keeps;
        let reply = answer(&request, &received, root, keeps, log).await;
        received.drain(..request.head_bytes + request.body_bytes);
        if stream.write_all(reply).await.0.is_err() || !keeps {
            return;
        }
    }
}

/// Reads what has arrived behind what is in the buffer; false at the end.
async fn append(stream: &mut TcpStream, buffer: Vec<u8>) -> (bool, Vec<u8>) {
    use compio::buf::{IntoInner, IoBuf};
    let filled = buffer.len();
    let compio::buf::BufResult(read, slice) = stream.read(buffer.slice(filled..)).await;
    (read.is_ok_and(|length| length > 0), slice.into_inner())
}

async fn answer(request: &Request, received: &[u8], root: &Path, keeps: bool, log: Option<&Log>) -> Vec<u8> {
    let (mut status, mut kind) = ("200 OK", "text/html");
    let body = match request.path.as_str() {
        "/dynamic" => page().into_bytes(),
        "/echo" => {
            kind = "application/octet-stream";
            received[request.head_bytes..request.head_bytes + request.body_bytes].to_vec()
        }
        path => {
            let safe = !path.contains("..");
            let file = if safe { compio::fs::read(root.join(path.trim_start_matches('/'))).await.ok() } else { None };
            file.unwrap_or_else(|| {
                status = "404 Not Found";
                Vec::new()
            })
        }
    };
    if let Some(log) = log {
        log.write(&request.method, &request.path, status);
    }
    let connection = if keeps { "" } else { "Connection: close\r\n" };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{connection}\r\n");
    [head.as_bytes(), &body].concat()
}

/// The access log, where there is to be one: a line for each request.
struct Log(std::fs::File);

impl Log {
    fn from_env() -> Option<Log> {
        let path = std::env::var("TARGET_ACCESS_LOG").ok().filter(|path| !path.is_empty())?;
        Some(Log(std::fs::File::options().create(true).append(true).open(path).unwrap()))
    }

    fn write(&self, method: &str, path: &str, status: &str) {
        let _ = (&self.0).write_all(format!("{} {method} {path} {status}\n", time()).as_bytes());
    }
}

fn page() -> String {
    format!("<!DOCTYPE html>\n<title>A page made for this request</title>\n<p>{}</p>\n", time())
}

/// The time in UTC, in the form of RFC 3339 (days to a date: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn time() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, of_day) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}+00:00")
}
