//! The client's side of every protocol: whatever a server sends, and however it is cut, it is judged the same.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pitot_client::{
    CLIENTS, ClientEntry, ClientOptions, ClientProtocol, Draw, Fault, Opening, Outgoing, Progress,
    RequestSpec, Url,
};

/// What a server of PostgreSQL says before the first query: that no password is needed, and that it is ready.
const GREETING: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

static CLIENT_PROTOCOLS: LazyLock<Vec<Box<dyn ClientProtocol>>> = LazyLock::new(|| {
    let build = |entry: &ClientEntry| {
        let url = Url::parse(entry.example).expect("an example is a URL");
        // Replies so short that they are soon found.
        let path = match entry.scheme {
            "http" => "/bytes/5".into(),
            "blob" => "/5".into(),
            "memcache" | "redis" => "/?keys=1&key=1&value=5&get=1".into(),
            _ => url.path.clone(),
        };
        let request = |method: &str| RequestSpec {
            method: method.into(),
            path: path.clone(),
            ..RequestSpec::default()
        };
        let requests = match entry.scheme {
            "http" => vec![request("GET"), request("HEAD")],
            _ => vec![request("GET")],
        };
        // The pages of the brokerage are checked in any case.
        // Content is not verified of replies to HEAD, and of those of the brokerage by its sessions alone.
        let verify = !["http", "trade"].contains(&entry.scheme);
        let options = ClientOptions { requests, in_turn: true, verify, ..ClientOptions::default() };
        (entry.build)(&url, &options).expect("sound options")
    };
    CLIENTS.iter().map(build).collect()
});

/// What the client makes of the input: its progress, and what is left.
fn judge<'a>(
    protocol: &dyn ClientProtocol,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<Progress>, Result<usize, Fault>) {
    let (mut conn, mut out) = (protocol.connect(), Outgoing::new());
    let mut index = 0;
    let mut tag = match conn.open(&mut out) {
        Opening::Ready => Some(conn.request(Draw { random: 0, index }, &mut out)),
        Opening::Greeting => None,
    };
    let (mut seen, mut tail) = (Vec::new(), Vec::new());
    for piece in pieces {
        tail.extend_from_slice(piece);
        loop {
            let received = match conn.receive(tag, &tail, &mut out) {
                Ok(received) => received,
                Err(fault) => return (seen, Err(fault)),
            };
            assert!(received.consumed <= tail.len());
            tail.drain(..received.consumed);
            out.clear();
            if received.progress == Progress::More {
                assert!(tail.len() < 64 * 1024, "the unconsumed input has no bound");
                break;
            }
            seen.push(received.progress);
            if matches!(received.progress, Progress::Reply(reply) if !reply.persists) {
                return (seen, Ok(0));
            }
            index += 1;
            tag = Some(conn.request(Draw { random: 0, index }, &mut out));
        }
    }
    (seen, Ok(tail.len()))
}

fuzz_target!(|data: &[u8]| {
    let [which, cut, input @ ..] = data else { return };
    let which = usize::from(*which) % CLIENT_PROTOCOLS.len();
    let protocol = &*CLIENT_PROTOCOLS[which];
    let greeting = if CLIENTS[which].scheme == "postgres" && cut % 2 == 0 { GREETING } else { b"" };
    let input = [greeting, input].concat();
    let whole = judge(protocol, [&*input].into_iter());
    assert_eq!(judge(protocol, input.chunks(usize::from(*cut) + 1)), whole);
});
