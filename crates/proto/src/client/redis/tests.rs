use std::collections::HashMap;

use super::*;
use crate::client::exchange::{Draw, Fault, Progress, Tag, Verdict};
use crate::client::outgoing::Outgoing;
use crate::client::protocol::RequestSpec;
use crate::client::stream::Stream;

fn protocol(query: &str) -> Box<dyn ClientProtocol> {
    let request = RequestSpec { path: query.into(), ..RequestSpec::default() };
    let options = ClientOptions { requests: vec![request], verify: true, ..ClientOptions::default() };
    build(&Url::parse("redis://h").unwrap(), &options).unwrap()
}

/// A server of this protocol, as far as the client uses it.
#[derive(Default)]
struct Model {
    stored: HashMap<Vec<u8>, Vec<u8>>,
}

impl Model {
    /// Answers whole commands.
    fn answer(&mut self, mut input: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        while !input.is_empty() {
            let count = number(&mut input, b'*');
            let words: Vec<Vec<u8>> = (0..count)
                .map(|_| {
                    let len = number(&mut input, b'$');
                    let (word, rest) = input.split_at(len);
                    input = rest.strip_prefix(b"\r\n").expect("a line end");
                    word.to_vec()
                })
                .collect();
            match &*words[0] {
                b"SET" => {
                    assert!(words.len() == 3 || words[3..] == [b"EX".to_vec(), b"60".to_vec()], "{words:?}");
                    self.stored.insert(words[1].clone(), words[2].clone());
                    out.extend_from_slice(b"+OK\r\n");
                }
                b"GET" => self.value(&words[1], &mut out),
                b"MGET" => {
                    out.extend_from_slice(format!("*{}\r\n", count - 1).as_bytes());
                    words[1..].iter().for_each(|key| self.value(key, &mut out));
                }
                other => panic!("{}", other.escape_ascii()),
            }
        }
        out
    }

    fn value(&self, key: &[u8], out: &mut Vec<u8>) {
        match self.stored.get(key) {
            None => out.extend_from_slice(b"$-1\r\n"),
            Some(value) => {
                out.extend_from_slice(format!("${}\r\n", value.len()).as_bytes());
                out.extend_from_slice(value);
                out.extend_from_slice(b"\r\n");
            }
        }
    }
}

fn number(input: &mut &[u8], kind: u8) -> usize {
    let end = input.iter().position(|&b| b == b'\n').expect("a line");
    let line =
        input[..end].strip_suffix(b"\r").and_then(|line| line.strip_prefix(&[kind])).expect("a number");
    *input = &input[end + 1..];
    std::str::from_utf8(line).unwrap().parse().unwrap()
}

/// What `input` in `pieces` is judged to be, as the reply to a request.
fn judge(conn: &mut dyn ClientConn, tag: Tag, pieces: &[&[u8]]) -> Result<Option<Verdict>, Fault> {
    let (mut out, mut tail) = (Outgoing::new(), Vec::new());
    for piece in pieces {
        tail.extend_from_slice(piece);
        let received = conn.receive(Some(tag), &tail, &mut out)?;
        tail.drain(..received.consumed);
        if let Progress::Reply(reply) = received.progress {
            assert!(tail.is_empty() && reply.persists);
            return Ok(Some(reply.verdict));
        }
    }
    Ok(None)
}

