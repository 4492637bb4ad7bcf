//! The split data server: its data process may die at any time and no reply that claims success is wrong.

use std::io::{BufRead, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt;
use rustix::process::Signal;

use super::client::{check_pattern, connect, connect_narrow};
use super::http::{Http, get};
use super::pairs::{Cell, Pair, on_these, usable};
use super::procfs::{children, is_gone};
use super::server::{Server, send};
use super::site::{LARGE_BYTES, Site};
use crate::support::until;

fn relays() -> Vec<(String, &'static Pair)> {
    let relays = usable().iter().filter(|pair| pair.model == "relay");
    relays.map(|pair| (pair.to_string(), pair)).collect()
}

/// The number of the data process: the last that was started, at first and whenever it is started again.
fn data_process(server: &Server) -> Option<i32> {
    match children(server.pid())[..] {
        [_relay, data] => Some(data),
        _ => None,
    }
}

struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A whole reply, or what came instead: `None` if the connection was cut in the middle. The connection is reset at its
/// end, so that thousands of them leave no ports in TIME-WAIT.
fn try_get(server: std::net::SocketAddr, path: &str) -> Option<(u16, Vec<u8>)> {
    let mut stream = connect(server);
    sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).expect("an option");
    std::io::Write::write_all(&mut stream, get(path).as_bytes()).ok()?;
    let mut reader = std::io::BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let status = head.get(9..12)?.parse().ok()?;
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "))?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((status, body))
}

#[test]
fn a_killed_data_process_is_started_anew_and_no_success_was_a_lie() {
    let site = Site::new();
    on_these(Cell::Works, relays(), |pair| {
        for links in ["1", "3"] {
            let args = ["--root", &site.root(), "--links", links, "--idle-timeout", "600s"];
            let server = Server::start(pair, "http", &args);
            let addr = server.addr;
            let (stop, whole, refused) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
            // A client that holds its connection through all of it.
            let mut waiting = Http::connect(addr);
            assert_eq!(waiting.get("/small.txt").status, 200);
            thread::scope(|scope| {
                // Whatever comes, the clients end with this block.
                let _end = SetWhenDropped(&stop);
                for i in 0..4 {
                    let (stop, whole, refused) = (&stop, &whole, &refused);
                    scope.spawn(move || {
                        while !stop.load(Ordering::Relaxed) {
                            // The clients of the small file would take the CPUs from those of the large one.
                            thread::sleep(Duration::from_millis(2));
                            let path = if i == 0 { "/small.txt" } else { "/large.bin" };
                            match try_get(addr, path) {
                                Some((200, body)) if i == 0 => assert_eq!(body, super::site::SMALL),
                                Some((200, body)) => {
                                    assert_eq!(body.len() as u64, LARGE_BYTES);
                                    check_pattern(0, &body);
                                    whole.fetch_add(1, Ordering::Relaxed);
                                }
                                Some((503, _)) => {
                                    refused.fetch_add(1, Ordering::Relaxed);
                                }
                                Some((status, _)) => panic!("{status}"),
                                None => {}
                            }
                        }
                    });
                }
                for _ in 0..3 {
                    let before = whole.load(Ordering::Relaxed);
                    until("replies are whole", || whole.load(Ordering::Relaxed) > before + 2);
                    let mut victim = None;
                    until("there is a data process", || {
                        victim = data_process(&server);
                        victim.is_some()
                    });
                    let victim = victim.expect("a data process");
                    send(victim, Signal::KILL);
                    until("it is gone", || is_gone(victim));
                }
                let before = whole.load(Ordering::Relaxed);
                until("replies are whole again", || whole.load(Ordering::Relaxed) > before);
            });
            until("the waiting client is served again", || waiting.get("/small.txt").status == 200);
            drop(waiting);
            server.stop().check_connections();
        }
    });
}

#[test]
fn while_the_data_process_is_away_clients_get_503() {
    let site = Site::new();
    on_these(Cell::Works, relays(), |pair| {
        let server = Server::start(pair, "http", &["--root", &site.root()]);
        let mut http = Http::connect(server.addr);
        assert_eq!(http.get("/small.txt").status, 200);
        let (parent, data) = (server.pid(), data_process(&server).expect("a data process"));
        // Its parent, which would start another, is held meanwhile.
        send(parent, Signal::STOP);
        send(data, Signal::KILL);
        until("the relay notices", || http.get("/nothing-new").status == 503);
        let reply = http.get("/index.html");
        assert_eq!((reply.status, reply.field("retry-after")), (503, Some("1")));
        // What needs no file is served as ever.
        assert_eq!(http.get("/bytes/10").status, 200);
        send(parent, Signal::CONT);
        until("it is back", || http.get("/index.html").status == 200);
        drop(http);
        server.stop().check_connections();
    });
}

#[test]
fn an_upload_whose_data_process_dies_is_refused_and_the_next_one_is_stored() {
    let site = Site::new();
    on_these(Cell::Works, relays(), |pair| {
        let server = Server::start(pair, "http", &["--root", &site.root(), "--writable", "--links", "2"]);
        let mut http = Http::connect(server.addr);
        http.write("PUT /cut.bin HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n");
        http.write("Expect: 100-continue\r\n\r\n");
        // Leave to go on says that the data process has begun the file.
        assert_eq!(http.reply_to_head().status, 100);
        http.write(vec![b'c'; 50_000]);
        let victim = data_process(&server).expect("a data process");
        send(victim, Signal::KILL);
        until("it is gone", || is_gone(victim));
        http.write(vec![b'c'; 50_000]);
        assert_eq!(http.reply().status, 503);
        assert!(!site.path("cut.bin").exists());
        let whole = vec![b'w'; 200_000];
        until("the next one is stored", || {
            let mut http = Http::connect(server.addr);
            http.write(format!(
                "PUT /whole.bin HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n",
                whole.len()
            ));
            http.write("Expect: 100-continue\r\n\r\n");
            if http.reply_to_head().status != 100 {
                return false;
            }
            http.write(&whole);
            [201, 204].contains(&http.reply().status)
        });
        assert_eq!(std::fs::read(site.path("whole.bin")).expect("a file"), whole);
        drop(http);
        server.stop().check_connections();
    });
}

#[test]
fn slow_clients_keep_no_others_waiting() {
    let site = Site::new();
    on_these(Cell::Works, relays(), |pair| {
        let server =
            Server::start(pair, "http", &["--root", &site.root(), "--disk-depth", "2", "--disk", "pool"]);
        let mut slow: Vec<_> = (0..40).map(|_| Http::on(connect_narrow(server.addr))).collect();
        slow.iter_mut().for_each(|http| http.ask("/large.bin"));
        slow.iter_mut().for_each(|http| assert_eq!(http.reply_to_head().status, 200));
        let mut fast = Http::connect(server.addr);
        for _ in 0..3 {
            let body = fast.get("/large.bin").body;
            assert_eq!(body.len() as u64, LARGE_BYTES);
            check_pattern(0, &body);
        }
        drop((slow, fast));
        server.stop().check_connections();
    });
}
