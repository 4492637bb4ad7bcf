//! Request lines, header sections, and what becomes of the connection.

use std::time::Duration;

use pitot_proto::http::Http;
use pitot_proto::{Protocol, ProtocolOptions};
use pitot_proto_harness::{End, Files, Pump};

use super::support::*;

/// Every status that a request head alone can bring about, and whether the connection goes on after it.
#[test]
fn statuses() {
    let many_fields = format!("GET / HTTP/1.1\r\nHost: h\r\n{}\r\n", "A: b\r\n".repeat(100));
    let enough_fields = format!("GET / HTTP/1.1\r\nHost: h\r\n{}\r\n", "A: b\r\n".repeat(99));
    let long_target = format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "a".repeat(9000));
    let enough_target = format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "a".repeat(8000));
    let long_field = format!("GET / HTTP/1.1\r\nHost: h\r\nA: {}\r\n\r\n", "b".repeat(1 << 20));
    let enough_field = format!("GET / HTTP/1.1\r\nHost: h\r\nA: {}\r\n\r\n", "b".repeat(16_000));
    for (request, status, goes_on) in [
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", 200, true),
        ("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", 200, true),
        ("GET http://h/ HTTP/1.1\r\nHost: other\r\n\r\n", 200, true),
        ("GET / HTTP/1.1\r\nhOsT:h\r\n\r\n", 200, true),
        ("GET / HTTP/1.1\r\nHost:\r\n\r\n", 200, true),
        ("GET / HTTP/1.1\r\nHost: h \t\r\n\r\n", 200, true),
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 200, true),
        ("GET / HTTP/1.0\r\n\r\n", 200, false),
        ("GET /bytes/10 HTTP/1.1\r\nHost: h\r\n\r\n", 200, true),
        ("GET /bytes/0 HTTP/1.1\r\nHost: h\r\n\r\n", 200, true),
        ("HEAD /bytes/1073741824 HTTP/1.1\r\nHost: h\r\n\r\n", 200, true),
        (enough_fields.as_str(), 200, true),
        (enough_field.as_str(), 200, true),
        ("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 204, true),
        ("OPTIONS /x HTTP/1.1\r\nHost: h\r\n\r\n", 204, true),
        ("GET /dir HTTP/1.1\r\nHost: h\r\n\r\n", 301, true),
        ("GET / HTTP/1.1\r\n\r\n", 400, false),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400, false),
        ("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", 400, false),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400, false),
        ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, false),
        ("GET / HTTP/1.1\r\nHost: u@h\r\n\r\n", 400, false),
        ("GET http://u@h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400, false),
        ("GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400, false),
        ("GET x HTTP/1.1\r\nHost: h\r\n\r\n", 400, false),
        ("GET /x#y HTTP/1.1\r\nHost: h\r\n\r\n", 400, false),
        ("GET /\u{e4} HTTP/1.1\r\nHost: h\r\n\r\n", 400, false),
        ("GET /..%2f HTTP/1.1\r\nHost: h\r\n\r\n", 404, true),
        ("GET /../x HTTP/1.1\r\nHost: h\r\n\r\n", 400, true),
        ("GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n", 400, true),
        ("GET /% HTTP/1.1\r\nHost: h\r\n\r\n", 400, true),
        ("GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400, false),
        ("GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400, false),
        ("GET / \r\nHost: h\r\n\r\n", 400, false),
        ("GET /\r\n", 400, false),
        ("GET / HTTP/11\r\nHost: h\r\n\r\n", 400, false),
        ("GET / http/1.1\r\nHost: h\r\n\r\n", 400, false),
        ("\n", 400, false),
        ("\r\r", 400, false),
        ("\x16\x03\x01\x02", 400, false),
        ("GET /secret.txt HTTP/1.1\r\nHost: h\r\n\r\n", 403, true),
        ("GET /missing HTTP/1.1\r\nHost: h\r\n\r\n", 404, true),
        ("GET /.git/config HTTP/1.1\r\nHost: h\r\n\r\n", 404, true),
        ("GET //etc/passwd HTTP/1.1\r\nHost: h\r\n\r\n", 404, true),
        ("GET /bare/ HTTP/1.1\r\nHost: h\r\n\r\n", 404, true),
        ("GET /nested/ HTTP/1.1\r\nHost: h\r\n\r\n", 404, true),
        ("GET /pipe HTTP/1.1\r\nHost: h\r\n\r\n", 404, true),
        ("GET /long HTTP/1.1\r\nHost: h\r\n\r\n", 404, true),
        ("GET /bytes/1073741825 HTTP/1.1\r\nHost: h\r\n\r\n", 404, true),
        ("GET /bytes/-1 HTTP/1.1\r\nHost: h\r\n\r\n", 404, true),
        ("PUT /x HTTP/1.1\r\nHost: h\r\n\r\n", 405, true),
        ("PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", 405, true),
        ("PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n", 405, false),
        ("DELETE /x HTTP/1.1\r\nHost: h\r\n\r\n", 405, true),
        ("BREW /x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n", 501, false),
        ("PATCH /x HTTP/1.1\r\nHost: h\r\n\r\n", 405, true),
        ("TRACE /x HTTP/1.1\r\nHost: h\r\n\r\n", 405, true),
        ("CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 405, true),
        ("POST / HTTP/1.1\r\nHost: h\r\n\r\n", 411, false),
        ("POST / HTTP/1.0\r\n\r\n", 411, false),
        (long_target.as_str(), 414, false),
        (enough_target.as_str(), 404, true),
        ("GET / HTTP/1.1\r\nHost: h\r\nExpect: 200-ok\r\n\r\n", 417, true),
        ("POST / HTTP/1.1\r\nHost: h\r\nExpect: x\r\nContent-Length: 1\r\n\r\n", 417, false),
        (many_fields.as_str(), 431, false),
        (long_field.as_str(), 431, false),
        ("GET /torn.txt HTTP/1.1\r\nHost: h\r\n\r\n", 500, true),
        ("BREW / HTTP/1.1\r\nHost: h\r\n\r\n", 501, true),
        ("get / HTTP/1.1\r\nHost: h\r\n\r\n", 501, true),
        ("GET /busy.txt HTTP/1.1\r\nHost: h\r\n\r\n", 503, true),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, false),
        ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505, false),
        ("GET / HTTP/0.9\r\nHost: h\r\n\r\n", 505, false),
    ] {
        let (reply, went_on) = ask(request);
        let shown = &request[..request.len().min(80)];
        assert_eq!((reply.status, went_on), (status, goes_on), "{shown:?}: {reply:?}");
        if status >= 400 && !request.starts_with("HEAD") {
            assert!(reply.text().starts_with(&status.to_string()), "{reply:?}");
            assert_eq!(reply.field("content-type"), Some("text/plain; charset=utf-8"));
        }
    }
}

#[test]
fn a_refusal_says_which_kind_it_is() {
    let end = |request: &str| exchange([request.as_bytes()]).end;
    assert_eq!(end("GET / HTTP/1.1\r\n\r\n"), MALFORMED);
    assert_eq!(end(&"x".repeat(9000)), TOO_LARGE);
    assert_eq!(end("GET / HTTP/2.0\r\n\r\n"), Some(End::Closed));
}

/// Heads in which two parsers might see different requests.
#[test]
fn shapes_of_request_smuggling_are_refused() {
    for (lines, status) in [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", 400),
        ("Content-Length: 5\r\nContent-Length: 5\r\n", 400),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", 400),
        ("Content-Length: 5, 5\r\n", 400),
        ("Content-Length: +5\r\n", 400),
        ("Content-Length: -5\r\n", 400),
        ("Content-Length: 5 5\r\n", 400),
        ("Content-Length: 0x5\r\n", 400),
        ("Content-Length: 5.0\r\n", 400),
        ("Content-Length: \r\n", 400),
        ("Content-Length:\r\n", 400),
        ("Content-Length: five\r\n", 400),
        ("Content-Length: 99999999999999999999999999\r\n", 413),
        ("Transfer-Encoding: gzip, chunked\r\n", 501),
        ("Transfer-Encoding: gzip\r\n", 501),
        ("Transfer-Encoding: identity\r\n", 501),
        ("Transfer-Encoding: xchunked\r\n", 501),
        ("Transfer-Encoding: chunked, gzip\r\n", 400),
        ("Transfer-Encoding: chunked, chunked\r\n", 400),
        ("Transfer-Encoding: chunked,\r\n", 400),
        ("Transfer-Encoding: , chunked\r\n", 400),
        ("Transfer-Encoding:\r\n", 400),
        ("Transfer-Encoding: \"chunked\"\r\n", 400),
        ("Transfer-Encoding: chunked;q=1\r\n", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", 400),
        ("Transfer-Encoding : chunked\r\n", 400),
        ("Transfer-Encoding\t: chunked\r\n", 400),
        (" Transfer-Encoding: chunked\r\n", 400),
        ("Content-Length : 5\r\n", 400),
        ("X: a\r\n folded\r\n", 400),
        ("X: a\r\n\tfolded\r\n", 400),
        ("X: a\rb\r\n", 400),
        ("X: a\r\r\n", 400),
        ("X: a\nContent-Length: 5\r\n", 400),
        ("X: a\n", 400),
        ("X: a\0b\r\n", 400),
        ("X: a\x7f\r\n", 400),
        ("X\0: a\r\n", 400),
        ("X a\r\n", 400),
        (": a\r\n", 400),
        ("\u{e4}: a\r\n", 400),
    ] {
        let request = format!(
            "POST /x HTTP/1.1\r\nHost: h\r\n{lines}\r\n0\r\n\r\nGET /hello.txt HTTP/1.1\r\nHost: h\r\n\r\n"
        );
        let outcome = exchange([request.as_bytes()]);
        let replies = replies(&outcome.sent, &[]);
        assert_eq!(replies.len(), 1, "{lines:?} let a request through: {replies:?}");
        assert_eq!(replies[0].status, status, "{lines:?}: {}", replies[0].text());
        assert_eq!(replies[0].field("connection"), Some("close"));
        assert!(outcome.end.is_some());
    }
    for request in [
        "POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /x HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n\n",
        "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
        "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HEAD / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
        "HEAD /# HTTP/1.1\r\nHost: h\r\n\r\n",
        "OPTIONS / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
    ] {
        let outcome = exchange([request.as_bytes()]);
        let replies = replies(&outcome.sent, &[request.starts_with("HEAD")]);
        assert_eq!((replies.len(), replies[0].status, outcome.end), (1, 400, MALFORMED), "{request:?}");
    }
}

#[test]
fn persistence_follows_version_and_connection_field() {
    for (version, lines, connection) in [
        ("1.1", "", None),
        ("1.1", "Connection: keep-alive\r\n", None),
        ("1.1", "Connection: Keep-Alive, Upgrade\r\n", None),
        ("1.1", "Connection: close\r\n", Some("close")),
        ("1.1", "Connection: CLOSE\r\n", Some("close")),
        ("1.1", "Connection: keep-alive\r\nConnection: x ,close\r\n", Some("close")),
        ("1.1", "Connection: closed\r\n", None),
        ("1.0", "", Some("close")),
        ("1.0", "Connection: keep-alive\r\n", Some("keep-alive")),
        ("1.0", "Connection: Keep-Alive\r\n", Some("keep-alive")),
        ("1.0", "Connection: keep-alive, close\r\n", Some("close")),
    ] {
        for path in ["/hello.txt", "/disk.bin", "/bytes/5", "/missing", "/dir"] {
            let (reply, goes_on) = ask(&format!("GET {path} HTTP/{version}\r\nHost: h\r\n{lines}\r\n"));
            assert_eq!(reply.field("connection"), connection, "{version} {lines:?} {path}");
            assert_eq!(goes_on, connection != Some("close"), "{version} {lines:?} {path}");
        }
    }
}

#[test]
fn a_stopping_server_answers_and_closes() {
    let (http, files) = (site(), files());
    for (request, status) in [
        ("GET /hello.txt HTTP/1.1\r\nHost: h\r\n\r\n", 200),
        ("GET /bytes/5 HTTP/1.1\r\nHost: h\r\n\r\n", 200),
        ("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 204),
        ("GET /missing HTTP/1.1\r\nHost: h\r\n\r\n", 404),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab", 200),
    ] {
        let mut pump = Pump::new(&http, &files);
        pump.worker.stopping = true;
        pump.feed(request.as_bytes());
        let reply = &replies(&pump.sent, &[])[0];
        assert_eq!((reply.status, reply.field("connection")), (status, Some("close")), "{request:?}");
        assert_eq!(pump.end, Some(End::Closed));
    }
    // The server is told to stop while the content is on its way.
    let mut pump = Pump::new(&http, &files);
    pump.feed(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\na");
    pump.worker.stopping = true;
    pump.feed(b"b");
    assert_eq!(replies(&pump.sent, &[])[0].field("connection"), Some("close"));
    assert_eq!(pump.end, Some(End::Closed));
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let request = "GET /hello.txt HTTP/1.1\r\nHost: h\r\n\r\n\
                   HEAD /disk.bin HTTP/1.1\r\nHost: h\r\n\r\n\
                   POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc\
                   GET /missing HTTP/1.1\r\nHost: h\r\n\r\n\
                   POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n\
                   \r\nGET /bytes/70 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n\
                   GET /never HTTP/1.1\r\nHost: h\r\n\r\n";
    let outcome = exchange([request.as_bytes()]);
    let replies = replies(&outcome.sent, &[false, true]);
    let statuses: Vec<u16> = replies.iter().map(|r| r.status).collect();
    assert_eq!(statuses, [200, 200, 200, 404, 200, 200]);
    assert_eq!((replies[2].text(), replies[4].text()), ("abc", "de"));
    assert_eq!(replies[5].content, pitot_proto::PATTERN[..70]);
    assert_eq!((outcome.replies, outcome.end), (6, Some(End::Closed)));
}

#[test]
fn a_long_head_may_come_a_byte_at_a_time() {
    let request = format!("GET /hello.txt HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n", "x".repeat(10_000));
    let outcome = exchange(request.as_bytes().chunks(1));
    assert_eq!(replies(&outcome.sent, &[])[0].status, 200);
}

#[test]
fn a_request_that_takes_too_long_gets_a_408() {
    let (http, files) = (site(), files());
    for begun in [
        "G",
        "GET / HTTP/1.1\r\nHost: h\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    ] {
        let mut pump = Pump::new(&http, &files);
        pump.feed(begun.as_bytes());
        assert!(pump.mid_request(), "{begun:?}");
        pump.expire();
        let reply = &replies(&pump.sent, &[])[0];
        assert_eq!((reply.status, reply.field("connection")), (408, Some("close")), "{begun:?}");
        assert_eq!(pump.replies(), 1);
    }
    for idle in ["", "\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"] {
        let mut pump = Pump::new(&http, &files);
        pump.feed(idle.as_bytes());
        let before = pump.sent.len();
        assert!(!pump.mid_request(), "{idle:?}");
        pump.expire();
        assert_eq!(pump.sent.len(), before, "an idle connection is closed without a word");
    }
}

#[test]
fn a_client_that_ends_its_input_keeps_its_replies_and_gets_no_other() {
    let (http, files) = (site(), files());
    let mut pump = Pump::new(&http, &files);
    pump.feed(b"GET /hello.txt HTTP/1.1\r\nHost: h\r\n\r\nGET /hel").end_of_input();
    assert_eq!(replies(&pump.sent, &[]).len(), 1);
    assert_eq!(pump.end, Some(End::Closed));
}

#[test]
fn options_and_errors_name_what_is_allowed() {
    for request in [
        "OPTIONS * HTTP/1.1",
        "OPTIONS / HTTP/1.1",
        "DELETE / HTTP/1.1",
        "PUT / HTTP/1.1\r\nContent-Length: 1",
    ] {
        let (reply, _) = ask(&format!("{request}\r\nHost: h\r\n\r\n"));
        assert_eq!(reply.field("allow"), Some("GET, HEAD, POST, OPTIONS"));
    }
    assert_eq!(get("/busy.txt", "").field("retry-after"), Some("1"));
}

#[test]
fn without_a_root_there_is_a_page_about_the_server_and_no_file() {
    let (http, files) = (Http::new(&ProtocolOptions::default()).unwrap(), files());
    for (path, status) in
        [("/", 200), ("/bytes/3", 200), ("/hello.txt", 404), ("/index.html", 404), ("/../", 404)]
    {
        let mut pump = Pump::new(&http, &files);
        pump.feed(format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes());
        let reply = &replies(&pump.sent, &[])[0];
        assert_eq!(reply.status, status, "{path}");
        assert_eq!(path == "/", reply.text().contains("/bytes/N"));
    }
}

#[test]
fn a_status_is_answered_as_it_was_asked_for_and_one_that_cannot_be_is_refused() {
    let http = Http::new(&ProtocolOptions::default()).unwrap();
    let files = Files::new();
    for (path, status, field) in [
        ("/status/200", 200, None),
        ("/status/204", 204, None),
        ("/status/302", 302, Some(("location", "/"))),
        ("/status/401", 401, Some(("www-authenticate", "Basic realm=\"pitot\""))),
        ("/status/503", 503, None),
        ("/status/599", 599, None),
        ("/status/101", 400, None),
        ("/status/600", 400, None),
        ("/status/99999999999999999999", 400, None),
        ("/status/", 404, None),
        ("/status/5xx", 404, None),
    ] {
        let mut pump = Pump::new(&http, &files);
        pump.feed(
            format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\nGET /bytes/1 HTTP/1.1\r\nHost: h\r\n\r\n")
                .as_bytes(),
        );
        let got = replies(&pump.sent, &[]);
        assert_eq!((got.len(), got[0].status, got[1].status), (2, status, 200), "{path}");
        if let Some((name, value)) = field {
            assert_eq!(got[0].field(name), Some(value), "{path}");
        }
        assert_eq!(pump.worker.tally.server_errors, u64::from(status >= 500), "{path}");
        assert_eq!(pump.worker.tally.client_errors, u64::from((400..500).contains(&status)), "{path}");
    }
}

#[test]
fn a_delay_is_asked_of_the_driver_and_is_nobodys_timeout() {
    let http = Http::new(&ProtocolOptions::default()).unwrap();
    let files = Files::new();
    let mut pump = Pump::new(&http, &files);
    pump.delays_pass = false;
    pump.feed(b"GET /delay/60s HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!((pump.delays.as_slice(), pump.sent.len()), (&[Duration::from_secs(60)][..], 0));
    assert_eq!(pump.deadline(), pitot_proto::Tick::NEVER);
    assert!(!pump.is_idle());
    pump.pass_delay();
    assert_eq!(replies(&pump.sent, &[])[0].text(), "after 60 s\n");
    assert!(pump.is_idle() && pump.deadline() != pitot_proto::Tick::NEVER);
    // One that is too long, and one that is none.
    for (path, status) in [("/delay/61s", 400), ("/delay/3", 404), ("/delay/", 404)] {
        let mut pump = Pump::new(&http, &files);
        pump.feed(format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes());
        assert_eq!(replies(&pump.sent, &[])[0].status, status, "{path}");
        assert!(pump.delays.is_empty(), "{path}");
    }
}

#[test]
fn limits_are_options_and_have_to_make_sense() {
    let options = ProtocolOptions { head_bytes_max: 128, request_line_bytes_max: 64, ..options() };
    let (http, files) = (Http::new(&options).unwrap(), Files::new());
    let status = |request: String| {
        let mut pump = Pump::new(&http as &dyn Protocol, &files);
        pump.feed(request.as_bytes());
        replies(&pump.sent, &[])[0].status
    };
    let head_of = |len: usize| {
        let (start, end) = ("GET / HTTP/1.1\r\nHost: h\r\nA: ", "\r\n\r\n");
        format!("{start}{}{end}", "b".repeat(len - start.len() - end.len()))
    };
    assert_eq!(status(head_of(128)), 404);
    assert_eq!(status(head_of(129)), 431);
    let line_of = |len: usize| {
        let (start, end) = ("GET /", " HTTP/1.1\r\n");
        format!("{start}{}{end}Host: h\r\n\r\n", "b".repeat(len - start.len() - end.len()))
    };
    assert_eq!(status(line_of(64)), 404);
    assert_eq!(status(line_of(65)), 414);
    for (head_bytes_max, request_line_bytes_max) in [(63, 16), (128, 15), (128, 129), (usize::MAX, 64)] {
        let options =
            ProtocolOptions { head_bytes_max, request_line_bytes_max, ..ProtocolOptions::default() };
        assert!(Http::new(&options).is_err());
    }
}
