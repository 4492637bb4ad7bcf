use super::build::build;
use crate::exchange::{Draw, Fault, Progress, Reply, Tag, Verdict};
use crate::outgoing::Outgoing;
use crate::page::{Redirect, Search};
use crate::protocol::{ClientConn, ClientOptions};
use crate::request::RequestSpec;
use crate::url::Url;

fn spec(method: &str, path: &str, body: &[u8]) -> RequestSpec {
    RequestSpec { method: method.into(), path: path.into(), body: body.to_vec(), ..RequestSpec::default() }
}

fn options(requests: Vec<RequestSpec>) -> ClientOptions {
    ClientOptions { requests, ..ClientOptions::default() }
}

fn connect(options: &ClientOptions) -> Result<Box<dyn ClientConn>, String> {
    let url = Url::parse("http://h:81/").unwrap();
    Ok(build(&url, options)?.connect())
}

fn first_request(options: &ClientOptions) -> String {
    let mut out = Outgoing::new();
    connect(options).unwrap().request(Draw { random: 0, index: 0 }, &mut out);
    String::from_utf8(out.payload().as_slice().to_vec()).unwrap()
}

/// All replies in `pieces`, whose requests all were the first one, and what followed them.
fn replies(options: &ClientOptions, pieces: &[&[u8]]) -> (Vec<Reply>, Result<(), Fault>) {
    let mut conn = connect(options).unwrap();
    let mut out = Outgoing::new();
    conn.open(&mut out);
    let (mut seen, mut tail) = (Vec::new(), Vec::new());
    for piece in pieces {
        tail.extend_from_slice(piece);
        loop {
            let received = match conn.receive(Some(Tag(0)), &tail, &mut out) {
                Ok(received) => received,
                Err(fault) => return (seen, Err(fault)),
            };
            tail.drain(..received.consumed);
            match received.progress {
                Progress::Reply(reply) => seen.push(reply),
                _ => break,
            }
        }
    }
    seen.extend(conn.end_of_input(Some(Tag(0))));
    (seen, Ok(()))
}

fn verdicts(options: &ClientOptions, input: &str) -> Vec<Verdict> {
    let whole = replies(options, &[input.as_bytes()]);
    for at in 0..input.len() {
        let split = replies(options, &[&input.as_bytes()[..at], &input.as_bytes()[at..]]);
        assert_eq!(split, whole, "split at {at}");
    }
    assert_eq!(whole.1, Ok(()));
    whole.0.iter().map(|r| r.verdict).collect()
}

#[test]
fn a_request_is_what_the_user_asked_for() {
    assert_eq!(first_request(&options(vec![spec("GET", "", b"")])), "GET / HTTP/1.1\r\nHost: h:81\r\n\r\n");
    let mut o = options(vec![spec("POST", "/x?y", b"hi")]);
    o.headers = vec![("host".into(), "other".into()), ("X-A".into(), " b ".into())];
    o.single_request = true;
    assert_eq!(
        first_request(&o),
        "POST /x?y HTTP/1.1\r\nhost: other\r\nX-A: b\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"
    );
}

#[test]
fn headers_of_a_request_take_the_place_of_those_of_all() {
    let mut o = options(vec![spec("GET", "/", b"")]);
    o.headers = vec![("X-A".into(), "all".into()), ("X-B".into(), "all".into())];
    o.requests[0].headers = vec![("x-a".into(), "1".into()), ("x-a".into(), "2".into())];
    assert_eq!(first_request(&o), "GET / HTTP/1.1\r\nHost: h:81\r\nX-B: all\r\nx-a: 1\r\nx-a: 2\r\n\r\n");
    o.requests[0].headers = vec![("a b".into(), "x".into())];
    assert!(connect(&o).is_err());
}

