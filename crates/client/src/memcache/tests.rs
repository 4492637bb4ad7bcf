use super::*;
use crate::exchange::{Draw, Fault, Progress, Tag, Verdict};
use crate::outgoing::Outgoing;
use crate::protocol::{ClientConn, ClientOptions, ClientProtocol};
use crate::request::RequestSpec;
use crate::stream::Stream;
use crate::url::Url;
use pitot_proto::memcache::{Memcache as Server, MemcacheOptions};
use pitot_proto::{Action, Connection, ConnectionLimits, Protocol, Worker};

fn protocol(query: &str) -> Box<dyn ClientProtocol> {
    let request = RequestSpec { path: query.into(), ..RequestSpec::default() };
    let options = ClientOptions { requests: vec![request], verify: true, ..ClientOptions::default() };
    build(&Url::parse("memcache://h").unwrap(), &options).unwrap()
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

/// A connection to a server in memory.
struct Pump {
    worker: Worker,
    connection: Connection,
    sent: Vec<u8>,
}

impl Pump {
    fn new(server: &Server) -> Pump {
        let mut worker = Worker::new(&ConnectionLimits::default());
        worker.unix_s = 1_000_000_000;
        let connection = Connection::new(server as &dyn Protocol, &mut worker, None);
        Pump { worker, connection, sent: Vec::new() }
    }

    fn feed(&mut self, input: &[u8]) {
        self.connection.received(&mut self.worker, input);
        while let Action::Send(out) = self.connection.poll(&mut self.worker) {
            let before = self.sent.len();
            out.gather().slices().iter().for_each(|slice| self.sent.extend_from_slice(slice));
            let n = (self.sent.len() - before) as u64;
            self.connection.sent(&mut self.worker, n);
        }
    }
}

/// Fills the server, then asks it for everything.
fn converse(query: &str, requests: u64) -> Vec<(&'static str, u64)> {
    let client = protocol(query);
    let server =
        Server::new(&MemcacheOptions { memory_bytes: 256 << 20, ..MemcacheOptions::default() }).unwrap();
    let mut pump = Pump::new(&server);
    if let Some(mut preload) = client.preload() {
        let (mut input, mut out) = (Vec::new(), Vec::new());
        while !preload.step(&input, &mut out).unwrap() {
            pump.feed(&out);
            input = std::mem::take(&mut pump.sent);
            out.clear();
        }
    }
    let mut conn = client.connect();
    let mut random = Stream::new(1);
    let mut out = Outgoing::new();
    conn.open(&mut out);
    for index in 0..requests {
        out.clear();
        let tag = conn.request(Draw { random: random.next(), index }, &mut out);
        pump.feed(out.payload().as_slice());
        let reply = std::mem::take(&mut pump.sent);
        let cut = random.below(reply.len() as u64) as usize;
        let verdict = judge(&mut *conn, tag, &[&reply[..cut], &reply[cut..]]);
        assert_eq!(verdict, Ok(Some(Verdict::Right)), "{}", String::from_utf8_lossy(&reply));
    }
    conn.counts()
}

#[test]
fn every_key_of_a_filled_server_is_hit_and_every_byte_is_right() {
    for query in [
        "/?keys=500",
        "/?keys=500&mix=etc",
        "/?keys=100&value=0-30000&multiget=7&get=0.5",
        "/?keys=1000&key=1-250&value=0&popularity=zipf",
    ] {
        let counts = converse(query, 400);
        assert_eq!(counts[1], ("misses", 0), "{query}");
        assert!(counts[0].1 > 100 && counts[2].1 > 0, "{query}: {counts:?}");
    }
}

#[test]
fn an_empty_server_is_missed_and_that_is_counted() {
    let counts = converse("/?keys=1M&fill=no&get=1&multiget=3", 50);
    assert_eq!(counts, [("hits", 0), ("misses", 150), ("sets", 0)]);
}

#[test]
fn wrong_replies_are_told_apart() {
    let client = protocol("/?keys=10&value=5&get=1");
    let mut conn = client.connect();
    let mut out = Outgoing::new();
    let tag = conn.request(Draw { random: 0, index: 0 }, &mut out);
    let request = String::from_utf8(out.payload().as_slice().to_vec()).unwrap();
    let key = request.trim_end().strip_prefix("get ").unwrap();
    let other = key.replacen(|c: char| c.is_ascii_digit(), "x", 1);
    let shown = |text: &str| -> Vec<u8> { text.replace('@', key).replace('#', &other).into_bytes() };
    let cases: [(&str, Result<Option<Verdict>, Fault>); 10] = [
        ("VALUE @ 0 5\r\nno!!!\r\nEND\r\n", Ok(Some(Verdict::Bytes))),
        ("VALUE @ 0 4\r\nabcd\r\nEND\r\n", Ok(Some(Verdict::Length))),
        ("END\r\n", Ok(Some(Verdict::Right))),
        ("SERVER_ERROR out of memory\r\n", Ok(Some(Verdict::Refused("server-error")))),
        ("VALUE # 0 5\r\n", Err(Fault::Unasked)),
        ("VALUE @ 0 x\r\n", Err(Fault::Malformed)),
        ("VALUE @ 0 5\r\n12345xx", Err(Fault::Malformed)),
        ("STORED\r\n", Err(Fault::Malformed)),
        ("END\n", Err(Fault::Malformed)),
        ("VALUE @ 0 5\r\n123", Ok(None)),
    ];
    for (text, wanted) in cases {
        let input = shown(text);
        let pieces: Vec<&[u8]> = input.chunks(1).collect();
        let mut conn = client.connect();
        assert_eq!(judge(&mut *conn, tag, &[&input]), wanted, "{text:?}");
        conn.open(&mut out);
        assert_eq!(judge(&mut *conn, tag, &pieces), wanted, "{text:?}, byte by byte");
    }
    assert_eq!(conn.receive(None, b"END\r\n", &mut out), Err(Fault::Unasked));
}

#[test]
fn a_server_that_will_not_be_filled_is_told_in_its_own_words() {
    let client = protocol("/?keys=10");
    let mut fill = client.preload().unwrap();
    let mut out = Vec::new();
    assert_eq!(fill.step(b"", &mut out), Ok(false));
    assert_eq!(fill.step(b"SERVER_ERROR out of", &mut out), Ok(false));
    assert!(fill.step(b" memory\r\n", &mut out).unwrap_err().contains("SERVER_ERROR out of memory"));
}

#[test]
fn what_means_nothing_here_is_refused() {
    let spec = |path: &str| RequestSpec { path: path.into(), ..RequestSpec::default() };
    let url = Url::parse("memcache://h").unwrap();
    let header = vec![("A".to_owned(), "b".to_owned())];
    for (requests, headers) in [
        (vec![spec("/"), spec("/")], vec![]),
        (vec![RequestSpec { method: "POST".into(), ..spec("/") }], vec![]),
        (vec![RequestSpec { body: b"x".to_vec(), ..spec("/") }], vec![]),
        (vec![spec("/")], header),
        (vec![spec("/x")], vec![]),
    ] {
        let options = ClientOptions { requests, headers, ..ClientOptions::default() };
        assert!(build(&url, &options).is_err(), "{options:?}");
    }
}

#[test]
fn the_content_of_a_reply_is_its_values() {
    for (multiget, content) in [(1, 100), (3, 300)] {
        let mut conn = protocol(&format!("/?keys=100&get=1&value=100&multiget={multiget}&fill=no")).connect();
        let mut out = Outgoing::new();
        conn.open(&mut out);
        let tag = conn.request(Draw { random: 1, index: 0 }, &mut out);
        let request = String::from_utf8(out.payload().as_slice().to_vec()).unwrap();
        let value = "x".repeat(100);
        let keys = request.trim_end().split(' ').skip(1);
        let reply: String = keys.map(|key| format!("VALUE {key} 0 100\r\n{value}\r\n")).collect();
        let received = conn.receive(Some(tag), format!("{reply}END\r\n").as_bytes(), &mut out).unwrap();
        let Progress::Reply(reply) = received.progress else { panic!("{request}: {received:?}") };
        assert_eq!(reply.content, content);
    }
}
