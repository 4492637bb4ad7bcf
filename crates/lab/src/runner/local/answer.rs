//! Asking a server once, to see whether it is ready.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::CONNECT_TIMEOUT;

/// How long an answer may take, all of it: a server that is not ready is asked again. The first page of a server of Java takes
/// seconds on a busy machine, and questions that nobody waits for any more would queue before the next.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// What is looked for stands in the first bytes of an answer.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// Whether a new connection that sends `send` receives something that contains `expect`.
pub(super) fn contains(address: &str, send: &str, expect: &str) -> bool {
    let is_in = |answer: &[u8]| {
        expect.is_empty() || answer.windows(expect.len()).any(|window| window == expect.as_bytes())
    };
    ask(address, send, |answer| is_in(answer).then_some(true))
}

/// Whether a request of HTTP for `path` is answered with status 200, which stands in the first line.
pub(super) fn is_ok(address: &str, path: &str) -> bool {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    ask(address, &request, |answer| {
        let line = &answer[..answer.iter().position(|&byte| byte == b'\n')?];
        Some(line.starts_with(b"HTTP/1.") && line.split(u8::is_ascii_whitespace).nth(1) == Some(&b"200"[..]))
    })
}

/// Opens a connection, sends `send`, and shows `judge` all that has come until it decides.
fn ask(address: &str, send: &str, judge: impl Fn(&[u8]) -> Option<bool>) -> bool {
    let Some(mut stream) =
        address.parse().ok().and_then(|a| TcpStream::connect_timeout(&a, CONNECT_TIMEOUT).ok())
    else {
        return false;
    };
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
}
