//! What one request costs in `http`, from the bytes of the request to the bytes of the reply, without a system call.
//!
//! The figure is the median of many short rounds, each a mean over thousands of requests. A word on the command line
//! selects the cases whose name contains it.

use std::hint::black_box;
use std::time::Instant;

use pitot_proto::http::Http;
use pitot_proto::{Context, Exchange, Next, Protocol, ProtocolOptions, ServerConn};
use pitot_proto_harness::{DATE, Files, Held, UNIX_S};

const ROUNDS: usize = 101;
const REQUESTS_PER_ROUND: u32 = 5_000;

fn serve(conn: &mut dyn ServerConn, cx: &Context<'_>, files: &Files, input: &[u8], exchange: &mut Exchange) {
    let step = conn.receive(cx, black_box(input), exchange).expect("a sound request");
    assert_eq!(step.consumed, input.len());
    if step.next == Next::Open {
        let answer = files.open(&exchange.path);
        conn.opened(cx, answer, exchange);
    }
    black_box(exchange.out.gather());
    exchange.out.advance(exchange.out.len());
}

fn main() {
    let word = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    let mut files = Files::new();
    files.add("index.html", &[b'x'; 1024], Held::InMemory);
    files.add("large.bin", &[b'x'; 1 << 20], Held::OnDisk);
    let http =
        Http::new(&ProtocolOptions { root: true, ..ProtocolOptions::default() }).expect("sound options");
    let cx = Context { unix_s: UNIX_S, date: DATE, stopping: false };
    let browser = "Host: 127.0.0.1:8080\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101\r\n\
                   Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
                   Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\
                   Connection: keep-alive\r\nUpgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\n\
                   Sec-Fetch-Mode: navigate\r\nSec-Fetch-Site: none\r\nSec-Fetch-User: ?1\r\nPriority: u=0, i\r\n";
    let short = "Host: 127.0.0.1:8080\r\n";
    for (name, line, fields) in [
        ("file of 1 KiB, short head", "GET /index.html HTTP/1.1", short),
        (
            "file of 1 KiB, ab -k",
            "GET /index.html HTTP/1.0",
            "Connection: Keep-Alive\r\nHost: h\r\nUser-Agent: ab\r\n",
        ),
        ("file of 1 KiB, a browser's head", "GET /index.html HTTP/1.1", browser),
        ("file of 1 MiB on disk, short head", "GET /large.bin HTTP/1.1", short),
        ("1 KiB generated, short head", "GET /bytes/1024 HTTP/1.1", short),
        ("304, short head", "GET /index.html HTTP/1.1", "Host: h\r\nIf-None-Match: *\r\n"),
        ("404, short head", "GET /missing HTTP/1.1", short),
    ] {
        if !name.contains(&word) {
            continue;
        }
        let request = format!("{line}\r\n{fields}\r\n");
        let (mut conn, mut exchange) = (http.connect(), Exchange::new());
        let mut rounds: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                for _ in 0..REQUESTS_PER_ROUND {
                    serve(&mut *conn, &cx, &files, request.as_bytes(), &mut exchange);
                }
                start.elapsed().as_secs_f64() * 1e9 / f64::from(REQUESTS_PER_ROUND)
            })
            .collect();
        rounds.sort_by(f64::total_cmp);
        println!("{:>6.0} ns  {name} (fastest round {:.0})", rounds[ROUNDS / 2], rounds[0]);
    }
}
