//! `memcache` beside a real memcached: random commands to both, and the same replies.
//!
//! `PITOT_MEMCACHED_COMMANDS` is how many commands are sent, `PITOT_MEMCACHED_SEED` the seed of the first session.

mod commands;
mod replies;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use pitot_needs::needs;
use pitot_proto_harness::memcached::Memcached;

use crate::serve::client::{connect, expect_end};
use crate::serve::pairs::Pair;
use crate::serve::server::Server;
use commands::{Command, Generator, Part, STRAY_BYTES_MAX, batches};
use replies::{Known, same};

/// Commands of one connection, after which both caches are emptied.
const SESSION: usize = 200;
/// The reply to the last command of a batch.
const END: &[u8] = b"EN Oend\r\n";

/// A server, with a connection.
struct Side {
    address: SocketAddr,
    stream: TcpStream,
    known: Known,
}

impl Side {
    fn new(address: SocketAddr) -> Side {
        Side { address, stream: connect(address), known: Known::default() }
    }

    /// Sends commands and returns the reply to them; the last line tells if the connection was closed.
    fn ask(&mut self, commands: &[Command]) -> Vec<String> {
        let mut input: Vec<u8> = commands.iter().flat_map(|command| self.rendered(command)).collect();
        // A command whose block is not as long as announced takes what follows for its block.
        input.extend(b"mn\r\n".repeat(2 + STRAY_BYTES_MAX / 4));
        input.extend(b"mg end Oend\r\n");
        // The server may have closed the connection before it has read all.
        let _ = self.stream.write_all(&input);
        let (mut reply, mut piece) = (Vec::new(), vec![0; 64 << 10]);
        let closed = loop {
            match self.stream.read(&mut piece) {
                Ok(0) => break true,
                Ok(n) => reply.extend_from_slice(&piece[..n]),
                Err(e) if e.kind() == ErrorKind::ConnectionReset => break true,
                Err(e) => panic!("{}: {e} after {}", self.address, reply.escape_ascii()),
            }
            if reply.ends_with(END) {
                break false;
            }
        };
        let mut lines = self.known.lines(&reply);
        if closed {
            lines.push("closed".to_owned());
            self.stream = connect(self.address);
        }
        lines
    }

    fn rendered(&self, command: &Command) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in &command.parts {
            match part {
                Part::Text(text) => bytes.extend_from_slice(text),
                Part::Cas { key, earlier } => {
                    bytes.extend_from_slice(self.known.number(key, *earlier).to_string().as_bytes());
                }
            }
        }
        bytes
    }
}

/// A difference: what was sent to us, and the first line in which the replies differ.
struct Difference {
    sent: String,
    theirs: String,
    ours: String,
}

/// Runs a session with empty caches, up to the first difference.
fn difference(theirs: SocketAddr, ours: SocketAddr, session: &[Command]) -> Option<Difference> {
    let (mut theirs, mut ours) = (Side::new(theirs), Side::new(ours));
    for side in [&mut theirs, &mut ours] {
        let mut flush = Generator::new(0).session(1);
        flush[0].parts = vec![Part::Text(b"flush_all\r\n".to_vec())];
        assert_eq!(side.ask(&flush)[0], "OK");
    }
    for batch in batches(session) {
        let sent: Vec<u8> = batch.iter().flat_map(|command| ours.rendered(command)).collect();
        let (a, b) = (theirs.ask(batch), ours.ask(batch));
        let at = (0..a.len().max(b.len())).find(|&at| match (a.get(at), b.get(at)) {
            (Some(a), Some(b)) => !same(a, b),
            _ => true,
        });
        if let Some(at) = at {
            let shown = |lines: &[String]| {
                let line = lines.get(at).map_or("nothing more", String::as_str);
                format!("line {at}: {}", line.chars().take(300).collect::<String>())
            };
            return Some(Difference { sent: escaped(&sent), theirs: shown(&a), ours: shown(&b) });
        }
    }
    None
}

fn escaped(bytes: &[u8]) -> String {
    let lines = bytes.split_inclusive(|&b| b == b'\n');
    lines.map(|line| format!("  {}\n", line[..line.len().min(300)].escape_ascii())).collect()
}

/// Leaves commands out as long as there is still a difference.
fn shrunk(theirs: SocketAddr, ours: SocketAddr, session: &[Command]) -> Vec<Command> {
    let mut session = session.to_vec();
    let mut len = session.len() / 2;
    while len > 0 {
        let mut start = 0;
        while start < session.len() {
            let mut fewer = session.clone();
            fewer.drain(start..(start + len).min(session.len()));
            if difference(theirs, ours, &fewer).is_some() {
                session = fewer;
            } else {
                start += len;
            }
        }
        len /= 2;
    }
    session
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[needs("memcached")]
#[test]
fn random_commands_are_answered_as_by_memcached() {
    // Items cannot be dumped and are not crawled: so answers a memcached with these options. Nor are they moved between
    // its lists, by a thread that holds items for a moment and so decides whether a number is changed in its place.
    let memcached = Memcached::start(&["-X", "-o", "no_lru_crawler,no_lru_maintainer"]);
    let server = Server::start(&Pair::named("loop", "epoll-et"), "memcache", &[]);
    let seed = number("PITOT_MEMCACHED_SEED", 1);
    for seed in seed..seed + number("PITOT_MEMCACHED_COMMANDS", 4000).div_ceil(SESSION as u64) {
        let session = Generator::new(seed << 32).session(SESSION);
        let Some(first) = difference(memcached.address, server.addr, &session) else { continue };
        let session = shrunk(memcached.address, server.addr, &session);
        // memcached does not always answer alike.
        let again = difference(memcached.address, server.addr, &session);
        let how = if again.is_some() { "after" } else { "once, perhaps after" };
        let Difference { sent, theirs, ours } = again.unwrap_or(first);
        let side = Side::new(server.addr);
        let all: Vec<u8> = session.iter().flat_map(|command| side.rendered(command)).collect();
        panic!(
            "PITOT_MEMCACHED_SEED={seed}: {how}\n{}the reply to\n{sent}differs\nmemcached: {theirs}\npitot:     {ours}",
            escaped(&all)
        );
    }
    server.stop();
}

#[test]
fn a_binary_client_is_closed_and_counted_at_once() {
    let server = Server::start(&Pair::named("loop", "epoll-et"), "memcache", &[]);
    // A no-op, whole; and as much as tells what it is.
    for request in [&[&[0x80, 0x0a][..], &[0; 22]].concat()[..], &[0x80]] {
        let mut stream = connect(server.addr);
        stream.write_all(request).expect("the server reads");
        expect_end(&mut stream);
    }
    // Behind a command it is a line like any other.
    let mut stream = connect(server.addr);
    stream.write_all(b"mn\r\n\x80\r\nquit\r\n").expect("the server reads");
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).expect("the end");
    assert_eq!(reply, b"MN\r\nERROR\r\n");
    assert_eq!(server.stop().count("/errors/malformed"), 2);
}
