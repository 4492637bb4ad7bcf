use std::collections::HashMap;

use super::*;
use crate::exchange::{Draw, Fault, Opening, Progress, Tag, Verdict};
use crate::outgoing::Outgoing;
use crate::request::RequestSpec;
use crate::stream::Stream;

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
        (&one, "-WRONGTYPE\r\n", refused("wrongtype")),
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

fn built(url: &str, path: &str, commands: &[&str]) -> Result<Box<dyn ClientProtocol>, String> {
    let spec = |body: &str| RequestSpec { path: path.into(), body: body.into(), ..RequestSpec::default() };
    let requests =
        if commands.is_empty() { vec![spec("")] } else { commands.iter().map(|body| spec(body)).collect() };
    build(&Url::parse(url).unwrap(), &ClientOptions { requests, in_turn: true, ..ClientOptions::default() })
}

/// What is sent before the first request, and whether a reply to it is awaited.
fn greeting(client: &dyn ClientProtocol) -> (String, Opening) {
    let mut out = Outgoing::new();
    let opening = client.connect().open(&mut out);
    (String::from_utf8(out.payload().as_slice().to_vec()).unwrap().replace("\r\n", " "), opening)
}

#[test]
fn a_connection_logs_in_and_selects_its_database_before_the_first_request() {
    for (url, path, wanted) in [
        ("redis://h", "/", ""),
        ("redis://h", "/?keys=10", ""),
        ("redis://h/2", "/2", "*2 $6 SELECT $1 2 "),
        ("redis://:p%40ss@h", "", "*2 $4 AUTH $4 p@ss "),
        ("redis://ann:s:p@h", "/15?keys=10", "*3 $4 AUTH $3 ann $3 s:p *2 $6 SELECT $2 15 "),
    ] {
        for commands in [&[][..], &["PING"]] {
            let path = if commands.is_empty() { path } else { path.split('?').next().unwrap() };
            let (sent, opening) = greeting(&*built(url, path, commands).unwrap());
            assert_eq!(sent, wanted);
            let awaited = if wanted.is_empty() { Opening::Ready } else { Opening::Greeting };
            assert_eq!(opening, awaited, "{url}");
        }
    }
    for commands in [&[][..], &["PING"]] {
        let client = built("redis://ann:p@h", "/1", commands).unwrap();
        let (mut conn, mut out) = (client.connect(), Outgoing::new());
        conn.open(&mut out);
        let half = conn.receive(None, b"+OK\r\n+O", &mut out).unwrap();
        assert_eq!((half.consumed, half.progress), (5, Progress::More));
        assert_eq!(conn.receive(None, b"+OK\r\n", &mut out).unwrap().progress, Progress::Ready);
        assert_eq!(conn.receive(None, b"", &mut out).unwrap().progress, Progress::More);
        assert_eq!(conn.receive(None, b"+OK\r\n", &mut out), Err(Fault::Unasked));
        conn.open(&mut out);
        let refused = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n-NOAUTH no\r\n";
        assert_eq!(conn.receive(None, refused, &mut out), Err(Fault::Named("wrongpass")));
        let said = client.server_said().unwrap();
        assert_eq!(said, "WRONGPASS invalid username-password pair or user is disabled.");
        conn.open(&mut out);
        assert_eq!(conn.receive(None, b"HTTP/1.1 400\r\n", &mut out), Err(Fault::Malformed));
    }
}

#[test]
fn a_login_that_is_none_is_refused_without_its_password() {
    for (url, path, word) in [
        ("redis://s3cret@h", "/", "redis://:PASSWORD@host/"),
        ("redis://ann:@h", "/", "a user but no password"),
        ("redis://ann:s3cret%zz@h", "/", "hexadecimal"),
        ("redis://ann:s3cret@h", "/a", "not a database number"),
        ("redis://ann:s3cret@h", "/1234567890", "not a database number"),
        ("redis://ann:s3cret@h", "/1?what=1", "choose from keys"),
    ] {
        let error = built(url, path, &[]).err().unwrap();
        assert!(error.contains(word) && !error.contains("s3cret") && !error.contains('\n'), "{error}");
    }
}

