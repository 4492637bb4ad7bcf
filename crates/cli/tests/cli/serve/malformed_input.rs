//! Clients that disconnect at any point, send malformed input or never stop sending: each gets a proper answer or is
//! disconnected, and the next one is served.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use super::client::{connect, expect_end, read_to_end, reset, until_read};
use super::http::{Http, get};
use super::pairs::{Cell, on_covering_pairs, on_every_pair};
use super::server::Server;

/// Checks that the server still serves.
fn check_serves(server: &Server, protocol: &str) {
    let mut stream = connect(server.addr);
    match protocol {
        "busy" => assert_eq!(read_to_end(&mut stream), b"450 too busy\r\n"),
        "blob" => {
            stream.write_all(b"GET 10\n").expect("the server reads");
            stream.read_exact(&mut [0; 10]).expect("a reply");
        }
        _ => assert_eq!(Http::on(stream).get("/bytes/10").body.len(), 10),
    }
}

#[test]
fn a_client_that_sends_after_the_last_reply_delays_no_other() {
    on_every_pair(Cell::Works, |pair| {
        let server = Server::start(pair, "http", &[]);
        for _ in 0..100 {
            // Input after the last request is discarded until the client closes.
            let mut talkative = Http::connect(server.addr);
            talkative.write("GET /bytes/10 HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\nand more");
            assert_eq!(talkative.reply().status, 200);
            drop(talkative);
            check_serves(&server, "http");
        }
        server.stop().check_connections();
    });
}

#[test]
fn resets_at_any_time_cost_the_connection_and_nothing_else() {
    on_every_pair(Cell::Works, |pair| {
        for protocol in ["busy", "blob", "http"] {
            let server = Server::start(pair, protocol, &[]);
            let (part, large): (&[u8], String) = match protocol {
                "http" => (
                    b"POST /any HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\n123",
                    get("/bytes/67108864"),
                ),
                _ => (b"GET 1", "GET 67108864\n".to_owned()),
            };
            for _ in 0..8 {
                // Before any input.
                reset(connect(server.addr));
                // In the middle of a request.
                let mut stream = connect(server.addr);
                let _ = stream.write_all(part);
                if protocol != "busy" {
                    until_read(server.addr, [&stream]);
                }
                reset(stream);
                // In the middle of a reply, read in part or not at all.
                for piece in [0, 10_000] {
                    let mut stream = connect(server.addr);
                    let _ = stream.write_all(large.as_bytes());
                    if protocol != "busy" {
                        stream.read_exact(&mut vec![0; piece]).expect("a part of the reply");
                    }
                    reset(stream);
                }
            }
            check_serves(&server, protocol);
            let ended = server.stop();
            assert!(ended.count("/connections/accepted") <= 33);
            ended.check_connections();
        }
    });
}

/// Writes what the server may refuse to read, and returns the whole reply. The server may close before it has read the
/// input, and its reset may destroy the reply.
fn talk(stream: &mut TcpStream, input: &[u8]) -> Option<Vec<u8>> {
    match stream.write_all(input) {
        Err(e) if !matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => panic!("{e}"),
        _ => {}
    }
    let mut reply = Vec::new();
    match stream.read_to_end(&mut reply) {
        Ok(_) => Some(reply),
        Err(e) if e.kind() == ErrorKind::ConnectionReset => None,
        Err(e) => panic!("the connection was not ended: {e}"),
    }
}

#[test]
fn garbage_is_answered_by_400_or_the_end() {
    // Every byte value, a TLS hello, a text in no protocol, and requests with something wrong in them.
    let all: Vec<u8> = (0..=255).rev().collect();
    let garbage: &[&[u8]] = &[
        &all,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n",
        b"EHLO example.org\r\n",
        b"\0\0\0\0\0\0\0\0\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST /any HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
        b"GET 0\n",
        b"GET 99999999999\n",
        b"GET GET GET GET GET GET GET GET GET GET GET GET\n",
    ];
    on_covering_pairs(Cell::Works, |pair| {
        for protocol in ["busy", "blob", "http"] {
            let server = Server::start(pair, protocol, &[]);
            for input in garbage {
                let said = talk(&mut connect(server.addr), input);
                match (protocol, said) {
                    // It never reads, so its close may be a reset.
                    ("busy", said) => assert!(said.is_none_or(|said| said == b"450 too busy\r\n")),
                    ("blob", said) => assert_eq!(said.as_deref(), Some(&b""[..]), "{}", input.escape_ascii()),
                    (_, said) => {
                        let said = said.unwrap_or_else(|| panic!("a reset for {}", input.escape_ascii()));
                        assert!(said.starts_with(b"HTTP/1.1 400 "), "{}", said.escape_ascii());
                    }
                }
            }
            check_serves(&server, protocol);
            server.stop().check_connections();
        }
    });
}

#[test]
fn a_line_without_end_is_refused() {
    on_covering_pairs(Cell::Works, |pair| {
        let server = Server::start(pair, "http", &[]);
        let megabyte = "x".repeat(1 << 20);
        for (input, status) in [
            (format!("GET / HTTP/1.1\r\nHost: test\r\nX: {megabyte}\r\n\r\n"), "431"),
            (format!("GET /{megabyte} HTTP/1.1\r\nHost: test\r\n\r\n"), "414"),
            (format!("GET / HTTP/1.1\r\nHost: test\r\n{}\r\n", "X: y\r\n".repeat(200_000)), "431"),
        ] {
            // The answer is there though the client was not done, and is not lost to a reset.
            let said = talk(&mut connect(server.addr), input.as_bytes()).expect("no reset");
            assert!(said.starts_with(format!("HTTP/1.1 {status} ").as_bytes()), "{}", said.escape_ascii());
        }
        check_serves(&server, "http");
        let ended = server.stop();
        assert_eq!(ended.count("/errors/too_large"), 3);
        ended.check_connections();

        let server = Server::start(pair, "blob", &[]);
        let said = talk(&mut connect(server.addr), megabyte.as_bytes());
        assert!(said.is_none_or(|said| said.is_empty()));
        check_serves(&server, "blob");
        server.stop().check_connections();
    });
}

#[test]
fn input_after_the_last_request_does_not_destroy_its_reply() {
    on_every_pair(Cell::Works, |pair| {
        let server = Server::start(pair, "http", &[]);
        let mut http = Http::connect(server.addr);
        http.write("GET /bytes/100000 HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        http.write("and more that nobody wants ".repeat(100));
        let reply = http.reply();
        assert_eq!((reply.status, reply.body.len()), (200, 100_000));
        expect_end(&mut http.0);
        drop(http);
        server.stop().check_connections();
    });
}
