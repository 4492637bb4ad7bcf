//! Connections whose users keep cookies, follow redirects, read pages or play sessions.

use std::time::Duration;

use super::*;
use crate::page::Search;
use crate::session::{SessionSpec, Source, StepSpec, TakeSpec, Turn};
use crate::visit::VisitOptions;

/// What was asked since the last call: the stream, method, path and cookies of each request, and the bodies.
fn asked(talk: &mut Talk) -> Vec<(u32, String)> {
    let mut asked: Vec<(u32, String)> = Vec::new();
    let mut fragments = Vec::new();
    for (head, payload) in talk.sent() {
        match head.kind {
            frame::HEADERS | frame::CONTINUATION => {
                fragments.extend_from_slice(&payload);
                if head.has(frame::END_HEADERS) {
                    let mut fields = Vec::new();
                    talk.decoder.decode(&mut std::mem::take(&mut fragments), &mut fields).unwrap();
                    let wanted = |name: &[u8]| matches!(name, b":method" | b":path" | b"cookie");
                    let words: Vec<String> = fields
                        .into_iter()
                        .filter(|(name, ..)| wanted(name))
                        .map(|(_, value, _)| String::from_utf8(value).unwrap())
                        .collect();
                    asked.push((head.stream, words.join(" ")));
                }
            }
            frame::DATA => {
                let of = asked.iter_mut().find(|(stream, _)| *stream == head.stream).unwrap();
                of.1 += &format!(" [{}]", String::from_utf8(payload).unwrap());
            }
            _ => {}
        }
    }
    asked
}

fn visiting(requests: Vec<RequestSpec>, streams: u16) -> ClientOptions {
    ClientOptions { visit: VisitOptions { cookies: true, follow: 3, now_s: 0 }, streams, ..options(requests) }
}

fn lines(list: &[(u32, &str)]) -> Vec<(u32, String)> {
    list.iter().map(|&(stream, text)| (stream, text.to_owned())).collect()
}

const OK: (&str, &str) = (":status", "200");

fn moved(stream: u32, to: &str, cookie: &str) -> Vec<u8> {
    head(stream, &[(":status", "302"), ("location", to), ("set-cookie", cookie)], true)
}

fn status(nth: u16, status: u16) -> Progress {
    Progress::ReplyTo(nth, Reply { verdict: Verdict::Right, status, persists: true, content: 0 })
}

#[test]
fn each_stream_keeps_its_own_cookies_and_follows_its_own_redirects() {
    let mut talk = Talk::new(&visiting(vec![spec("POST", "/a/b", b"body")], 2));
    talk.ask(2);
    assert_eq!(asked(&mut talk), lines(&[(1, "POST /a/b [body]"), (3, "POST /a/b [body]")]));
    // The first goes on in a stream with a higher number than the second, and stays the first.
    assert_eq!(talk.take(&moved(1, "c", "user=1; Path=/")), Ok(vec![Progress::Began(0)]));
    assert_eq!(asked(&mut talk), lines(&[(5, "GET /a/c user=1")]));
    assert_eq!(talk.take(&head(3, &[OK, ("set-cookie", "user=2; Path=/")], true)), Ok(vec![right(1)]));
    assert_eq!(talk.take(&head(5, &[OK], false)), Ok(vec![]), "that it has begun is known");
    assert_eq!(talk.take(&data(5, b"x", true)), Ok(vec![right(0)]));
    // Who has waited for longest is the next.
    talk.ask(2);
    assert_eq!(asked(&mut talk), lines(&[(7, "POST /a/b user=2 [body]"), (9, "POST /a/b user=1 [body]")]));
    // A new connection has the same users.
    talk.conn.open(&mut talk.out);
    talk.out.clear();
    (talk.tail, talk.decoder) = (Vec::new(), Decoder::default());
    talk.take(&settings(&[])).unwrap();
    talk.sent();
    talk.ask(2);
    assert_eq!(asked(&mut talk), lines(&[(1, "POST /a/b user=1 [body]"), (3, "POST /a/b user=2 [body]")]));
    assert_eq!(talk.conn.counts(), [("redirects_followed", 1)]);
}

#[test]
fn redirects_are_followed_to_the_limit_and_on_the_same_host_only() {
    let mut talk = Talk::new(&visiting(vec![spec("GET", "/", b"")], 1));
    talk.ask(1);
    for stream in [1, 3, 5] {
        talk.take(&moved(stream, "//h:81/again", "a=b")).unwrap();
    }
    let too_many =
        Reply { verdict: Verdict::Refused("redirect-limit"), status: 302, persists: true, content: 0 };
    let too_many = Progress::ReplyTo(0, too_many);
    assert_eq!(talk.take(&moved(7, "/again", "a=b")), Ok(vec![too_many]));
    talk.ask(1);
    assert_eq!(talk.take(&moved(9, "https://h:81/", "a=b")), Ok(vec![status(0, 302)]));
    let counts = [("redirects_followed", 3), ("redirects_elsewhere", 1), ("redirects_over_limit", 1)];
    assert_eq!(talk.conn.counts(), counts);
}

