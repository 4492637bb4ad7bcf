//! Many requests at once, large replies, slow readers, clients that close their half.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::thread;

use pitot_proto::pattern_at;

use super::client::{connect, connect_narrow, expect_end, expect_pattern, write_until_stuck};
use super::http::{Http, get};
use super::pairs::{Cell, on_covering_pairs, on_every_pair};
use super::server::Server;
use super::site::{LARGE_BYTES, SMALL, Site};

const MIB: u64 = 1 << 20;

/// A reply of which a server must not have all in memory.
const WHOLE_BYTES: u64 = 24 * MIB;

/// What a server with a few connections may take more than one with none: the buffers of its workers, and those of its
/// connections many times over, but not a large reply.
const MEMORY_BYTES: u64 = 12 * MIB;

/// What one client that never reads may cost: a quarter MiB of replies (`--outbox`) as they wait and as they are being
/// sent, and what it sent before its receive was held back.
const STUCK_BYTES: u64 = 5 << 19;

#[test]
fn pipelined_requests_are_answered_in_order() {
    let site = Site::new();
    on_every_pair(Cell::Waits, |pair| {
        let server = Server::start(pair, "http", &["--root", &site.root()]);
        let mut http = Http::connect(server.addr);
        let mut writer = http.stream().try_clone().expect("a descriptor");
        let requests: String = (0..600)
            .map(|i| if i % 3 == 0 { get("/small.txt") } else { get(&format!("/bytes/{}", i * 97)) })
            .collect();
        let writer = thread::spawn(move || writer.write_all(requests.as_bytes()));
        for i in 0..600 {
            let reply = http.reply();
            assert_eq!(reply.status, 200);
            if i % 3 == 0 {
                assert_eq!(reply.body, SMALL);
            } else {
                assert_eq!(reply.body.len(), i * 97);
            }
        }
        writer.join().expect("no panic").expect("the server reads");
        drop(http);

        let blob = Server::start(pair, "blob", &[]);
        let mut stream = connect(blob.addr);
        let mut writer = stream.try_clone().expect("a descriptor");
        let requests: String = (1..=2000).map(|i| format!("GET {}\n", i * 7)).collect();
        let writer = thread::spawn(move || writer.write_all(requests.as_bytes()));
        (1..=2000).for_each(|i| expect_pattern(&mut stream, i * 7, 1 << 16, |_| ()));
        writer.join().expect("no panic").expect("the server reads");
        drop(stream);

        for (server, requests) in [(server, 600), (blob, 2000)] {
            let ended = server.stop();
            assert_eq!(ended.count("/requests"), requests);
            ended.check_connections();
        }
    });
}

#[test]
fn files_are_whole_however_tcp_is_tuned() {
    let site = Site::new();
    on_covering_pairs(Cell::Waits, |pair| {
        let args = ["--root", &site.root(), "--no-cork", "--congestion", "reno", "--keep-files", "0"];
        let server = Server::start(pair, "http", &args);
        let mut http = Http::connect(server.addr);
        for _ in 0..2 {
            assert_eq!(http.get("/small.txt").body, SMALL);
            http.ask("/large.bin");
            let head = http.reply_to_head();
            assert_eq!(head.field("content-length"), Some(&*LARGE_BYTES.to_string()));
            expect_pattern(&mut http.0, LARGE_BYTES, 1 << 16, |_| ());
        }
        drop(http);
        server.stop().check_connections();
    });
}

#[test]
fn a_large_reply_reaches_a_slow_reader_whole_and_takes_no_memory() {
    on_every_pair(Cell::Waits, |pair| {
        let blob = Server::start(pair, "blob", &[]);
        expect_pattern(&mut request(&blob, b"GET 10\n"), 10, 10, |_| ());
        let before = blob.memory_bytes();
        let mut stream = connect_narrow(blob.addr);
        stream.write_all(format!("GET {WHOLE_BYTES}\n").as_bytes()).expect("the server reads");
        expect_pattern(&mut stream, WHOLE_BYTES, 8192, |read| check_memory(&blob, before, read));
    });
}

#[test]
fn a_large_page_reaches_a_slow_reader_whole_and_takes_no_memory() {
    let site = Site::new();
    let bytes: Vec<u8> = (0..WHOLE_BYTES).map(pattern_at).collect();
    std::fs::write(site.path("whole.bin"), bytes).expect("a file");
    on_covering_pairs(Cell::Waits, |pair| {
        let server = Server::start(pair, "http", &["--root", &site.root()]);
        assert_eq!(Http::connect(server.addr).get("/small.txt").body, SMALL);
        let before = server.memory_bytes();
        let mut http = Http::on(connect_narrow(server.addr));
        let generated = format!("/bytes/{WHOLE_BYTES}");
        for path in [&*generated, "/whole.bin"] {
            http.ask(path);
            let head = http.reply_to_head();
            assert_eq!(head.field("content-length"), Some(WHOLE_BYTES.to_string().as_str()));
            expect_pattern(&mut http.0, WHOLE_BYTES, 8192, |read| check_memory(&server, before, read));
        }
    });
}

