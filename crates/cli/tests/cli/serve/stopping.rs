//! SIGTERM and SIGINT: what is under way is finished, everything else ends, and the counts are right.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::client::{connect, connect_narrow, expect_end, expect_pattern, until_read};
use super::http::{Http, get};
use super::pairs::{Cell, Pair, on_every_pair};
use super::server::{Ended, Server, serve};
use super::site::{LARGE_BYTES, Site};
use crate::support::until;

/// The server accepts no connection any more.
fn until_closed(server: &Server) {
    // One that succeeds may have been accepted by the kernel alone, or by a worker that had not heard yet.
    until("the server stops listening", || TcpStream::connect(server.addr).is_err());
}

#[test]
fn requests_in_flight_are_finished_before_the_end() {
    let site = Site::new();
    on_every_pair(Cell::Works, |pair| {
        let server = Server::start(pair, "http", &["--root", &site.root()]);
        let mut idle = Http::connect(server.addr);
        assert_eq!(idle.get("/small.txt").status, 200);
        let mut large = Http::on(connect_narrow(server.addr));
        large.ask("/bytes/8388608");
        assert_eq!(large.reply_to_head().status, 200);
        let mut file = Http::on(connect_narrow(server.addr));
        file.ask("/large.bin");
        assert_eq!(file.reply_to_head().status, 200);
        let mut in_head = Http::connect(server.addr);
        in_head.write("GET /bytes/77 HT");
        let mut in_body = Http::connect(server.addr);
        in_body.write("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\n12");
        until_read(server.addr, [in_head.stream(), in_body.stream()]);

        server.signal(Signal::TERM);
        expect_end(&mut idle.0);
        until_closed(&server);
        in_head.write("TP/1.1\r\nHost: test\r\n\r\n");
        // A worker that has not yet heard of the stop may not say so, but closes the connection all the same.
        let reply = in_head.reply();
        assert_eq!((reply.status, reply.body.len()), (200, 77));
        expect_end(&mut in_head.0);
        in_body.write("345");
        assert_eq!(in_body.reply().body, b"12345");
        expect_end(&mut in_body.0);
        expect_pattern(&mut large.0, 8 << 20, 1 << 16, |_| ());
        expect_end(&mut large.0);
        expect_pattern(&mut file.0, LARGE_BYTES, 1 << 16, |_| ());
        expect_end(&mut file.0);

        let ended = server.end();
        assert_eq!(ended.count("/requests"), 5);
        check(&ended);
        let sent = ended.count("/bytes/sent");
        assert!(sent > (8 << 20) + LARGE_BYTES, "{sent}");
        let received = ended.count("/bytes/received");
        assert!(received > 5 * 30, "{received}");
        // That of the server alone, not of this process, which started it.
        let memory = ended.count("/rss_peak_bytes");
        assert!((1 << 20..128 << 20).contains(&memory), "{memory}");
    });
}

fn check(ended: &Ended) {
    assert_eq!(ended.stats["forced"], false, "{}", ended.stats);
    ended.check_connections();
}

#[test]
fn a_blob_in_flight_is_finished_before_the_end() {
    on_every_pair(Cell::Works, |pair| {
        let server = Server::start(pair, "blob", &[]);
        let mut idle = connect(server.addr);
        idle.write_all(b"GET 10\n").expect("the server reads");
        expect_pattern(&mut idle, 10, 10, |_| ());
        let mut large = connect_narrow(server.addr);
        large.write_all(b"GET 8388608\n").expect("the server reads");
        expect_pattern(&mut large, 1000, 1000, |_| ());
        server.signal(Signal::INT);
        expect_end(&mut idle);
        let mut rest = 1000;
        let mut buffer = vec![0; 1 << 16];
        while let n @ 1.. = large.read(&mut buffer).expect("the rest") {
            rest += n;
        }
        assert_eq!(rest, 8 << 20);
        let ended = server.end();
        assert_eq!((ended.count("/requests"), ended.count("/connections/accepted")), (2, 2));
        check(&ended);
    });
}

#[test]
fn a_server_without_work_ends_at_once() {
    on_every_pair(Cell::Works, |pair| {
        for (protocol, signal) in [("busy", Signal::INT), ("blob", Signal::TERM), ("http", Signal::INT)] {
            let server = Server::start(pair, protocol, &["--grace", "60s"]);
            let started = Instant::now();
            server.signal(signal);
            check(&server.end());
            assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        }
    });
}

/// The command, started with this disposition of SIGHUP, whatever that of the tests is.
fn with_hangup(disposition: &str, command: &Command) -> Command {
    let mut env = Command::new("env");
    env.arg(format!("--{disposition}-signal=HUP")).arg(command.get_program()).args(command.get_args());
    env
}

#[test]
fn a_hangup_ends_a_server_unless_it_is_ignored() {
    for (model, mechanism) in [("loop", "epoll-et"), ("prefork", "blocking"), ("thread", "blocking")] {
        let command = serve(&Pair::named(model, mechanism), "http", &[]);
        let server = Server::run(with_hangup("default", &command));
        server.signal(Signal::HUP);
        check(&server.end());

        let server = Server::run(with_hangup("ignore", &command));
        server.signal(Signal::HUP);
        assert_eq!(Http::connect(server.addr).get("/bytes/10").status, 200);
        server.signal(Signal::TERM);
        assert_eq!(server.end().count("/requests"), 1);
    }
}

#[test]
fn a_client_that_never_reads_is_cut_at_the_end_of_the_grace_time() {
    on_every_pair(Cell::Waits, |pair| {
        let server = Server::start(pair, "http", &["--grace", "300ms"]);
        let mut never_reads = Http::on(connect_narrow(server.addr));
        never_reads.write(get("/bytes/1073741824"));
        assert_eq!(never_reads.reply_to_head().status, 200);
        let started = Instant::now();
        let ended = server.stop();
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        assert_eq!(ended.count("/connections/accepted"), 1);
    });
}

#[test]
fn a_second_signal_ends_the_grace_time() {
    on_every_pair(Cell::Works, |pair| {
        let server = Server::start(pair, "http", &["--grace", "10m"]);
        let mut idle = Http::connect(server.addr);
        assert_eq!(idle.get("/bytes/10").status, 200);
        let mut never_reads = Http::on(connect_narrow(server.addr));
        never_reads.write(get("/bytes/1073741824"));
        assert_eq!(never_reads.reply_to_head().status, 200);
        server.signal(Signal::TERM);
        expect_end(&mut idle.0);
        server.signal(Signal::TERM);
        let ended = server.end();
        assert_eq!(ended.stats["forced"], true, "{}", ended.stats);
    });
}