#[test]
fn what_a_server_does_not_look_at_any_more_ends_with_its_redirect_or_is_sent_again_by_the_same_user() {
    let mut talk = Talk::new(&visiting(vec![spec("GET", "/", b"")], 3));
    talk.ask(3);
    talk.take(&moved(1, "/b", "user=1")).unwrap();
    talk.take(&head(5, &[OK, ("set-cookie", "user=3")], true)).unwrap();
    talk.ask(1);
    talk.sent();
    // Streams 7 (the first request), 3 (the second) and 9 (the third user) are open.
    assert_eq!(talk.take(&goaway(3, 0)), Ok(vec![status(0, 302), Progress::Retiring(1)]));
    assert_eq!(talk.take(&head(3, &[OK], true)), Ok(vec![right(0)]));
    talk.conn.open(&mut talk.out);
    talk.out.clear();
    talk.decoder = Decoder::default();
    talk.take(&settings(&[])).unwrap();
    talk.sent();
    talk.conn.repeat(Tag(0), &mut talk.out);
    talk.ask(1);
    assert_eq!(asked(&mut talk), lines(&[(1, "GET / user=3"), (3, "GET / user=1")]));
    let counts = talk.conn.counts();
    assert!(counts.contains(&("redirects_on_closed_connections", 1)), "{counts:?}");
    assert!(!counts.iter().any(|(name, _)| *name == "redirects_followed"), "{counts:?}");
}

#[test]
fn no_redirect_is_followed_on_a_connection_that_ends() {
    let mut talk = Talk::new(&visiting(vec![spec("GET", "/", b"")], 1));
    talk.ask(1);
    talk.sent();
    assert_eq!(talk.take(&goaway(1, 0)), Ok(vec![Progress::Retiring(0)]));
    assert_eq!(talk.take(&moved(1, "/b", "a=b")), Ok(vec![status(0, 302)]));
    assert!(asked(&mut talk).is_empty());
}

#[test]
fn cookies_longer_than_a_frame_are_sent_in_several() {
    let mut talk = Talk::new(&visiting(vec![spec("GET", "/", b"")], 1));
    talk.ask(1);
    let value = "x".repeat(3900);
    let cookies: Vec<String> = (0..8).map(|n| format!("c{n}={value}")).collect();
    let mut fields = vec![OK];
    fields.extend(cookies.iter().map(|cookie| ("set-cookie", &**cookie)));
    let block = block(&fields);
    let mut pieces = block.chunks(10_000).peekable();
    let mut input = frame(frame::HEADERS, frame::END_STREAM, 1, pieces.next().unwrap());
    while let Some(piece) = pieces.next() {
        let flags = if pieces.peek().is_none() { frame::END_HEADERS } else { 0 };
        input.extend(frame(frame::CONTINUATION, flags, 1, piece));
    }
    assert_eq!(talk.take(&input), Ok(vec![right(0)]));
    assert_eq!(asked(&mut talk), lines(&[(1, "GET /")]));
    talk.ask(1);
    assert_eq!(asked(&mut talk), [(3, format!("GET / {}", cookies.join("; ")))]);
}

#[test]
fn a_field_that_would_be_two_lines_is_refused() {
    let mut talk = Talk::new(&visiting(vec![spec("GET", "/", b"")], 1));
    talk.ask(1);
    let input = head(1, &[OK, ("x", "y\r\nset-cookie: a=b")], true);
    assert_eq!(talk.take(&input), Err(Fault::Malformed));
}

fn step(path: &str) -> StepSpec {
    StepSpec { name: path[1..].into(), request: spec("GET", path, b""), ..StepSpec::default() }
}

/// `/a`, and then a burst of `/b`, `/c` and `/d/{id}`, whose id is taken from the body of `/a`.
fn session() -> ClientOptions {
    let take = |name: &str, from| TakeSpec { name: name.into(), from };
    let burst = |path: &str| StepSpec { burst: true, ..step(path) };
    let value = take("id", Source::Json("/id".into()));
    let steps = vec![
        StepSpec { take: vec![value], ..step("/a") },
        burst("/b"),
        StepSpec { take: vec![take("c", Source::Regex("<(.)>".into()))], ..burst("/c") },
        StepSpec { think: Duration::from_secs(1), ..burst("/d/{id}") },
        StepSpec { request: spec("POST", "/e", b"{c}"), ..step("/e") },
    ];
    let sessions = vec![SessionSpec { name: "s".into(), weight: 1.0, draws: Vec::new(), steps }];
    ClientOptions { sessions, ..options(Vec::new()) }
}

