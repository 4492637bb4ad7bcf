//! The client's side of the echo protocol over TCP (RFC 862): the server sends back every byte that it receives.

use std::sync::Arc;

use super::choice::RequestChoice;
use super::entry::ClientEntry;
use super::exchange::{Draw, Fault, Opening, Received, Tag};
use super::expected::SizedReply;
use super::outgoing::Outgoing;
use super::protocol::{ClientConn, ClientOptions, ClientProtocol};
use super::url::Url;
use pitot_proto::pattern_at;

/// The size of a request whose path names no number, in bytes.
const BYTES_DEFAULT: u64 = 64;
/// Each request is kept in memory.
const BYTES_MAX: u64 = 16 << 20;

pub(super) const ENTRY: ClientEntry = ClientEntry {
    scheme: "echo",
    summary: "sends N bytes and checks that the same bytes come back (RFC 862)",
    doc: "The path is the size of a request in bytes (default 64). A request completes when as many bytes have come \
          back, and is right if they are the bytes sent. Every byte is compared, with or without --verify.",
    port: Some(7),
    tls: None,
    requests_per_connection_max: None,
    url_options: &[],
    has_statuses: false,
    has_methods: false,
    logs_in: false,
    has_commands: false,
    takes_body_files: false,
    has_sessions: false,
    example: "echo://127.0.0.1:7007/64",
    build,
};

struct Echo {
    requests: Arc<Requests>,
}

struct Requests {
    bytes: Vec<&'static [u8]>,
    choice: RequestChoice,
}

fn build(_: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    let mut bytes = Vec::new();
    for spec in &options.requests {
        let len = match spec.path.trim_start_matches('/') {
            "" => BYTES_DEFAULT,
            digits => digits
                .parse()
                .ok()
                .filter(|n| (1..=BYTES_MAX).contains(n))
                .ok_or_else(|| format!("`{digits}` is not a number of bytes from 1 to {BYTES_MAX}"))?,
        };
        bytes.push(&*(0..len).map(pattern_at).collect::<Vec<u8>>().leak());
    }
    let choice = RequestChoice::of(options)?;
    Ok(Box::new(Echo { requests: Arc::new(Requests { bytes, choice }) }))
}

impl ClientProtocol for Echo {
    fn connect(&self) -> Box<dyn ClientConn> {
        Box::new(EchoConn { requests: Arc::clone(&self.requests), reply: SizedReply::START })
    }

    fn request_bytes_max(&self) -> Option<usize> {
        self.requests.bytes.iter().map(|bytes| bytes.len()).max()
    }
}

struct EchoConn {
    requests: Arc<Requests>,
    /// The oldest request, as far as it has come back.
    reply: SizedReply,
}

impl ClientConn for EchoConn {
    fn open(&mut self, _: &mut Outgoing) -> Opening {
        self.reply = SizedReply::START;
        Opening::Ready
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        let tag = self.requests.choice.next(draw);
        out.fixed(self.requests.bytes[tag.0 as usize]);
        tag
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], _: &mut Outgoing) -> Result<Received, Fault> {
        let tag = tag.ok_or(Fault::Unasked)?;
        let len = self.requests.bytes[tag.0 as usize].len() as u64;
        Ok(self.reply.receive(len, input, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Progress, Verdict};
    use crate::request::RequestSpec;

    fn protocol(paths: &[&str]) -> Result<Box<dyn ClientProtocol>, String> {
        let spec = |path: &&str| RequestSpec { path: (*path).into(), ..RequestSpec::default() };
        let requests = paths.iter().map(spec).collect();
        let options = ClientOptions { requests, in_turn: true, ..ClientOptions::default() };
        build(&Url::parse("echo://h").unwrap(), &options)
    }

    fn request(conn: &mut dyn ClientConn, index: u64) -> (Tag, Vec<u8>) {
        let mut out = Outgoing::new();
        let tag = conn.request(Draw { random: 0, index }, &mut out);
        (tag, out.payload().as_slice().to_vec())
    }

    /// The verdicts on `input`, as the replies to requests that are all in flight.
    fn judge(conn: &mut dyn ClientConn, tags: &[Tag], pieces: &[&[u8]]) -> Result<Vec<Verdict>, Fault> {
        let mut verdicts = Vec::new();
        for mut piece in pieces.iter().copied() {
            while !piece.is_empty() {
                let tag = tags.get(verdicts.len()).copied();
                let received = conn.receive(tag, piece, &mut Outgoing::new())?;
                piece = &piece[received.consumed..];
                if let Progress::Reply(reply) = received.progress {
                    assert!(reply.persists);
                    verdicts.push(reply.verdict);
                }
            }
        }
        Ok(verdicts)
    }

    #[test]
    fn what_is_sent_is_right_when_it_comes_back_wherever_it_is_split() {
        let protocol = protocol(&["/10", "/3"]).unwrap();
        assert_eq!(protocol.request_bytes_max(), Some(10));
        let mut conn = protocol.connect();
        conn.open(&mut Outgoing::new());
        let (first, mut input) = request(&mut *conn, 0);
        let (second, more) = request(&mut *conn, 1);
        input.extend(more);
        assert_eq!(input.len(), 13);
        for at in 0..=input.len() {
            let verdicts = judge(&mut *conn, &[first, second], &[&input[..at], &input[at..]]);
            assert_eq!(verdicts, Ok(vec![Verdict::Right; 2]), "{at}");
        }
    }

    #[test]
    fn a_wrong_byte_spoils_its_own_reply_only_and_more_than_was_sent_is_a_fault() {
        let mut conn = protocol(&["/8"]).unwrap().connect();
        let (tag, sent) = request(&mut *conn, 0);
        for at in 0..sent.len() {
            let mut input = [&sent[..], &sent[..]].concat();
            input[at] ^= 1;
            assert_eq!(judge(&mut *conn, &[tag, tag], &[&input]), Ok(vec![Verdict::Bytes, Verdict::Right]));
        }
        assert_eq!(judge(&mut *conn, &[tag], &[&sent, b"x"]), Err(Fault::Unasked));
    }

    #[test]
    fn a_reply_that_a_lost_connection_cut_is_forgotten_with_it() {
        let mut conn = protocol(&["/8"]).unwrap().connect();
        let (tag, sent) = request(&mut *conn, 0);
        assert_eq!(judge(&mut *conn, &[tag], &[b"?", &sent[1..5]]), Ok(vec![]));
        assert_eq!(conn.end_of_input(Some(tag)), None);
        conn.open(&mut Outgoing::new());
        assert_eq!(judge(&mut *conn, &[tag], &[&sent]), Ok(vec![Verdict::Right]));
    }

    #[test]
    fn a_path_is_a_number_of_bytes() {
        for path in ["", "/"] {
            let (_, sent) = request(&mut *protocol(&[path]).unwrap().connect(), 0);
            assert_eq!(sent.len(), 64);
        }
        for path in ["/0", "/x", "/1/2", "/-1", "/16777217"] {
            assert!(protocol(&[path]).is_err_and(|e| e.contains("number of bytes")), "{path}");
        }
    }
}
