//! Clients that misbehave or do not read, servers that stop, and command lines that make no sense.

use std::io::Write;
use std::process::Command;

use rustix::process::Signal;

use super::client::{Certificate, Tls, VERSIONS};
use crate::serve::client::{connect, connect_narrow, read_to_end, until_read};
use crate::serve::pairs::{Cell, on_covering_pairs, on_every_pair, on_these};
use crate::serve::procfs::Process;
use crate::serve::site::Site;
use crate::support::{PITOT, stderr};

#[test]
fn a_server_survives_what_is_no_handshake_or_ends_in_one() {
    let certificate = Certificate::new();
    let config = certificate.config(VERSIONS[1]);
    let mut hello = Vec::new();
    Tls::on(&config, connect_to_nobody()).0.conn.write_tls(&mut hello).expect("memory");
    on_covering_pairs(Cell::Waits, |pair| {
        let server = certificate.serve(pair, "http", &[]);
        // Ended or reset in the middle.
        for len in [1, 5, 6, 100, hello.len() - 1] {
            let mut stream = connect(server.addr);
            stream.write_all(&hello[..len]).expect("the server reads");
            stream.shutdown(std::net::Shutdown::Write).expect("a socket");
            assert_eq!(read_to_end(&mut stream), b"");
        }
        for garbage in [&[0; 100][..], &[22; 100], b"\x16\x03\x01\x7f\xff....", &[0x80; 3000]] {
            let mut stream = connect(server.addr);
            stream.write_all(garbage).expect("the server reads");
            assert_eq!(read_to_end(&mut stream).first(), Some(&21), "an alert to {garbage:?}");
        }
        let mut changed = Tls::connect(&config, server.addr);
        changed.get("/bytes/10", 10);
        changed
            .0
            .sock
            .write_all(b"\x17\x03\x03\0\x20this is thirty-two bytes of junk")
            .expect("the server reads");
        changed.read_to_alert();
        assert_eq!(Tls::connect(&config, server.addr).get("/bytes/1000", 1000).len(), 1000);
        let ended = server.stop();
        assert_eq!(
            (ended.count("/errors/tls_ended"), ended.count("/errors/tls_malformed")),
            (5, 5),
            "{}",
            ended.stats
        );
        ended.check_connections();
    });
}

/// A socket that is not used.
fn connect_to_nobody() -> std::net::TcpStream {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    std::net::TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection")
}

impl Tls {
    /// Reads until the server says that a record is forged.
    fn read_to_alert(&mut self) {
        use std::io::Read;
        let e = self.0.read(&mut [0; 100]).expect_err("an alert");
        assert!(e.to_string().contains("BadRecordMac"), "{e}");
    }
}

#[test]
fn handshakes_have_a_deadline_and_other_clients_do_not_wait_for_them() {
    let certificate = Certificate::new();
    let config = certificate.config(VERSIONS[1]);
    on_covering_pairs(Cell::Waits, |pair| {
        let server = certificate.serve(pair, "http", &["--header-timeout", "3s"]);
        let mut stream = connect(server.addr);
        stream.write_all(b"\x16\x03\x01").expect("the server reads");
        if !pair.serves_one_connection_per_worker() {
            assert_eq!(Tls::connect(&config, server.addr).get("/bytes/10", 10).len(), 10);
        }
        assert_eq!(read_to_end(&mut stream), b"");
        assert_eq!(server.stop().count("/errors/tls_timed_out"), 1);
    });
}

#[test]
fn clients_that_do_not_read_cost_a_few_records_of_memory_each() {
    const CLIENTS: u64 = 20;
    let (site, certificate) = (Site::new(), Certificate::new());
    let config = certificate.config(VERSIONS[1]);
    let these = ["loop/epoll-et", "loop/uring", "thread/blocking", "tokio/epoll-et", "hybrid/epoll-lt"];
    on_these(Cell::Waits, these.map(|name| (name.to_owned(), name)).into(), |name| {
        let (model, mechanism) = name.split_once('/').expect("two names");
        let pair = crate::serve::pairs::Pair::named(model, mechanism);
        let server = certificate.serve(&pair, "http", &["--root", &site.root()]);
        let mut warm = Tls::connect(&config, server.addr);
        warm.get("/bytes/1000000", 1_000_000);
        let memory = || server.processes().iter().map(Process::anonymous_bytes).sum::<u64>();
        let before = memory();
        let clients: Vec<Tls> = (0..CLIENTS)
            .map(|i| {
                let mut tls = Tls::on(&config, connect_narrow(server.addr));
                let path = if i % 2 == 0 { "/bytes/1073741824" } else { "/large.bin" };
                tls.say(format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n"));
                tls
            })
            .collect();
        until_read(server.addr, clients.iter().map(|tls| &tls.0.sock));
        assert_eq!(warm.get("/bytes/10", 10).len(), 10);
        let each = memory().saturating_sub(before) / CLIENTS;
        assert!(each < 200 << 10, "{each} bytes each");
        drop((clients, warm));
        server.stop().check_connections();
    });
}

#[test]
fn a_server_that_stops_finishes_what_it_sends_and_says_that_nothing_follows() {
    let certificate = Certificate::new();
    let config = certificate.config(VERSIONS[1]);
    on_every_pair(Cell::Waits, |pair| {
        let server = certificate.serve(pair, "http", &[]);
        let mut idle = Tls::connect(&config, server.addr);
        idle.get("/bytes/10", 10);
        let mut reading = Tls::on(&config, connect_narrow(server.addr));
        reading.say("GET /bytes/1000000 HTTP/1.1\r\nHost: h\r\n\r\n");
        until_read(server.addr, [&reading.0.sock]);
        let mut first = [0; 1];
        std::io::Read::read_exact(&mut reading.0, &mut first).expect("a reply");
        server.signal(Signal::TERM);
        let (got, closed) = idle.read_to_end();
        assert_eq!((got.len(), closed), (0, true));
        let (got, closed) = reading.read_to_end();
        assert!(got.len() > 1_000_000 && closed, "{} bytes", got.len());
        let ended = server.end();
        assert_eq!(ended.stats["forced"].as_bool(), Some(false));
        ended.check_connections();
    });
}

#[test]
fn options_of_tls_that_make_no_sense_are_refused() {
    let (certificate, other) = (Certificate::new(), Certificate::new());
    let (file, key, other_key) = (certificate.file(), certificate.key(), other.key());
    let site = Site::new();
    let root = site.root();
    for (args, what) in [
        (&["http", "--key", &key][..], "--tls"),
        (&["http", "--tls", "self-signed", "--key", &key], "--key"),
        (&["http", "--tls", "/no/such/file", "--key", &key], "/no/such/file"),
        (&["http", "--tls", &file], "no unencrypted private key"),
        (&["http", "--tls", &key, "--key", &key], "no certificate"),
        (&["http", "--tls", &file, "--key", &other_key], "does not match the key"),
        (&["http", "--tls", &file, "--key", &key, "--root", &root, "--disk", "sendfile"], "sendfile"),
        (&["dns", "--tls", "self-signed"], "--tls"),
    ] {
        let output = Command::new(PITOT).arg("serve").args(args).output().expect("it runs");
        let said = stderr(&output);
        assert!(output.status.code() == Some(2) && said.contains(what), "{args:?}: {said}");
    }
}