impl Talk {
    fn turn(&mut self) -> Turn {
        self.conn.session().unwrap().turn()
    }

    fn room(&mut self) -> u16 {
        self.conn.session().unwrap().room()
    }

    /// In the burst, whose requests are on streams 3, 5 and 7, with a reply to the first.
    fn in_burst() -> Talk {
        let mut talk = Talk::new(&session());
        assert_eq!(talk.room(), 1);
        talk.ask(1);
        assert_eq!(asked(&mut talk), lines(&[(1, "GET /a")]));
        let input = [head(1, &[OK, ("set-cookie", "k=v")], false), data(1, b"{\"id\": 7}", true)].concat();
        assert_eq!(talk.take(&input), Ok(vec![right(0)]));
        assert_eq!((talk.room(), talk.turn()), (3, Turn::GoesOn { think: Duration::ZERO }));
        talk.ask(3);
        let burst = [(3, "GET /b k=v"), (5, "GET /c k=v"), (7, "GET /d/7 k=v")];
        assert_eq!((talk.room(), asked(&mut talk)), (0, lines(&burst)));
        talk.take(&head(3, &[OK], true)).unwrap();
        assert_eq!(talk.room(), 0);
        talk
    }
}

#[test]
fn replies_of_a_burst_may_come_mixed() {
    let mut talk = Talk::in_burst();
    let input =
        [head(5, &[OK], false), data(5, b"<", false), head(7, &[OK], false), data(7, b"no value", true)]
            .concat();
    assert_eq!(talk.take(&input), Ok(vec![Progress::Began(0), right(1)]));
    assert_eq!((talk.turn(), talk.room()), (Turn::GoesOn { think: Duration::ZERO }, 0));
    assert_eq!(talk.take(&data(5, b"x>", true)), Ok(vec![right(0)]));
    // The pause is that of the burst's last step, whose reply was not the last.
    assert_eq!((talk.turn(), talk.room()), (Turn::GoesOn { think: Duration::from_secs(1) }, 1));
    talk.ask(1);
    assert_eq!(asked(&mut talk), lines(&[(9, "POST /e k=v [x]")]));
    talk.take(&head(9, &[OK], true)).unwrap();
    assert_eq!(talk.turn(), Turn::Completed { think: Duration::ZERO });
    // The next session is another user's.
    talk.ask(1);
    assert_eq!(asked(&mut talk), lines(&[(11, "GET /a")]));
}

#[test]
fn a_reset_fails_its_step_once_the_others_are_answered() {
    let mut talk = Talk::in_burst();
    let reset = frame(frame::RST_STREAM, 0, 5, &7u32.to_be_bytes());
    assert_eq!(talk.take(&reset), Ok(vec![Progress::Failed(0, "reset-refused-stream")]));
    assert_eq!((talk.turn(), talk.room()), (Turn::GoesOn { think: Duration::ZERO }, 0));
    assert_eq!(talk.take(&head(7, &[OK], true)), Ok(vec![right(0)]));
    assert_eq!((talk.turn(), talk.room()), (Turn::Failed(2), 1));
    let mut talk = Talk::in_burst();
    assert!(talk.conn.cancel(1, 1000, &mut talk.out));
    let wrong = Reply { verdict: Verdict::Refused("s/c:no-c"), status: 200, persists: true, content: 0 };
    assert_eq!(talk.take(&head(5, &[OK], true)), Ok(vec![Progress::ReplyTo(0, wrong)]));
    assert_eq!(talk.turn(), Turn::Failed(3));
}

#[test]
fn a_session_goes_on_with_what_was_given_back() {
    let mut talk = Talk::in_burst();
    talk.sent();
    assert_eq!(talk.take(&goaway(5, 0)), Ok(vec![Progress::Retiring(1)]));
    talk.take(&[head(5, &[OK], false), data(5, b"<y>", true)].concat()).unwrap();
    assert_eq!(talk.turn(), Turn::GoesOn { think: Duration::ZERO });
    talk.conn.open(&mut talk.out);
    talk.out.clear();
    talk.take(&settings(&[])).unwrap();
    talk.sent();
    talk.decoder = Decoder::default();
    talk.conn.repeat(Tag(3), &mut talk.out);
    assert_eq!(asked(&mut talk), lines(&[(1, "GET /d/7 k=v")]));
    talk.take(&head(1, &[OK], true)).unwrap();
    assert_eq!((talk.turn(), talk.room()), (Turn::GoesOn { think: Duration::from_secs(1) }, 1));
}

