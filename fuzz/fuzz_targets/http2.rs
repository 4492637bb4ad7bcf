//! The client's side of HTTP/2: whatever frames a server sends, and however they are cut, they are judged the same.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pitot_client::{
    ClientOptions, ClientProtocol, Draw, Fault, HttpVersion, Outgoing, Progress, RequestSpec, SessionSpec,
    Source, StepSpec, TakeSpec, Url, VisitOptions, find,
};

/// What a server sends first: SETTINGS without an entry.
const GREETING: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// Requests alone, users with cookies who follow redirects, a browser, and sessions with bursts.
static PROTOCOLS: LazyLock<[Box<dyn ClientProtocol>; 4]> = LazyLock::new(|| [0, 1, 2, 3].map(protocol));

fn protocol(who: usize) -> Box<dyn ClientProtocol> {
    let url = Url::parse("http://127.0.0.1:1/bytes/5").expect("a URL");
    let request = |method: &str, body: &[u8]| RequestSpec {
        method: method.into(),
        path: url.path.clone(),
        weight: 1.0,
        body: body.into(),
        ..RequestSpec::default()
    };
    let options = ClientOptions {
        // Content is not verified of a reply that has none.
        requests: vec![
            request("GET", b""),
            request(if who < 2 { "GET" } else { "HEAD" }, b""),
            request("POST", &[0; 70_000]),
        ],
        in_turn: true,
        verify: who < 2,
        visit: VisitOptions { cookies: who == 1, follow: if who == 1 { 3 } else { 0 }, now_s: 1 << 30 },
        pages: who == 2,
        sessions: if who == 3 { vec![session()] } else { Vec::new() },
        http: HttpVersion::Http2,
        streams: 6,
        ..ClientOptions::default()
    };
    (find("http").expect("a scheme").build)(&url, &options).expect("sound options")
}

/// A first step, and a burst of five that take something from it.
fn session() -> SessionSpec {
    let take = |name: &str, from| TakeSpec { name: name.into(), from };
    let step = |n: u32| StepSpec {
        name: n.to_string(),
        request: RequestSpec {
            path: if n == 0 { "/a".into() } else { "/{id}/{x}".into() },
            body: if n == 2 { b"{id}".to_vec() } else { Vec::new() },
            ..RequestSpec::default()
        },
        take: vec![
            take("id", Source::Json("/id".into())),
            take("x", Source::Header("x".into())),
            take("re", Source::Regex("<(.)>".into())),
        ],
        burst: n > 0,
        ..StepSpec::default()
    };
    SessionSpec { name: "s".into(), weight: 1.0, draws: Vec::new(), steps: (0..6).map(step).collect() }
}

/// What the client makes of the input. When a reply begins is left out, since that depends on what arrives together.
/// Some requests are given up at once, so that what the server says of them must be skipped.
fn judge<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
    who: usize,
    gives_up: bool,
) -> (Vec<Progress>, Option<Fault>) {
    let (mut conn, mut out) = (PROTOCOLS[who].connect(), Outgoing::new());
    conn.open(&mut out);
    let (mut seen, mut tail) = (Vec::new(), Vec::new());
    for piece in std::iter::once(&GREETING[..]).chain(pieces) {
        tail.extend_from_slice(piece);
        loop {
            let received = match conn.receive(None, &tail, &mut out) {
                Ok(received) => received,
                Err(fault) => return (seen, Some(fault)),
            };
            assert!(received.consumed <= tail.len());
            tail.drain(..received.consumed);
            out.clear();
            match received.progress {
                Progress::More => break,
                Progress::Ready => {
                    for index in 0..6 {
                        conn.request(Draw { random: 0, index }, &mut out);
                    }
                    if gives_up {
                        conn.clock(1);
                        assert!(conn.cancel(4, 1000, &mut out) && conn.cancel(0, 1000, &mut out));
                    }
                }
                Progress::Began(_) => {}
                progress => seen.push(progress),
            }
        }
        assert!(tail.len() < 32 * 1024, "the unconsumed input has no bound");
    }
    (seen, None)
}

fuzz_target!(|data: &[u8]| {
    let [cut, who, input @ ..] = data else { return };
    let (who, gives_up) = (usize::from(who % 4), cut & 1 == 1);
    let whole = judge([input].into_iter(), who, gives_up);
    assert_eq!(judge(input.chunks(usize::from(*cut) + 1), who, gives_up), whole);
});