#[test]
fn every_key_of_a_filled_server_is_hit_and_every_byte_is_right() {
    for (query, filled) in [
        ("/?keys=500", true),
        ("/?keys=500&mix=etc&expire=60", true),
        ("/?keys=100&value=0-30000&multiget=7&get=0.5", true),
        ("/?keys=1M&get=1&multiget=3&fill=no", false),
    ] {
        let client = protocol(query);
        let mut model = Model::default();
        if let Some(mut preload) = client.preload() {
            let (mut input, mut out) = (Vec::new(), Vec::new());
            while !preload.step(&input, &mut out).unwrap() {
                input = model.answer(&out);
                out.clear();
            }
        }
        let mut conn = client.connect();
        let mut random = Stream::new(1);
        let mut out = Outgoing::new();
        conn.open(&mut out);
        for index in 0..400 {
            out.clear();
            let tag = conn.request(Draw { random: random.next(), index }, &mut out);
            let reply = model.answer(out.payload().as_slice());
            let cut = random.below(reply.len() as u64) as usize;
            let verdict = judge(&mut *conn, tag, &[&reply[..cut], &reply[cut..]]);
            assert_eq!(verdict, Ok(Some(Verdict::Right)), "{}", reply.escape_ascii());
        }
        let counts = conn.counts();
        if filled {
            assert!(counts[0].1 > 100 && counts[1].1 == 0 && counts[2].1 > 0, "{query}: {counts:?}");
        } else {
            assert_eq!(counts, [("hits", 0), ("misses", 1200), ("sets", 0)]);
        }
    }
}

#[test]
fn wrong_replies_are_told_apart() {
    let one = protocol("/?keys=10&value=5&get=1");
    let two = protocol("/?keys=10&value=5&get=1&multiget=2");
    let set = protocol("/?keys=10&value=5&get=0");
    let mut out = Outgoing::new();
    let refused = |name| Ok(Some(Verdict::Refused(name)));
    for (client, text, wanted) in [
        (&one, "$5\r\nno!!!\r\n", Ok(Some(Verdict::Bytes))),
        (&one, "$4\r\nabcd\r\n", Ok(Some(Verdict::Length))),
        (&one, "$-1\r\n", Ok(Some(Verdict::Right))),
        (&one, "-OOM command not allowed\r\n", refused("oom")),
        (&one, "-WRONGTYPE\r\n", refused("error")),
        (&one, "$x\r\n", Err(Fault::Malformed)),
        (&one, "$5\r\n12345xx", Err(Fault::Malformed)),
        (&one, "$18446744073709551615\r\nabc", Ok(None)),
        (&one, "+OK\r\n", Err(Fault::Malformed)),
        (&one, "*1\r\n", Err(Fault::Malformed)),
        (&one, "\r\n", Err(Fault::Malformed)),
        (&one, "$-1\n", Err(Fault::Malformed)),
        (&two, "*2\r\n$-1\r\n$-1\r\n", Ok(Some(Verdict::Right))),
        (&two, "*2\r\n$-1\r\n$4\r\nabcd\r\n", Ok(Some(Verdict::Length))),
        (&two, "*2\r\n$-1\r\n-ERR\r\n", Err(Fault::Malformed)),
        (&two, "*3\r\n", Err(Fault::Malformed)),
        (&two, "$-1\r\n", Err(Fault::Malformed)),
        (&set, "+OK\r\n", Ok(Some(Verdict::Right))),
        (&set, "-NOAUTH Authentication required.\r\n", refused("noauth")),
        (&set, "$-1\r\n", Err(Fault::Malformed)),
    ] {
        let mut conn = client.connect();
        let tag = conn.request(Draw { random: 0, index: 0 }, &mut out);
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(judge(&mut *conn, tag, &[text.as_bytes()]), wanted, "{text:?}");
        conn.open(&mut out);
        assert_eq!(judge(&mut *conn, tag, &pieces), wanted, "{text:?}, byte by byte");
        assert_eq!(conn.receive(None, b"+OK\r\n", &mut out), Err(Fault::Unasked));
    }
}

#[test]
fn a_server_that_will_not_be_filled_is_told_in_its_own_words() {
    let client = protocol("/?keys=10");
    let mut fill = client.preload().unwrap();
    let mut out = Vec::new();
    assert_eq!(fill.step(b"", &mut out), Ok(false));
    assert_eq!(fill.step(b"+OK\r\n+OK\r\n-OOM com", &mut out), Ok(false));
    assert!(fill.step(b"mand not allowed\r\n", &mut out).unwrap_err().contains("OOM command not allowed"));
}