#[test]
fn the_keys_are_written_behind_the_login() {
    let client = built("redis://ann:p@h", "/3?keys=2&value=1", &[]).unwrap();
    let (mut fill, mut out) = (client.preload().unwrap(), Vec::new());
    assert_eq!(fill.step(b"", &mut out), Ok(false));
    assert!(out.starts_with(b"*3\r\n$4\r\nAUTH") && out.ends_with(b"SELECT\r\n$1\r\n3\r\n"));
    out.clear();
    assert_eq!((fill.step(b"+OK\r\n", &mut out), out.len()), (Ok(false), 0));
    assert_eq!(fill.step(b"+OK\r\n", &mut out), Ok(false));
    assert!(out.starts_with(b"*3\r\n$3\r\nSET"));
    assert_eq!(fill.step(b"+OK\r\n+OK\r\n", &mut Vec::new()), Ok(true));
    let mut refused = client.preload().unwrap();
    assert_eq!(refused.step(b"", &mut out), Ok(false));
    let error = refused.step(b"-WRONGPASS invalid\r\n", &mut out).unwrap_err();
    assert_eq!(error, "the server refused the login: `-WRONGPASS invalid`");
}

#[test]
fn commands_are_sent_as_they_are_written_with_their_numbers() {
    let client = built("redis://h", "/", &["lpush 'a b' \"c \\\"d\\n\" \"\" {seq:1}", "PING"]).unwrap();
    let (mut conn, mut out) = (client.connect(), Outgoing::new());
    assert_eq!(
        (conn.request(Draw { random: 1, index: 8 }, &mut out), client.request_bytes_max()),
        (Tag(0), None)
    );
    let sent = String::from_utf8(out.payload().as_slice().to_vec()).unwrap();
    assert_eq!(sent, "*5\r\n$5\r\nlpush\r\n$3\r\na b\r\n$5\r\nc \"d\n\r\n$0\r\n\r\n$1\r\n9\r\n");
    out.clear();
    assert_eq!(conn.request(Draw { random: 1, index: 9 }, &mut out), Tag(1));
    assert_eq!(out.payload().as_slice(), b"*1\r\n$4\r\nPING\r\n");
    assert_eq!(built("redis://h", "/", &["PING"]).unwrap().request_bytes_max(), Some(14));
    for (command, word) in [
        ("auth s3cret", "write the user and the password in the URL"),
        ("SUBSCRIBE a", "reply does not end"),
        ("client reply off", "must have replies"),
        ("GET 'a", "has no closing '"),
        ("GET {rand:2..1}", "{rand:2..1}"),
        (" ", "is empty"),
    ] {
        let error = built("redis://h", "/", &[command]).err().unwrap();
        assert!(error.contains(word) && !error.contains("s3cret"), "{error}");
    }
    assert!(built("redis://h", "/?keys=10", &["PING"]).err().unwrap().contains("remove one of them"));
}

#[test]
fn a_reply_of_any_kind_is_taken_wherever_it_is_split() {
    let client = built("redis://h", "/", &["EVAL x"]).unwrap();
    let refused = |name| Ok(Some(Verdict::Refused(name)));
    let right = Ok(Some(Verdict::Right));
    for (text, wanted, nil) in [
        ("+QUEUED\r\n", right, 0),
        (":-12\r\n", right, 0),
        ("$5\r\n+\r\n-x\r\n", right, 0),
        ("$0\r\n\r\n", right, 0),
        ("$-1\r\n", right, 1),
        ("*-1\r\n", right, 1),
        ("*0\r\n", right, 0),
        ("*3\r\n:1\r\n*2\r\n$1\r\na\r\n*0\r\n$-1\r\n", right, 0),
        ("-WRONGTYPE Operation\r\n", refused("wrongtype"), 0),
        ("*2\r\n+OK\r\n-ERR value is not an integer\r\n", refused("error"), 0),
        (":x\r\n", Err(Fault::Malformed), 0),
        ("%1\r\n", Err(Fault::Malformed), 0),
        ("$1\r\nabc\r\n", Err(Fault::Malformed), 0),
        ("*2\r\n*18446744073709551615\r\n", Err(Fault::TooLarge), 0),
    ] {
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        for pieces in [&[text.as_bytes()][..], &pieces] {
            let mut conn = client.connect();
            conn.open(&mut Outgoing::new());
            let tag = conn.request(Draw { random: 0, index: 0 }, &mut Outgoing::new());
            assert_eq!(judge(&mut *conn, tag, pieces), wanted, "{text:?}");
            if wanted.is_ok() {
                assert_eq!((judge(&mut *conn, tag, pieces), conn.counts()), (wanted, vec![("nil", 2 * nil)]));
            }
        }
    }
    assert_eq!(client.server_said().as_deref(), Some("WRONGTYPE Operation"));
}