fn request(server: &Server, bytes: &[u8]) -> std::net::TcpStream {
    let mut stream = connect(server.addr);
    stream.write_all(bytes).expect("the server reads");
    stream
}

/// Every 8 MiB.
fn check_memory(server: &Server, before: u64, read: u64) {
    if (read / (8 * MIB)) != (read.saturating_sub(4096) / (8 * MIB)) {
        let now = server.memory_bytes();
        assert!(now < before + MEMORY_BYTES, "{} KiB more", (now - before) >> 10);
    }
}

#[test]
fn clients_that_never_read_take_bounded_memory_and_disturb_nobody() {
    const CLIENTS: u64 = 8;
    on_every_pair(Cell::Waits, |pair| {
        for (protocol, request) in [("blob", "GET 1000\n".to_owned()), ("http", get("/bytes/1000"))] {
            let server = Server::start(pair, protocol, &[]);
            // As many connections as later, so that each has had its process or thread.
            let idle: Vec<_> = (0..CLIENTS)
                .map(|_| {
                    let mut stream = connect(server.addr);
                    stream.write_all(request.as_bytes()).expect("the server reads");
                    assert!(stream.read(&mut [0; 4096]).expect("a reply") > 0);
                    stream
                })
                .collect();
            let before = server.memory_bytes();
            drop(idle);
            let requests = request.repeat(4 << 20 >> request.len().ilog2());
            let stuck: Vec<_> = thread::scope(|scope| {
                let clients: Vec<_> = (0..CLIENTS)
                    .map(|_| {
                        scope.spawn(|| {
                            let mut stream = connect_narrow(server.addr);
                            write_until_stuck(&mut stream, requests.as_bytes());
                            stream
                        })
                    })
                    .collect();
                clients.into_iter().map(|client| client.join().expect("no panic")).collect()
            });
            let more = server.memory_bytes().saturating_sub(before);
            assert!(
                more < CLIENTS * STUCK_BYTES,
                "{protocol}: {} KiB more for {CLIENTS} clients",
                more >> 10
            );
            let mut other = connect(server.addr);
            other.write_all(request.as_bytes()).expect("the server reads");
            other.read_exact(&mut [0; 1000]).expect("a reply");
            drop((stuck, other));
            server.stop().check_connections();
        }
    });
}

#[test]
fn half_closed_client_still_gets_its_reply() {
    on_every_pair(Cell::Waits, |pair| {
        for (protocol, request, size) in
            [("blob", "GET 8388608\n".to_owned(), 8 * MIB), ("http", get("/bytes/8388608"), 8 * MIB)]
        {
            let server = Server::start(pair, protocol, &[]);
            let expect = |http: &mut Http, size| {
                if protocol == "http" {
                    assert_eq!(http.reply_to_head().status, 200);
                }
                expect_pattern(&mut http.0, size, 1 << 16, |_| ());
            };
            let close_half = |http: &Http| http.stream().shutdown(Shutdown::Write).expect("a connection");

            let mut http = Http::connect(server.addr);
            http.write(&request);
            close_half(&http);
            expect(&mut http, size);
            expect_end(&mut http.0);

            // The last request and the end of input are there before the server looks.
            let mut http = Http::connect(server.addr);
            http.write(&request);
            expect(&mut http, size);
            server.while_frozen(|| {
                http.write(&request);
                close_half(&http);
            });
            expect(&mut http, size);
            expect_end(&mut http.0);

            // Nothing but the end of input.
            let http = Http::connect(server.addr);
            close_half(&http);
            expect_end(&mut http.stream());
            drop(http);

            let ended = server.stop();
            assert_eq!(ended.count("/requests"), 3);
            ended.check_connections();
        }
    });
}

#[test]
fn a_body_waits_behind_a_reply_that_is_not_read() {
    on_every_pair(Cell::Waits, |pair| {
        let server = Server::start(pair, "http", &[]);
        let mut http = Http::on(connect_narrow(server.addr));
        // As long as content may be.
        let body = vec![b'x'; 1 << 20];
        let mut writer = http.stream().try_clone().expect("a descriptor");
        let writer = thread::spawn(move || {
            let large = get("/bytes/8388608");
            let post = format!("POST /any HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n", body.len());
            writer.write_all(&[large.as_bytes(), post.as_bytes(), &body].concat())
        });
        assert_eq!(http.reply_to_head().status, 200);
        expect_pattern(&mut http.0, 8 * MIB, 1 << 16, |_| ());
        assert_eq!(http.reply().status, 200);
        writer.join().expect("no panic").expect("the server reads");
        drop(http);
        server.stop().check_connections();
    });
}
