//! What clients get over TLS is what they get without.

use std::fs;
use std::process::{Command, Output};

use pitot_needs::needs;
use pitot_proto::pattern_at;

use super::client::{Certificate, Tls, VERSIONS};
use crate::serve::pairs::{Cell, Pair, on_covering_pairs, on_these};
use crate::serve::server::Server;
use crate::serve::site::{INDEX, SMALL, Site};
use crate::support::{stderr, stdout};

/// curl, which trusts the certificate.
fn curl(certificate: &Certificate, args: &[&str], urls: &[String]) -> Output {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--noproxy", "*", "--max-time", "60", "--cacert"]);
    command.arg(certificate.file()).args(args).args(urls);
    command.output().expect("curl runs")
}

/// What it printed.
fn got(certificate: &Certificate, args: &[&str], urls: &[String]) -> Vec<u8> {
    let output = curl(certificate, args, urls);
    assert!(output.status.success(), "{args:?} {urls:?}: {}", stderr(&output));
    output.stdout
}

/// nghttp2's load generator speaks HTTP/1.1 only if the server chooses it.
#[needs("h2load")]
#[test]
fn h2load_is_answered_over_tls_on_connections_that_stay_open() {
    let certificate = Certificate::new();
    on_covering_pairs(Cell::Works, |pair| {
        let server = certificate.serve(pair, "http", &[]);
        let mut command = Command::new("h2load");
        command.args([
            "--h1",
            "-n",
            "60",
            "-c",
            "3",
            "-m",
            "4",
            &format!("https://{}/bytes/3000", server.addr),
        ]);
        let output = command.output().expect("h2load runs");
        let text = stdout(&output).to_owned();
        assert!(text.contains("60 succeeded, 0 failed, 0 errored, 0 timeout"), "{pair}: {text}");
        assert!(text.contains("Application protocol: http/1.1"), "{pair}: {text}");
        assert_eq!(server.stop().count("/tls/handshakes"), 3, "{pair}");
    });
}

#[needs("curl")]
#[test]
fn curl_gets_over_tls_what_it_asks_for() {
    let (site, certificate) = (Site::new(), Certificate::new());
    let middle: Vec<u8> = (0..1_000_000).map(pattern_at).collect();
    fs::write(site.path("middle.bin"), &middle).expect("a file");
    on_covering_pairs(Cell::Works, |pair| {
        let server = certificate.serve(pair, "http", &["--root", &site.root(), "--writable"]);
        let url = |path: &str| format!("https://{}{path}", server.addr);
        let get = |args: &[&str], paths: &[&str]| {
            got(&certificate, args, &paths.iter().map(|path| url(path)).collect::<Vec<_>>())
        };
        for version in [&["--tls-max", "1.2"][..], &["--tlsv1.3"]] {
            // Several on one connection.
            let several = get(version, &["/small.txt", "/middle.bin", "/", "/bytes/100000"]);
            let pattern: Vec<u8> = (0..100_000).map(pattern_at).collect();
            assert!(several == [SMALL, &middle, INDEX, &pattern].concat(), "{} bytes", several.len());
        }
        let count =
            ["--output", "/dev/null", "--write-out", "%{http_code} %{num_connects} %{http_version}\n"];
        assert_eq!(String::from_utf8_lossy(&get(&count, &["/[1-2].txt"])), "404 1 1.1\n404 0 1.1\n");
        assert_eq!(get(&["--range", "900000-900009"], &["/middle.bin"]), &middle[900_000..900_010]);
        let stored = format!("/{}.bin", pair.to_string().replace('/', "-"));
        got(
            &certificate,
            &["--upload-file", site.path("middle.bin").to_str().expect("UTF-8")],
            &[url(&stored)],
        );
        assert!(fs::read(site.path(&stored[1..])).expect("the file") == middle);
        let plain = curl(&certificate, &["--include"], &[format!("http://{}/", server.addr)]);
        assert!(plain.stdout.starts_with(b"HTTP/1.1 400 "), "{plain:?}");
        let ended = server.stop();
        ended.check_connections();
        assert_eq!(ended.count("/errors/tls_absent"), 1);
        assert_eq!((ended.count("/tls/handshakes"), ended.count("/tls/resumed")), (5, 0), "{}", ended.stats);
    });
}

/// The layer is below the protocol, and knows nothing of it.
#[test]
fn other_protocols_are_served_over_tls() {
    let certificate = Certificate::new();
    let talks = [
        ("echo", "hello\n", "hello\n"),
        (
            "memcache",
            "set k 0 0 5\r\nhello\r\nget k\r\nquit\r\n",
            "STORED\r\nVALUE k 0 5\r\nhello\r\nEND\r\n",
        ),
        ("blob", "GET 3\n", ""),
    ];
    for pair in ["loop/epoll-et", "loop/uring", "thread/blocking", "tokio/epoll-et"] {
        let (model, mechanism) = pair.split_once('/').expect("two names");
        let pair = Pair::named(model, mechanism);
        for (protocol, said, expected) in talks {
            let server = certificate.serve(&pair, protocol, &[]);
            let mut tls = Tls::connect(&certificate.config(VERSIONS[1]), server.addr);
            tls.say(said);
            tls.0.conn.send_close_notify();
            let (got, _) = tls.read_to_end();
            assert!(got.starts_with(expected.as_bytes()) && !got.is_empty(), "{}", got.escape_ascii());
            drop(tls);
            assert_eq!(server.stop().count("/tls/handshakes"), 1);
        }
        // It says its word and closes before a client has said anything.
        let server = certificate.serve(&pair, "busy", &[]);
        let mut tls = Tls::connect(&certificate.config(VERSIONS[1]), server.addr);
        let (got, closed) = tls.read_to_end();
        assert!(got.starts_with(b"450 ") && closed, "{}", got.escape_ascii());
        server.stop().check_connections();
    }
}

#[needs("curl")]
#[test]
fn engines_that_read_into_memory_feed_tls() {
    let (site, certificate) = (Site::new(), Certificate::new());
    let middle: Vec<u8> = (0..1_000_000).map(pattern_at).collect();
    fs::write(site.path("middle.bin"), &middle).expect("a file");
    let these =
        ["loop/epoll-et/pread", "loop/epoll-lt/pool", "hybrid/epoll-et/mmap", "thread/blocking/pread"];
    on_these(Cell::Works, these.map(|name| (name.to_owned(), name)).into(), |name| {
        let [model, mechanism, engine] = name.split('/').collect::<Vec<_>>()[..] else { unreachable!() };
        let pair = Pair::named(model, mechanism);
        let server = certificate.serve(&pair, "http", &["--root", &site.root(), "--disk", engine]);
        let url = format!("https://{}/middle.bin", server.addr);
        assert!(got(&certificate, &[], &[url]) == middle);
        server.stop().check_connections();
    });
}

#[needs("curl")]
#[test]
fn a_certificate_for_the_run_is_made_on_request() {
    for listen in ["127.0.0.1:0", "127.0.0.2:0"] {
        let pair = Pair::named("loop", "epoll-et");
        let server = Server::start(&pair, "http", &["--tls", "self-signed", "--listen", listen]);
        let certificate = Certificate::new();
        let url = format!("https://{}/bytes/10", server.addr);
        assert_eq!(got(&certificate, &["--insecure"], std::slice::from_ref(&url)).len(), 10);
        // Another one is not trusted, which the server is told.
        assert!(!curl(&certificate, &[], &[url]).status.success());
        let ended = server.stop();
        assert_eq!((ended.count("/errors/tls_refused"), ended.count("/tls/handshakes")), (1, 1));
    }
}