#[test]
fn what_http_does_not_allow_is_refused() {
    for bad in [spec("G T", "/", b""), spec("", "/", b""), spec("GET", "x", b""), spec("GET", "/a b", b"")] {
        assert!(connect(&options(vec![bad.clone()])).is_err(), "{bad:?}");
    }
    for (name, value) in [("", "x"), ("a b", "x"), ("a", "x\r\ny: z")] {
        let mut o = options(vec![spec("GET", "/", b"")]);
        o.headers = vec![(name.into(), value.into())];
        assert!(connect(&o).is_err(), "{name:?}: {value:?}");
    }
}

#[test]
fn a_body_is_in_the_transfer_coding_that_its_headers_say() {
    let with = |headers: &[(&str, &str)], body: &[u8]| {
        let mut o = options(vec![spec("POST", "/", body)]);
        o.headers = headers.iter().map(|&(n, v)| (n.into(), v.into())).collect();
        o
    };
    let chunks: &[u8] = b"5\r\nhello\r\n0\r\n\r\n";
    let right = with(&[("Transfer-Encoding", "gzip, Chunked")], chunks);
    assert!(!first_request(&right).contains("Content-Length"));
    for (headers, body) in [
        (&[("Transfer-Encoding", "chunked"), ("Content-Length", "15")][..], chunks),
        (&[("transfer-encoding", "chunked"), ("content-length", "5")], b"hello"),
        (&[("Transfer-Encoding", "chunked")], b"hello"),
        (&[("Transfer-Encoding", "chunked")], b""),
        (&[("Transfer-Encoding", "chunked")], b"0\r\n\r\nGET / HTTP/1.1\r\n\r\n"),
        (&[("Transfer-Encoding", "gzip")], b"hello"),
        (&[("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "identity")], chunks),
    ] {
        assert!(connect(&with(headers, body)).is_err(), "{headers:?} {body:?}");
    }
}

#[test]
fn replies_of_every_framing_are_told_apart_wherever_they_are_split() {
    let input = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc\
                 HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n\
                 HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n\
                 HTTP/1.1 204 None\r\n\r\n\
                 HTTP/1.1 200 OK\r\n\r\nabc until the end";
    assert_eq!(verdicts(&options(vec![spec("GET", "/", b"")]), input), [Verdict::Right; 5]);
}

#[test]
fn statuses_are_checked() {
    let input = "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nnoHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let mut o = options(vec![spec("GET", "/", b"")]);
    assert_eq!(verdicts(&o, input), [Verdict::Status(404), Verdict::Right]);
    o.expect_status = vec![404..=404];
    assert_eq!(verdicts(&o, input), [Verdict::Right, Verdict::Status(200)]);
}

#[test]
fn content_is_compared_where_asked() {
    let input = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc\
                 HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabx\
                 HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab\
                 HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd\
                 HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let mut o = options(vec![spec("GET", "/", b"")]);
    o.expect_body = Some(b"abc".to_vec());
    let wanted = [Verdict::Right, Verdict::Bytes, Verdict::Length, Verdict::Length, Verdict::Length];
    assert_eq!(verdicts(&o, input), wanted);
}

#[test]
fn a_reply_of_wrong_bytes_and_length_is_judged_alike_however_it_is_cut() {
    let mut o = options(vec![spec("GET", "/bytes/3", b"")]);
    o.verify = true;
    let input = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong";
    let wanted = [Reply { verdict: Verdict::Length, status: 200, persists: true, content: 5 }];
    for cut in 1..input.len() {
        assert_eq!(replies(&o, &[&input[..cut], &input[cut..]]), (wanted.to_vec(), Ok(())), "{cut}");
    }
}

#[test]
fn generated_content_is_verified_by_its_path() {
    let mut o = options(vec![spec("GET", "/bytes/3", b"")]);
    o.verify = true;
    let body: String = (0..3).map(|at| pitot_proto::pattern_at(at) as char).collect();
    let input = format!("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{body}");
    assert_eq!(verdicts(&o, &input), [Verdict::Right]);
    assert_eq!(verdicts(&o, &input.replace(&body, "no!")), [Verdict::Bytes]);
    o.requests[0].path = "/other".into();
    assert!(connect(&o).is_err());
}

#[test]
fn the_reply_to_head_has_no_body() {
    let input = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n".repeat(2);
    assert_eq!(verdicts(&options(vec![spec("HEAD", "/", b"")]), &input), [Verdict::Right; 2]);
}

#[test]
fn a_reply_that_ends_with_its_connection_does_not_persist() {
    let (seen, _) = replies(&options(vec![spec("GET", "/", b"")]), &[b"HTTP/1.1 200 OK\r\n\r\nabc"]);
    assert_eq!(seen, [Reply { verdict: Verdict::Right, status: 200, persists: false, content: 3 }]);
}

#[test]
fn a_truncated_reply_is_no_reply() {
    for input in ["HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", ""] {
        assert_eq!(replies(&options(vec![spec("GET", "/", b"")]), &[input.as_bytes()]), (Vec::new(), Ok(())));
    }
}

#[test]
fn bytes_that_nobody_asked_for_are_a_fault() {
    let mut conn = connect(&options(vec![spec("GET", "/", b"")])).unwrap();
    assert_eq!(conn.receive(None, b"x", &mut Outgoing::new()), Err(Fault::Unasked));
}

/// What the reply to one request of a browser refers to, and where it sends its reader.
fn seen(conn: &mut dyn ClientConn, tag: Tag, pieces: &[&[u8]]) -> (Vec<String>, u64, Redirect) {
    let (mut out, mut tail) = (Outgoing::new(), Vec::new());
    for piece in pieces {
        tail.extend_from_slice(piece);
        let received = conn.receive(Some(tag), &tail, &mut out).unwrap();
        tail.drain(..received.consumed);
        if let Progress::Reply(reply) = received.progress {
            assert_eq!(reply.verdict, Verdict::Right);
            let found = conn.pages().unwrap().found();
            let kinds = found.references().map(|r| format!("{:?} {}", r.kind, r.target.escape_ascii()));
            return (kinds.collect(), found.elsewhere, found.redirect.clone());
        }
    }
    panic!("the reply does not end");
}

#[test]
fn a_browser_reads_in_replies_what_belongs_to_the_page() {
    let mut o = options(vec![spec("GET", "/shop/?page=1", b"")]);
    o.headers = vec![("X-A".into(), "b".into()), ("Content-Type".into(), "none".into())];
    o.pages = true;
    let mut conn = connect(&o).unwrap();
    let mut out = Outgoing::new();
    conn.open(&mut out);
    let draw = Draw { random: 0, index: 0 };
    let page = conn.request(draw, &mut out);
    let html = "<img src=a.png><link rel=stylesheet href=/s.css><img src=//h:81/b><img src=http://h/c>";
    let reply = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=x\r\nContent-Length: {}\r\n\r\n{html}",
        html.len()
    );
    let wanted = vec!["Object /shop/a.png".to_owned(), "StyleSheet /s.css".into(), "Object /b".into()];
    for at in 0..reply.len() {
        let pieces = [&reply.as_bytes()[..at], &reply.as_bytes()[at..]];
        assert_eq!(seen(&mut *conn, page, &pieces), (wanted.clone(), 1, Redirect::None), "{at}");
        conn.request(draw, &mut out);
    }
    // A style sheet is asked for by its path, and what it refers to is relative to that.
    out.clear();
    conn.pages().unwrap().aim(b"/css/s.css", Search::Css);
    let embedded = conn.request(draw, &mut out);
    assert_eq!(out.payload().as_slice(), b"GET /css/s.css HTTP/1.1\r\nHost: h:81\r\nX-A: b\r\n\r\n");
    let reply = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nurl(../f\r\n1\r\n)\r\n0\r\n\r\n";
    assert_eq!(seen(&mut *conn, embedded, &[reply]), (vec!["Object /f".into()], 0, Redirect::None));
    // Then the pages go on.
    out.clear();
    assert_eq!(conn.request(draw, &mut out), page);
    let not_html = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\n<img src=a>";
    assert_eq!(seen(&mut *conn, page, &[not_html]), (vec![], 0, Redirect::None));
    let moved = |to: &str| format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
    for (to, redirect) in [
        ("/new", Redirect::Here(b"/new".to_vec())),
        ("other?x", Redirect::Here(b"/shop/other?x".to_vec())),
        ("http://h:81/z", Redirect::Here(b"/z".to_vec())),
        ("http://h/z", Redirect::Elsewhere),
        ("", Redirect::Elsewhere),
    ] {
        conn.request(draw, &mut out);
        assert_eq!(seen(&mut *conn, page, &[moved(to).as_bytes()]), (vec![], 0, redirect), "{to}");
    }
}

#[test]
fn a_browser_refuses_what_it_could_not_read() {
    let mut o = options(vec![spec("GET", "/", b"")]);
    o.pages = true;
    o.headers = vec![("accept-encoding".into(), "gzip".into())];
    assert!(connect(&o).is_err());
}

#[test]
fn numbers_are_put_into_path_headers_and_body_and_the_length_is_that_of_the_body() {
    let mut varied = spec("POST", "/k/{rand:1..100000}?n={seq:9}", b"id={seq:9}&{x}");
    varied.headers = vec![("X-Id".into(), "{seq:1}".into())];
    let options = options(vec![varied.clone()]);
    let (mut conn, mut out) = (connect(&options).unwrap(), Outgoing::new());
    for index in 0..3 {
        conn.request(Draw { random: index, index }, &mut out);
    }
    let text = String::from_utf8(out.payload().as_slice().to_vec()).unwrap();
    for (index, body) in [(0, "id=9&{x}"), (1, "id=10&{x}"), (2, "id=11&{x}")] {
        let fields = format!(
            "?n={} HTTP/1.1\r\nHost: h:81\r\nX-Id: {}\r\nContent-Length: {}\r\n\r\n{body}",
            index + 9,
            index + 1,
            body.len()
        );
        assert!(text.contains(&fields), "{fields} is not in {text}");
    }
    let url = Url::parse("http://h/").unwrap();
    assert_eq!(build(&url, &options).unwrap().request_bytes_max(), None);
    // A text that only looks like a place is always the same.
    let plain = ClientOptions { requests: vec![spec("GET", "/{{seq:1}}", b"")], ..ClientOptions::default() };
    assert!(first_request(&plain).starts_with("GET /{seq:1} HTTP/1.1\r\n"));
    assert!(build(&url, &plain).unwrap().request_bytes_max().is_some());
    for (path, word) in [("/{rand:9..1}", "write {rand:1..100}"), ("/{seq:}", "write {seq:1}")] {
        let wrong = ClientOptions { requests: vec![spec("GET", path, b"")], ..ClientOptions::default() };
        assert!(build(&url, &wrong).err().unwrap().contains(word), "{path}");
    }
    let mut follows = options.clone();
    follows.visit.follow = 3;
    assert!(build(&url, &follows).err().unwrap().contains("--follow"));
}

#[test]
fn the_content_of_a_reply_is_its_body_in_every_framing() {
    let input = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello\
                 HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nhe\r\n4\r\nllo!\r\n0\r\nX: y\r\n\r\n\
                 HTTP/1.1 204 No Content\r\n\r\n\
                 HTTP/1.1 200 OK\r\n\r\nto the end";
    for cut in 0..input.len() {
        let (seen, end) = replies(
            &options(vec![spec("GET", "/", b"")]),
            &[&input.as_bytes()[..cut], &input.as_bytes()[cut..]],
        );
        assert_eq!(end, Ok(()));
        assert_eq!(seen.iter().map(|reply| reply.content).collect::<Vec<_>>(), [5, 6, 0, 10], "{cut}");
    }
}
