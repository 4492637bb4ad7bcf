//! The content of requests: lengths, chunks, limits and expectations.

use pitot_proto_harness::Pump;

use super::support::*;

fn post(path: &str, lines: &str, content: &str) -> Reply {
    ask(&format!("POST {path} HTTP/1.1\r\nHost: h\r\n{lines}\r\n{content}")).0
}

#[test]
fn content_is_counted() {
    assert_eq!(post("/x", "Content-Length: 5\r\n", "hello").text(), "received 5 bytes\n");
    assert_eq!(post("/x", "Content-Length: 0\r\n", "").text(), "received 0 bytes\n");
    assert_eq!(post("/x?y", "Content-Length: 005\r\n", "hello").text(), "received 5 bytes\n");
    let chunks = "5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: x\r\n\r\n";
    assert_eq!(post("/x", "Transfer-Encoding: Chunked\r\n", chunks).text(), "received 11 bytes\n");
}

#[test]
fn echoed_content_comes_back_as_bytes_that_no_browser_runs() {
    for reply in [
        post("/echo", "Content-Length: 8\r\n", "<script>"),
        post("/echo", "Transfer-Encoding: chunked\r\n", "8\r\n<script>\r\n0\r\n\r\n"),
    ] {
        assert_eq!((reply.status, reply.text()), (200, "<script>"));
        assert_eq!(reply.field("content-type"), Some("application/octet-stream"));
    }
}

#[test]
fn content_beyond_its_limit_is_refused_before_it_is_read() {
    let limit = 1024 * 1024;
    for (path, limit) in [("/x", limit), ("/echo", 64 * 1024)] {
        let head = format!("POST {path} HTTP/1.1\r\nHost: h\r\n");
        let fits = format!("{head}Content-Length: {limit}\r\n\r\n{}", "x".repeat(limit));
        assert_eq!(ask(&fits).0.status, 200);
        let announced = format!("{head}Content-Length: {}\r\nExpect: 100-continue\r\n\r\n", limit + 1);
        let outcome = exchange([announced.as_bytes()]);
        assert_eq!((replies(&outcome.sent, &[])[0].status, outcome.end), (413, TOO_LARGE));

        let chunk = format!("8000\r\n{}\r\n", "x".repeat(0x8000));
        let chunks = chunk.repeat(limit / 0x8000);
        let fits = format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n");
        assert_eq!(ask(&fits).0.status, 200);
        let exceeds = format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunks}1\r\nx");
        let outcome = exchange([exceeds.as_bytes()]);
        assert_eq!((replies(&outcome.sent, &[])[0].status, outcome.end), (413, TOO_LARGE));
    }
}

#[test]
fn odd_chunks_are_refused() {
    for (chunks, status) in [
        ("+5\r\nhello\r\n0\r\n\r\n", 400),
        ("0x5\r\nhello\r\n0\r\n\r\n", 400),
        (" 5\r\nhello\r\n0\r\n\r\n", 400),
        ("5 \r\nhello\r\n0\r\n\r\n", 400),
        ("5\nhello\r\n0\r\n\r\n", 400),
        ("5\r\nhello\n0\r\n\r\n", 400),
        ("5\r\nhello0\r\n\r\n", 400),
        ("00000000000000005\r\nhello\r\n0\r\n\r\n", 400),
        ("ffffffffffffffff\r\nhello\r\n0\r\n\r\n", 0),
        ("0\r\nA : b\r\n\r\n", 400),
        ("0\r\nA: b\n\r\n", 400),
        ("0\r\n folded\r\n\r\n", 400),
    ] {
        let request = format!("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
        let outcome = exchange([request.as_bytes()]);
        if status == 0 {
            // The rest of a very long chunk has not come: nothing is wrong yet.
            assert_eq!((outcome.sent.len(), outcome.end), (0, None));
            continue;
        }
        let replies = replies(&outcome.sent, &[]);
        assert_eq!((replies.len(), replies[0].status, outcome.end), (1, status, MALFORMED), "{chunks:?}");
    }
    let long = format!(
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: {}\r\n\r\n",
        "x".repeat(20_000)
    );
    let outcome = exchange([long.as_bytes()]);
    assert_eq!((replies(&outcome.sent, &[])[0].status, outcome.end), (431, TOO_LARGE));
}

#[test]
fn a_client_that_waits_is_told_to_go_on_once() {
    let (http, files) = (site(), files());
    let head = b"POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n";
    let mut pump = Pump::new(&http, &files);
    pump.feed(head);
    assert_eq!(pump.sent, b"HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(pump.replies(), 0, "it is no final reply");
    pump.feed(b"a").feed(b"bc");
    let replies = replies(&pump.sent, &[]);
    assert_eq!((replies.len(), replies[1].text(), pump.replies()), (2, "abc", 1));
}

#[test]
fn a_client_that_does_not_wait_or_cannot_is_not_told_to_go_on() {
    for request in [
        // The content has begun to arrive.
        "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
        "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n",
        "POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
        "POST /echo HTTP/1.0\r\nExpect: more\r\nContent-Length: 3\r\n\r\nabc",
        "GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n",
    ] {
        assert_eq!(ask(request).0.status, 200, "{request:?}");
    }
    let (http, files) = (site(), files());
    let mut pump = Pump::new(&http, &files);
    pump.feed(b"POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    assert_eq!(pump.sent, b"");
}
