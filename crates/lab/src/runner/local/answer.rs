//! Asking a server once, to see whether it is ready.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use super::CONNECT_TIMEOUT;

/// How long an answer may take, all of it: a server that is not ready is asked again. The first page of a server of Java takes
/// seconds on a busy machine, and questions that nobody waits for any more would queue before the next.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// What is looked for stands in the first bytes of an answer.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// What a server is asked for that is to answer with status 200: the status, which stands in the first line.
const STATUS: &str = " 200 ";

/// Whether a new connection that sends `send` receives something that contains `expect`; if that is a status, in its first line.
pub(super) fn contains(address: &str, send: &str, expect: &str) -> bool {
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
        let seen = match expect {
            STATUS => &answer[..answer.iter().position(|&b| b == b'\n').unwrap_or(answer.len())],
            _ => &answer[..],
        };
        if seen.windows(expect.len()).any(|window| window == expect.as_bytes()) {
            return true;
        }
        if answer.len() > ANSWER_BYTES_MAX {
            return false;
        }
    }
}

/// A question that a thread asks, for those who do not wait for the answer.
#[derive(Debug, Default)]
pub(super) struct Question(Option<Receiver<bool>>);

impl Question {
    /// Whether the answer has come and contains `expect`. False while there is none; one that is wrong is asked for again
    /// at the next call.
    pub(super) fn is_answered(&mut self, address: &str, send: &str, expect: &str) -> bool {
        let answer = self.0.take().unwrap_or_else(|| ask(address, send, expect));
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

/// Asks in a thread, which ends with the answer or its time.
fn ask(address: &str, send: &str, expect: &str) -> Receiver<bool> {
    let [address, send, expect] = [address, send, expect].map(str::to_owned);
    let (tell, answer) = channel();
    std::thread::spawn(move || {
        // Nobody listens any more if the server was started again.
        let _ = tell.send(contains(&address, &send, &expect));
    });
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
        assert!(contains(&answering("HTTP/1.1 200 OK\r\n\r\n"), "GET / HTTP/1.1\r\n\r\n", " 200 "));
        assert!(!contains(&answering("HTTP/1.1 404 Not Found\r\n\r\n"), "GET / HTTP/1.1\r\n\r\n", " 200 "));
        let not_ready = answering("HTTP/1.1 503 Service Unavailable\r\n\r\nback in 200 s\n");
        assert!(!contains(&not_ready, "GET / HTTP/1.1\r\n\r\n", " 200 "));
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
        let mut question = Question::default();
        let mut is_answered = || question.is_answered(&address, "PING\r\n", "+PONG");
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
