//! A reader of HTTP replies that shares nothing with the server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::client;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The field lines, without that of the date.
    pub(crate) head: Vec<String>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// The value of a field, if it is there.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head.iter().find_map(|line| {
            let (n, value) = line.split_once(':')?;
            n.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Nothing follows on the connection.
    pub(crate) fn closes(&self) -> bool {
        self.field("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// A connection, for requests in bytes and replies in parts.
pub(crate) struct Http(pub(crate) BufReader<TcpStream>);

impl Http {
    pub(crate) fn connect(addr: SocketAddr) -> Http {
        Http::on(client::connect(addr))
    }

    pub(crate) fn on(stream: TcpStream) -> Http {
        Http(BufReader::with_capacity(4096, stream))
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        self.0.get_ref()
    }

    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.get_mut().write_all(bytes.as_ref()).expect("the server reads");
    }

    /// Writes a GET.
    pub(crate) fn ask(&mut self, path: &str) {
        self.write(get(path));
    }

    /// A GET and its reply.
    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.ask(path);
        self.reply()
    }

    /// The next reply to a request with a method other than HEAD.
    pub(crate) fn reply(&mut self) -> Reply {
        let mut reply = self.reply_to_head();
        let length = reply.field("content-length").map(|length| length.parse().expect("a length"));
        match length {
            _ if matches!(reply.status, 100..200 | 204 | 304) => {}
            Some(length) => {
                reply.body = vec![0; length];
                self.0
                    .read_exact(&mut reply.body)
                    .unwrap_or_else(|e| panic!("in the content of {reply:?}: {e}"));
            }
            None => reply.body = client::read_to_end(&mut self.0),
        }
        reply
    }

    /// The head of the next reply, of which the content, if there is any, is still to be read.
    pub(crate) fn reply_to_head(&mut self) -> Reply {
        let status = self.line();
        let code = status.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let status = code.unwrap_or_else(|| panic!("no status line: {status:?}"));
        let mut head = Vec::new();
        loop {
            let line = self.line();
            if line.is_empty() {
                break;
            }
            if !line.to_ascii_lowercase().starts_with("date:") {
                head.push(line);
            }
        }
        Reply { status, head, body: Vec::new() }
    }

    fn line(&mut self) -> String {
        let mut line = Vec::new();
        self.0
            .read_until(b'\n', &mut line)
            .unwrap_or_else(|e| panic!("after {:?}: {e}", line.escape_ascii()));
        let line = line.strip_suffix(b"\r\n").unwrap_or_else(|| panic!("cut off: {}", line.escape_ascii()));
        String::from_utf8(line.to_vec()).expect("ASCII")
    }
}

/// A GET.
pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")
}

/// A GET that asks for the connection to be closed.
pub(crate) fn get_and_close(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
}
