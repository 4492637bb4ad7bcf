//! Sends one request to a server, to see whether it is ready.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use crate::runner::executor::Question;

/// Timeout of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(80);
/// Timeout of a whole reply, after which the request is repeated. It is long, since the first page of a Java server
/// takes seconds on a busy machine, and abandoned requests would queue before the next.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// The expected text is in the first bytes of a reply.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

fn connect(address: &str) -> Option<TcpStream> {
    TcpStream::connect_timeout(&address.parse().ok()?, CONNECT_TIMEOUT).ok()
}

/// Whether a new connection gets the expected reply.
fn is_right(address: &str, question: &Question) -> bool {
    match question {
        Question::Connection => connect(address).is_some(),
        Question::Text { send, expect } => contains(address, send, expect),
        Question::Page(path) => is_ok(address, path),
    }
}

/// Whether a new connection that sends `send` receives a reply that contains `expect`.
fn contains(address: &str, send: &str, expect: &str) -> bool {
    let is_in = |answer: &[u8]| {
        expect.is_empty() || answer.windows(expect.len()).any(|window| window == expect.as_bytes())
    };
    ask(address, send, |answer| is_in(answer).then_some(true))
}

/// Whether an HTTP request for `path` gets status 200.
fn is_ok(address: &str, path: &str) -> bool {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    ask(address, &request, |answer| {
        let line = &answer[..answer.iter().position(|&byte| byte == b'\n')?];
        Some(line.starts_with(b"HTTP/1.") && line.split(u8::is_ascii_whitespace).nth(1) == Some(&b"200"[..]))
    })
}

/// Opens a connection, sends `send`, and passes all received bytes to `judge` until it decides.
fn ask(address: &str, send: &str, judge: impl Fn(&[u8]) -> Option<bool>) -> bool {
    let Some(mut stream) = connect(address) else { return false };
    let deadline = Instant::now() + ANSWER_TIMEOUT;
    if stream.write_all(send.as_bytes()).is_err() {
        return false;
    }
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return false;
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return false,
            Ok(n) => answer.extend_from_slice(&buffer[..n]),
        }
        if let Some(judged) = judge(&answer) {
            return judged;
        }
        if answer.len() > ANSWER_BYTES_MAX {
            return false;
        }
    }
}

/// A request in a thread, for callers that must not block.
#[derive(Debug, Default)]
pub(super) struct Pending(Option<Receiver<bool>>);

impl Pending {
    /// Whether the expected reply has arrived. After a wrong reply, the next call sends another request.
    pub(super) fn has_answered(&mut self, address: &str, question: &Question) -> bool {
        if *question == Question::Connection {
            return is_right(address, question);
        }
        let answer = self.0.take().unwrap_or_else(|| in_a_thread(address, question));
        match answer.try_recv() {
            Ok(is_right) => is_right,
            Err(TryRecvError::Empty) => {
                self.0 = Some(answer);
                false
            }
            Err(TryRecvError::Disconnected) => false,
        }
    }
}

/// Starts a request in a thread, which ends with the reply or its timeout. Its result is dropped if the server is restarted.
fn in_a_thread(address: &str, question: &Question) -> Receiver<bool> {
    let (tell, answer) = channel();
    let (address, question) = (address.to_owned(), question.clone());
    std::thread::spawn(move || tell.send(is_right(&address, &question)));
    answer
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A server that answers one connection with this, whatever it is sent.
    fn answering(text: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            // The other side ends first, so that it reads everything.
            let _ = stream.read(&mut [0; 64]);
        });
        address
    }

    #[test]
    fn a_right_answer_or_banner_is_told_from_an_open_port() {
        assert!(is_ok(&answering("HTTP/1.1 200 OK\r\n\r\n"), "/"));
        // The reason may be left out (RFC 9112, section 4).
        assert!(is_ok(&answering("HTTP/1.1 200\r\n\r\n"), "/"));
        assert!(!is_ok(&answering("HTTP/1.1 404 Not Found\r\n\r\n"), "/"));
        assert!(!is_ok(&answering("HTTP/1.1 503 Service Unavailable\r\n\r\nback in 200 s\n"), "/"));
        assert!(!is_ok(&answering("SSH-2.0 200 OK\r\n"), "/"));
        assert!(contains(&answering("220 mail ESMTP\r\n"), "", "220 "));
        assert!(!contains("127.0.0.1:1", "", "220 "));
        // A port that only accepts.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(!contains(&listener.local_addr().unwrap().to_string(), "PING\r\n", "+PONG"));
    }

    #[test]
    fn an_answer_that_comes_late_is_there_later_and_nobody_waits_for_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mut pending = Pending::default();
        let question = Question::Text { send: "PING\r\n".into(), expect: "+PONG".into() };
        let mut is_answered = || pending.has_answered(&address, &question);
        // Nobody takes the connection yet, so that no answer can have come.
        assert!(!is_answered());
        let (mut stream, _) = listener.accept().unwrap();
        assert!(!is_answered());
        stream.write_all(b"+PONG\r\n").unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_answered() {
            assert!(Instant::now() < deadline, "the answer never came");
            std::thread::yield_now();
        }
    }
}
