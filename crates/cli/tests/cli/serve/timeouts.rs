//! Clients who take too long.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::client::{connect, connect_narrow, expect_end, read_to_end};
use super::http::{Http, get};
use super::pairs::{Cell, Pair, on_covering_pairs, on_every_pair, on_these};
use super::procfs::Process;
use super::server::Server;
use crate::support::TIMEOUT;

const ARGS: [&str; 6] = ["--header-timeout", "500ms", "--idle-timeout", "500ms", "--write-timeout", "700ms"];

/// Between two bytes of a client that sends one at a time.
const DRIBBLE: Duration = Duration::from_millis(60);
/// Bytes after which such a client must have been cut, at the latest.
const DRIBBLE_MAX: usize = TIMEOUT.as_millis() as usize / DRIBBLE.as_millis() as usize;

/// Sends a byte at a time until the server has had enough, and returns what it said.
fn dribble(mut stream: TcpStream, bytes: impl Iterator<Item = u8>) -> Vec<u8> {
    let mut said = vec![0; 4096];
    for byte in bytes.take(DRIBBLE_MAX) {
        if stream.write_all(&[byte]).is_err() {
            return Vec::new();
        }
        stream.set_read_timeout(Some(DRIBBLE)).expect("an option");
        match stream.read(&mut said) {
            Ok(n) => {
                said.truncate(n);
                return said;
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return Vec::new(),
        }
    }
    panic!("{DRIBBLE_MAX} bytes were taken one at a time");
}

/// Waits for the reset of a connection whose reply is not read.
fn expect_cut(stream: &TcpStream) {
    let timeout = Timespec { tv_sec: TIMEOUT.as_secs() as i64, tv_nsec: 0 };
    // Errors are always reported.
    let mut fds = [PollFd::new(stream, PollFlags::empty())];
    assert_eq!(poll(&mut fds, Some(&timeout)), Ok(1), "a reply that nobody reads is still being sent");
}

#[test]
fn whoever_takes_too_long_over_http_is_cut() {
    on_every_pair(Cell::Waits, |pair| {
        let server = Server::start(pair, "http", &ARGS);
        let start = |input: &[u8]| {
            let mut stream = connect(server.addr);
            stream.write_all(input).expect("the server reads");
            stream
        };
        let mut silent = start(b"");
        let mut idle = Http::on(start(get("/bytes/10").as_bytes()));
        assert_eq!(idle.reply().status, 200);
        let mut in_head = Http::on(start(b"GET / HTTP/1.1\r\nHo"));
        let mut in_second_head = Http::on(start(format!("{}GET /by", get("/bytes/10")).as_bytes()));
        let mut in_body = Http::on(start(b"POST /any HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\n123"));
        let mut never_reads = connect_narrow(server.addr);
        never_reads.write_all(get("/bytes/1073741824").as_bytes()).expect("the server reads");

        let endless = b"GET / HTTP/1.1\r\nHost: test\r\n".iter().chain(b"X: y\r\n".iter().cycle());
        let said = dribble(connect(server.addr), endless.copied());
        assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 408 "), "{}", said.escape_ascii());

        expect_end(&mut silent);
        expect_end(&mut idle.0);
        assert_eq!(in_second_head.reply().status, 200);
        for late in [&mut in_head, &mut in_second_head, &mut in_body] {
            assert_eq!(late.reply().status, 408);
            expect_end(&mut late.0);
        }
        expect_cut(&never_reads);
        drop((silent, idle, in_head, in_second_head, in_body, never_reads));
        let ended = server.stop();
        let errors =
            ["idle", "request", "write"].map(|what| ended.count(&format!("/errors/timed_out_{what}")));
        assert_eq!(errors, [2, 4, 1], "{}", ended.stats);
        ended.check_connections();
    });
}

#[test]
fn whoever_takes_too_long_over_blob_is_cut() {
    on_covering_pairs(Cell::Waits, |pair| {
        let server = Server::start(pair, "blob", &ARGS);
        let mut silent = connect(server.addr);
        let mut in_line = connect(server.addr);
        in_line.write_all(b"GET 1").expect("the server reads");
        let mut never_reads = connect_narrow(server.addr);
        never_reads.write_all(b"GET 1073741824\n").expect("the server reads");
        // A request line may have no more bytes than are sent before its time is over.
        assert_eq!(dribble(connect(server.addr), b"GET 00000000000000000000000000".iter().copied()), b"");
        assert_eq!(read_to_end(&mut silent), b"");
        assert_eq!(read_to_end(&mut in_line), b"");
        expect_cut(&never_reads);
        drop((silent, in_line, never_reads));
        server.stop().check_connections();
    });
}

/// How long a server is watched that should not wake up, and how often it may: its supervisor looks twice a second whether a thread has
/// ended.
const WATCHED: Duration = Duration::from_secs(2);
const WAKE_UPS_MAX: u64 = 5;

#[test]
fn a_server_without_requests_sleeps_until_the_first_deadline() {
    on_every_pair(Cell::Waits, |pair| {
        if pair.serves_one_connection_per_worker() {
            // Each of hundreds of workers looks once a second whether another client waits.
            return;
        }
        let server = Server::start(pair, "http", &["--idle-timeout", "1h"]);
        let mut client = Http::on(connect(server.addr));
        client.write(get("/bytes/10"));
        assert_eq!(client.reply().status, 200);
        let sleeps = || server.processes().iter().map(Process::sleeps).sum::<u64>();
        // Threads that had a connection may return it in one more wake-up.
        thread::sleep(WATCHED / 4);
        let before = sleeps();
        thread::sleep(WATCHED);
        let wake_ups = sleeps() - before;
        assert!(wake_ups <= WAKE_UPS_MAX, "{wake_ups} wake-ups in {WATCHED:?}, and nothing was due");
        drop(client);
        server.stop();
    });
}

/// Runs `test` for the models whose workers serve one connection at a time.
fn on_fixed_pools(test: impl Fn(&str) + Sync) {
    let models = ["prefork", "pool"].map(|model| (model.to_owned(), model));
    on_these(Cell::Waits, models.into(), test);
}

#[test]
fn idle_clients_do_not_shut_out_the_others() {
    on_fixed_pools(|model| {
        let server = Server::start(&Pair::named(model, "blocking"), "http", &["--workers", "2"]);
        let ask = |client: &mut Http| {
            client.write(get("/bytes/10"));
            assert_eq!(client.reply().status, 200, "{model}");
        };
        let (mut first, mut second) = (Http::connect(server.addr), Http::connect(server.addr));
        [&mut first, &mut second].into_iter().for_each(ask);
        // As long as nobody waits for a worker they may be idle for longer than a second.
        std::thread::sleep(Duration::from_millis(2500));
        [&mut first, &mut second].into_iter().for_each(ask);
        let began = Instant::now();
        let mut third = Http::connect(server.addr);
        ask(&mut third);
        assert!(began.elapsed() < Duration::from_secs(20), "{model}: {:?}", began.elapsed());
        drop((first, second, third));
        let ended = server.stop();
        assert!(ended.count("/errors/timed_out_idle") >= 1, "{}", ended.stats);
        let said = ended.warnings.concat();
        assert!(said.contains("2 at a time"), "{said}");
        ended.check_connections();
    });
}

#[test]
fn slow_heads_do_not_shut_out_the_others() {
    on_fixed_pools(|model| {
        let server = Server::start(&Pair::named(model, "blocking"), "http", &["--workers", "2"]);
        let slow: Vec<TcpStream> = (0..2).map(|_| connect(server.addr)).collect();
        for mut client in &slow {
            client.write_all(b"GET / HTTP/1.1\r\n").expect("the server reads");
        }
        let (began, done) = (Instant::now(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            // Each byte is in time, the head as a whole is not.
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for mut client in &slow {
                        let _ = client.write_all(b"x");
                    }
                    std::thread::sleep(DRIBBLE);
                }
            });
            let mut other = Http::connect(server.addr);
            other.write(get("/bytes/10"));
            assert_eq!(other.reply().status, 200, "{model}");
            done.store(true, Ordering::Relaxed);
        });
        // Without the limit it would be 30 seconds.
        assert!(began.elapsed() < Duration::from_secs(20), "{model}: {:?}", began.elapsed());
        drop(slow);
        let ended = server.stop();
        assert!(ended.count("/errors/timed_out_request") >= 1, "{}", ended.stats);
        ended.check_connections();
    });
}

#[test]
fn a_slow_reader_who_makes_progress_is_served_to_the_end() {
    on_covering_pairs(Cell::Waits, |pair| {
        // Each pause is shorter than the time-out, all of them together are longer.
        let server = Server::start(pair, "blob", &["--write-timeout", "1500ms"]);
        let mut stream = connect_narrow(server.addr);
        stream.write_all(b"GET 8388608\n").expect("the server reads");
        let mut pauses = 0;
        super::client::expect_pattern(&mut stream, 8 << 20, 64 << 10, |read| {
            if read >> 18 > pauses && pauses < 24 {
                pauses += 1;
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        drop(stream);
        server.stop().check_connections();
    });
}
