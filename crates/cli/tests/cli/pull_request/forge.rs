//! What the script asks of GitHub and GitLab, in memory.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) line: String,
    /// The header with the token.
    pub(super) token: String,
    body: String,
}

/// What is kept.
#[derive(Debug, Default)]
struct State {
    comments: Vec<Value>,
    asked: Vec<Asked>,
    is_read_only: bool,
}

/// A server with the comments of one pull request.
pub(super) struct Forge {
    pub(super) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Forge {
    /// One that has these comments of others.
    pub(super) fn with(comments: Vec<Value>) -> Forge {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State { comments, ..State::default() }));
        let shared = Arc::clone(&state);
        // It ends with the process.
        thread::spawn(move || listener.incoming().for_each(|stream| answer(stream.unwrap(), &shared)));
        Forge { address, state }
    }

    /// Refuses to write from now on.
    pub(super) fn refuse(&self) {
        self.state.lock().unwrap().is_read_only = true;
    }

    pub(super) fn comments(&self) -> Vec<Value> {
        self.state.lock().unwrap().comments.clone()
    }

    /// The requests since this was asked for the last time.
    pub(super) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.state.lock().unwrap().asked)
    }
}

/// A comment.
pub(super) fn comment(id: u64, author: &Value, body: &str) -> Value {
    json!({"id": id, "user": author, "author": author, "body": body})
}

/// Who owns the token.
pub(super) fn owner() -> Value {
    json!({"id": 7, "type": "Bot"})
}

/// Somebody else.
pub(super) fn somebody() -> Value {
    json!({"id": 8, "type": "User"})
}

fn answer(stream: TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream);
    let asked = read(&mut reader);
    let mut state = state.lock().unwrap();
    let (status, reply) = state.reply(&asked);
    state.asked.push(asked);
    drop(state);
    let (reply, mut stream) = (reply.to_string(), reader.into_inner());
    let length = reply.len();
    write!(stream, "HTTP/1.1 {status} x\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{reply}")
        .unwrap();
}

fn read(reader: &mut BufReader<TcpStream>) -> Asked {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
    }
    let value = |names: &[&str]| {
        let mut fields = head.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(name, _)| names.contains(&name.to_lowercase().as_str())).map(|(_, value)| value)
    };
    let length = value(&["content-length"]).map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Asked {
        line: head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned(),
        token: value(&["authorization", "private-token"]).unwrap_or_default().to_owned(),
        body: String::from_utf8(body).unwrap(),
    }
}

impl State {
    fn reply(&mut self, asked: &Asked) -> (u16, Value) {
        let (method, path) = asked.line.split_once(' ').unwrap();
        if method != "GET" && self.is_read_only {
            return (403, json!({"message": "Resource not accessible by integration"}));
        }
        let text =
            || serde_json::from_str::<Value>(&asked.body).unwrap()["body"].as_str().unwrap().to_owned();
        match (method, path.rsplit('/').next().unwrap()) {
            ("GET", "user") => (200, owner()),
            ("GET", list) => (200, json!(self.page(list))),
            ("POST", _) => {
                self.comments.push(comment(1000 + self.comments.len() as u64, &owner(), &text()));
                (201, json!({}))
            }
            (_, id) => {
                let id: u64 = id.parse().unwrap();
                let changed = self.comments.iter_mut().find(|comment| comment["id"] == id).unwrap();
                changed["body"] = text().into();
                (200, json!({}))
            }
        }
    }

    /// A page of a list.
    fn page(&self, list: &str) -> Vec<Value> {
        let (_, page) = list.split_once("?per_page=100&page=").unwrap();
        let before = (page.parse::<usize>().unwrap() - 1) * 100;
        self.comments.iter().skip(before).take(100).cloned().collect()
    }
}
