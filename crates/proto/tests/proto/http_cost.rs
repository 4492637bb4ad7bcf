//! What `http` takes from the heap: little for a connection, nothing for a plain request.

use allocation_counter::measure;
use pitot_proto::http::Http;
use pitot_proto::{Context, Exchange, Next, Protocol, ProtocolOptions, ServerConn};
use pitot_proto_harness::{DATE, Files, Held, UNIX_S};

const CX: Context<'static> = Context { unix_s: UNIX_S, date: DATE, stopping: false };

fn site() -> (Http, Files) {
    let mut files = Files::new();
    files.add("small.txt", &[b'x'; 1024], Held::InMemory);
    files.add("disk.bin", &[b'x'; 9000], Held::OnDisk);
    (Http::new(&ProtocolOptions { root: true, ..ProtocolOptions::default() }).unwrap(), files)
}

/// Takes one whole request and sends the reply.
fn serve(conn: &mut dyn ServerConn, files: &Files, input: &[u8], exchange: &mut Exchange) {
    let mut input = input;
    while !input.is_empty() {
        let step = conn.receive(&CX, input, exchange).unwrap();
        input = &input[step.consumed..];
        if step.next == Next::Open {
            let answer = files.open(&exchange.path);
            conn.opened(&CX, answer, exchange);
        }
    }
    assert!(!exchange.out.is_empty());
    exchange.out.advance(exchange.out.len());
    assert_eq!(std::mem::take(&mut exchange.counts.replies), 1);
}

#[test]
fn a_plain_request_allocates_nothing_once_the_connection_is_warm() {
    let (http, files) = site();
    let mut conn = http.connect();
    let mut exchange = Exchange::new();
    for request in [
        "GET /small.txt HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: x\r\nAccept: */*\r\n\r\n",
        "HEAD /small.txt HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /small.txt HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "GET /disk.bin HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /bytes/1024 HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /bytes/1073741824 HTTP/1.1\r\nHost: h\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
    ] {
        serve(&mut *conn, &files, request.as_bytes(), &mut exchange);
        let cost = measure(|| {
            for _ in 0..10 {
                serve(&mut *conn, &files, request.as_bytes(), &mut exchange);
            }
        });
        assert_eq!(cost.count_total, 0, "{request:?}");
    }
}

#[test]
fn an_idle_connection_is_a_few_words_whatever_it_has_done() {
    let (http, files) = site();
    let mut conn = None;
    let fresh = measure(|| conn = Some(http.connect()));
    assert!(fresh.bytes_current <= 24, "{fresh:?}");
    let mut conn = conn.unwrap();
    let chunks = "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let mut exchange = Exchange::new();
    for request in [
        "GET /small.txt?query HTTP/1.1\r\nHost: h\r\nRange: bytes=0-5,200-\r\nIf-Match: *\r\n\r\n",
        "GET /disk.bin HTTP/1.1\r\nHost: h\r\nIf-None-Match: \"a\", \"b\"\r\nRange: bytes=0-5,200-\r\n\r\n",
        "GET /missing?query HTTP/1.1\r\nHost: h\r\nIf-Match: \"a\"\r\n\r\n",
        chunks,
    ] {
        // What the outbox and the open file keep for later is there after the first time.
        serve(&mut *conn, &files, request.as_bytes(), &mut exchange);
        let kept = measure(|| serve(&mut *conn, &files, request.as_bytes(), &mut exchange));
        assert_eq!(kept.bytes_current, 0, "{request:?} leaves {kept:?}");
    }
}

#[test]
fn content_takes_no_memory_beyond_its_count() {
    let (http, _) = site();
    let mut conn = http.connect();
    let mut exchange = Exchange::new();
    let head = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    conn.receive(&CX, head, &mut exchange).unwrap();
    let chunk = [b"8000\r\n".as_slice(), &[b'x'; 0x8000], b"\r\n"].concat();
    let cost = measure(|| {
        for _ in 0..32 {
            conn.receive(&CX, &chunk, &mut exchange).unwrap();
        }
    });
    assert_eq!(cost.count_total, 0);
}