#[test]
fn a_lost_connection_fails_the_oldest_step_that_is_not_answered() {
    let mut talk = Talk::in_burst();
    talk.take(&head(7, &[OK], true)).unwrap();
    assert_eq!(talk.conn.session().unwrap().abandon(), Some(2));
    assert_eq!(talk.conn.session().unwrap().abandon(), None);
}

#[test]
fn sessions_with_headers_of_the_connection_are_refused() {
    let mut options = session();
    options.sessions[0].steps[3].request.headers = vec![("Connection".into(), "close".into())];
    let error = super::super::build(&Url::parse("http://h:81/").unwrap(), &options).err().unwrap();
    assert!(error.contains("`connection`"), "{error}");
}

#[test]
fn what_belongs_to_a_page_is_found_in_replies_that_come_mixed() {
    let mut o = options(vec![spec("GET", "/dir/page", b"")]);
    o.pages = true;
    let mut talk = Talk::new(&o);
    talk.ask(1);
    assert_eq!(asked(&mut talk), lines(&[(1, "GET /dir/page")]));
    let html = ("content-type", "text/html");
    let page = b"<link rel=stylesheet href=s.css><iframe src=/f.html></iframe><img src=//other/>";
    talk.take(&[head(1, &[OK, html], false), data(1, page, true)].concat()).unwrap();
    let found = |talk: &mut Talk| {
        let found = talk.conn.pages().unwrap().found();
        let targets = found.references().map(|r| String::from_utf8(r.target.to_vec()).unwrap());
        (targets.collect::<Vec<_>>(), found.elsewhere, found.bytes)
    };
    assert_eq!(found(&mut talk), (vec!["/dir/s.css".into(), "/f.html".into()], 1, page.len() as u64));
    for (path, search) in [("/dir/s.css", Search::Css), ("/f.html", Search::Html)] {
        talk.conn.pages().unwrap().aim(path.as_bytes(), search);
        talk.ask(1);
    }
    assert_eq!(asked(&mut talk), lines(&[(3, "GET /dir/s.css"), (5, "GET /f.html")]));
    let input = [
        head(3, &[OK], false),
        data(3, b"a { background: url(", false),
        head(5, &[OK, html], false),
        data(5, b"<img src=i.png>", true),
    ]
    .concat();
    assert_eq!(talk.take(&input), Ok(vec![Progress::Began(0), right(1)]));
    assert_eq!(found(&mut talk), (vec!["/i.png".into()], 0, 15));
    assert_eq!(talk.take(&data(3, b"b.png) }", true)), Ok(vec![right(0)]));
    assert_eq!(found(&mut talk).0, ["/dir/b.png"]);
    // What is given back is asked for again when it is aimed at again.
    talk.conn.repeat(Tag(0), &mut talk.out);
    talk.conn.pages().unwrap().aim(b"/again", Search::Nothing);
    talk.conn.repeat(Tag(1), &mut talk.out);
    assert_eq!(asked(&mut talk), lines(&[(7, "GET /dir/page"), (9, "GET /again")]));
}

proptest! {
    #[test]
    fn no_bytes_make_agents_panic(
        which in 0usize..3,
        pieces in prop::collection::vec((0u8..10, any::<u8>(), 0u32..12, prop::collection::vec(any::<u8>(), 0..30)), 0..20),
    ) {
        let mut options = match which {
            0 => visiting(vec![spec("GET", "/", b"")], 3),
            1 => session(),
            _ => options(vec![spec("GET", "/", b"")]),
        };
        options.pages = which == 2;
        let mut talk = Talk::new(&options);
        talk.ask(1);
        for (kind, flags, stream, payload) in pieces {
            if talk.take(&frame(kind, flags, stream, &payload)).is_err() {
                break;
            }
        }
        talk.conn.open(&mut talk.out);
    }
}

#[test]
fn numbers_are_put_into_each_request_and_stay_in_one_that_is_sent_again() {
    let mut talk = Talk::new(&options(vec![spec("POST", "/{seq:5}", b"n={seq:5}")]));
    talk.ask(2);
    assert_eq!(asked(&mut talk), lines(&[(1, "POST /5 [n=5]"), (3, "POST /6 [n=6]")]));
    assert_eq!(talk.take(&goaway(1, 0)), Ok(vec![Progress::Retiring(1)]));
    talk.take(&head(1, &[OK], true)).unwrap();
    talk.conn.open(&mut talk.out);
    talk.out.clear();
    (talk.tail, talk.decoder) = (Vec::new(), Decoder::default());
    talk.take(&settings(&[])).unwrap();
    talk.sent();
    talk.conn.repeat(Tag(0), &mut talk.out);
    talk.ask(1);
    assert_eq!(asked(&mut talk), lines(&[(1, "POST /6 [n=6]"), (3, "POST /7 [n=7]")]));
}
