//! What is logged of requests.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use pitot_proto::http::Http;
use pitot_proto::http::options::HttpOptions;
use pitot_proto::{FileFailure, LogSink, ProtocolOptions, Tick};
use pitot_proto_harness::Pump;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::support::*;

#[derive(Clone, Debug, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl LogSink for Lines {
    fn line(&mut self, line: &[u8]) {
        let line = std::str::from_utf8(line).expect("ASCII").strip_suffix('\n').expect("a line");
        assert!(line.bytes().all(|b| matches!(b, b' '..=b'~')), "{line:?}");
        self.0.lock().unwrap().push(line.to_owned());
    }
    fn flush(&mut self, _: Tick, _: bool) {}
    fn is_waiting(&self) -> bool {
        false
    }
}

impl Lines {
    /// The lines so far, without what all of them start with.
    fn take(&self) -> Vec<String> {
        let lines = std::mem::take(&mut *self.0.lock().unwrap());
        let rest = |line: &String| {
            line.strip_prefix("192.0.2.1 - - [06/Nov/1994:08:49:37 +0000] ").expect("the start").to_owned()
        };
        lines.iter().map(rest).collect()
    }
}

fn logged() -> Http {
    let http = HttpOptions { access_log: Some("-"), ..HttpOptions::default() };
    Http::new(&ProtocolOptions { http, writable: true, content_bytes_max: 10, ..options() }).unwrap()
}

fn with_log(work: impl FnOnce(&mut Pump<'_>, &Lines)) -> Vec<String> {
    let (http, files, lines) = (logged(), files(), Lines::default());
    let peer: IpAddr = "::ffff:192.0.2.1".parse().unwrap();
    let mut pump = Pump::with_peer(&http, &files, Some(peer));
    pump.worker.log = Some(Box::new(lines.clone()));
    work(&mut pump, &lines);
    lines.take()
}

fn lines_of(pieces: &[&[u8]]) -> Vec<String> {
    with_log(|pump, _| {
        for piece in pieces {
            pump.feed(piece);
        }
    })
}

const REQUESTS: &[u8] =
    b"GET /hello.txt?q=1 HTTP/1.1\r\nHost: h\r\nUser-Agent: a \"b\"\\\r\nReferer: http://x/\r\n\r\n\
    HEAD /disk.bin HTTP/1.1\r\nHost: h\r\n\r\n\
    \r\n\
    GET /disk.bin HTTP/1.1\r\nHost: h\r\nRange: bytes=0-9\r\n\r\n\
    POST /echo HTTP/1.1\r\nHost: h\r\nUser-Agent: p\r\nContent-Length: 5\r\n\r\nhello\
    PUT /new HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\
    GET /bytes/70000 HTTP/1.1\r\nHost: h\r\n\r\n\
    GET /none HTTP/1.1\r\nHost: h\r\n\r\n\
    OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n\
    GET /hello.txt HTTP/1.1\r\nHost: h\r\nIf-None-Match: *\r\n\r\n\
    GET /\x22 HTTP/9.9\r\n\r\n";

const EXPECTED: &[&str] = &[
    r#""GET /hello.txt?q=1 HTTP/1.1" 200 13 "http://x/" "a \x22b\x22\x5C""#,
    r#""HEAD /disk.bin HTTP/1.1" 200 0 "-" "-""#,
    r#""GET /disk.bin HTTP/1.1" 206 10 "-" "-""#,
    r#""POST /echo HTTP/1.1" 200 5 "-" "p""#,
    r#""PUT /new HTTP/1.1" 201 8 "-" "-""#,
    r#""GET /bytes/70000 HTTP/1.1" 200 70000 "-" "-""#,
    r#""GET /none HTTP/1.1" 404 32 "-" "-""#,
    r#""OPTIONS * HTTP/1.1" 204 0 "-" "-""#,
    r#""GET /hello.txt HTTP/1.1" 304 0 "-" "-""#,
    r#""GET /\x22 HTTP/9.9" 505 "#,
];

fn check(lines: &[String]) {
    assert_eq!(lines.len(), EXPECTED.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(EXPECTED) {
        assert!(line.starts_with(expected), "{line} is not {expected}");
    }
}

#[test]
fn every_request_has_a_line() {
    check(&lines_of(&[REQUESTS]));
    check(&lines_of(&REQUESTS.chunks(1).collect::<Vec<_>>()));
}

proptest! {
    #[test]
    fn lines_do_not_depend_on_how_the_input_is_cut(at in vec(any::<Index>(), 0..6)) {
        let mut cuts: Vec<usize> = at.iter().map(|i| i.index(REQUESTS.len() + 1)).collect();
        cuts.extend([0, REQUESTS.len()]);
        cuts.sort_unstable();
        check(&lines_of(&cuts.windows(2).map(|w| &REQUESTS[w[0]..w[1]]).collect::<Vec<_>>()));
    }

    #[test]
    fn there_are_as_many_lines_as_replies(input in vec(any::<u8>(), 0..200)) {
        let mut replies = 0;
        let lines = with_log(|pump, _| {
            replies = pump.feed(&input).end_of_input().worker.tally.replies;
        });
        prop_assert_eq!(lines.len() as u64, replies);
    }
}

#[test]
fn a_line_says_what_was_sent_before_the_client_went() {
    let lines = with_log(|pump, lines| {
        pump.room = 1000;
        pump.feed(b"GET /bytes/70000 HTTP/1.1\r\nHost: h\r\n\r\n");
        assert!(lines.take().is_empty(), "it is not known yet");
        pump.break_socket();
    });
    let sent: u64 = lines[0].split(' ').nth(4).unwrap().parse().unwrap();
    assert!((700..1000).contains(&sent), "{lines:?}");
}

#[test]
fn what_came_too_late_and_what_failed_has_a_line() {
    let late = with_log(|pump, _| {
        pump.feed(b"GET / HTT").expire();
    });
    assert!(late[0].starts_with(r#""-" 408 "#), "{late:?}");
    let late = with_log(|pump, _| {
        pump.feed(b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na").expire();
    });
    assert!(late[0].starts_with(r#""POST /x HTTP/1.1" 408 "#), "{late:?}");
    let failed = with_log(|pump, _| {
        pump.room = 0;
        let get = "GET /hello.txt HTTP/1.1\r\nHost: h\r\n\r\nGET /disk.bin HTTP/1.1\r\nHost: h\r\n\r\n";
        pump.feed(get.as_bytes());
        pump.feed(b"GET /bytes/5 HTTP/1.1\r\nHost: h\r\n\r\n");
        pump.room = u64::MAX;
        pump.fail_file(FileFailure::Truncated);
    });
    assert!(failed[0].starts_with(r#""GET /hello.txt HTTP/1.1" 200 13 "#), "{failed:?}");
    assert!(failed[1].starts_with(r#""GET /disk.bin HTTP/1.1" 500 "#), "{failed:?}");
    assert_eq!(failed.len(), 2);
}

/// However many requests arrive before a reply is read, few lines wait.
#[test]
fn lines_that_wait_have_a_bound() {
    let mut seen = 0;
    let lines = with_log(|pump, lines| {
        let request = format!("GET /bytes/1 HTTP/1.1\r\nHost: h\r\nUser-Agent: {}\r\n\r\n", "a".repeat(8000));
        for _ in 0..100 {
            pump.feed(request.as_bytes());
        }
        pump.feed(request.repeat(100).as_bytes());
        seen = lines.0.lock().unwrap().len();
    });
    assert_eq!((seen, lines.len()), (200, 200));
}
