//! `--listen unix:PATH`.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use pitot_needs::needs;
use rustix::process::Signal;

use super::pairs::{Cell, Pair, on_covering_pairs, on_every_pair};
use super::server::{Server, serve};
use super::site::{LARGE_BYTES, SMALL, Site};
use crate::support::{PITOT, TIMEOUT, stderr, until};

fn connect(path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
    stream
}

/// What comes for a request, until the connection is closed.
fn ask(path: &Path, request: &str) -> Vec<u8> {
    let mut stream = connect(path);
    stream.write_all(request.as_bytes()).expect("the server reads");
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).expect("the server replies");
    reply
}

fn get(path: &Path, file: &str) -> Vec<u8> {
    let reply = ask(path, &format!("GET {file} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    assert!(reply.starts_with(b"HTTP/1.1 200 OK\r\n"), "{}", reply[..60.min(reply.len())].escape_ascii());
    let end = reply.windows(4).position(|w| w == b"\r\n\r\n").expect("a head");
    reply[end + 4..].to_vec()
}

/// `pitot load --unix`, all of whose requests are answered rightly.
fn load(path: &Path, arguments: &[&str]) {
    let mut command = Command::new(PITOT);
    command.arg("load").args(arguments).arg("--unix").arg(path).args(["--fail-if", "errors > 0"]);
    let output = command.output().expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&said));
}

/// Its workers share a listener, and the kernel signals one owner only.
fn is_refused(pair: &Pair) -> bool {
    pair.mechanism == "sigio" && ["loops", "preloop", "relay"].contains(&&*pair.model)
}

fn socket_in(directory: &tempfile::TempDir) -> (PathBuf, String) {
    let path = directory.path().join("socket");
    let listen = format!("unix:{}", path.display());
    (path, listen)
}

#[test]
fn every_pair_serves_on_a_file_and_removes_it() {
    let site = Site::new();
    let root = site.root();
    on_every_pair(Cell::Works, |pair| {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, listen) = socket_in(&directory);
        let args = vec!["--listen", &listen];
        if is_refused(pair) {
            let refused = serve(pair, "http", &args).output().expect("it runs");
            return assert_eq!(refused.status.code(), Some(2));
        }
        let files = [&args[..], &["--root", &root, "--unix-mode", "600"]].concat();
        let server = Server::start(pair, "http", &files);
        assert_eq!(fs::metadata(&path).expect("the socket").permissions().mode() & 0o777, 0o600);
        assert_eq!(get(&path, "/small.txt"), SMALL);
        assert!(get(&path, "/large.bin") == fs::read(site.path("large.bin")).expect("the file"));
        assert_eq!(get(&path, "/bytes/1000000").len(), 1_000_000);
        load(&path, &["http://h/large.bin", "-n", "6", "-c", "3"]);
        load(&path, &["http://name.invalid/small.txt", "-n", "40", "-c", "3", "--pipeline", "2"]);
        load(
            &path,
            &["http://h/bytes/9000", "-n", "10", "-c", "2", "--requests-per-connection", "1", "--verify"],
        );
        let idle = connect(&path);
        let refused = serve(pair, "http", &args).output().expect("it runs");
        let why = stderr(&refused);
        assert!(
            refused.status.code() == Some(2) && why.contains("a server is already listening there"),
            "{why}"
        );
        assert_eq!(get(&path, "/small.txt"), SMALL);
        server.stop().check_connections();
        drop(idle);
        assert!(!path.exists(), "the file is left");

        let server = Server::start(pair, "blob", &args);
        let mut stream = connect(&path);
        stream.write_all(b"GET 1000\n").expect("the server reads");
        stream.read_exact(&mut [0; 1000]).expect("a blob");
        drop(stream);
        server.stop().check_connections();
    });
    assert_eq!(LARGE_BYTES, fs::metadata(site.path("large.bin")).expect("the file").len());
}

/// An idle client is let go of, also by models whose connections inherit their timeouts from a TCP listener.
#[test]
fn timeouts_hold_on_a_file() {
    on_covering_pairs(Cell::Waits, |pair| {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, listen) = socket_in(&directory);
        let args = vec!["--listen", &listen, "--idle-timeout", "300ms", "--header-timeout", "300ms"];
        if is_refused(pair) {
            return;
        }
        let server = Server::start(pair, "http", &args);
        assert_eq!(ask(&path, ""), b"");
        let reply = ask(&path, "GET / HT");
        assert!(reply.starts_with(b"HTTP/1.1 408 "), "{}", reply.escape_ascii());
        server.stop().check_connections();
    });
}

#[test]
fn the_file_of_a_killed_server_is_replaced_and_no_other() {
    let (directory, pair) = (tempfile::tempdir().expect("a directory"), Pair::named("loop", "epoll-et"));
    let (path, listen) = socket_in(&directory);
    let server = Server::start(&pair, "http", &["--listen", &listen]);
    server.signal(Signal::KILL);
    server.until_gone();
    assert!(path.exists());
    let server = Server::start(&pair, "http", &["--listen", &listen]);
    assert_eq!(get(&path, "/bytes/10").len(), 10);
    server.stop().check_connections();
    until("the file is gone", || !path.exists());

    fs::write(&path, "precious").expect("a file");
    for (args, why) in [
        (vec!["--listen", &listen], "the path is an existing file"),
        (vec!["--listen", &listen, "--congestion", "reno"], "--congestion needs TCP"),
        (vec!["--unix-mode", "600"], "--unix-mode needs a socket file"),
        (vec!["--listen", &listen, "--unix-mode", "999"], "in octal"),
        (vec!["--listen", "unix:"], "name the path"),
        (vec!["--listen", "unix:/no/such/directory/socket"], "No such file"),
        (vec!["--listen", &format!("unix:{}", "x".repeat(109))], "108 bytes"),
    ] {
        let refused = serve(&pair, "http", &args).output().expect("it runs");
        let said = stderr(&refused);
        assert!(refused.status.code() == Some(2) && said.contains(why), "{args:?}: {said}");
    }
    assert_eq!(fs::read(&path).expect("the file"), b"precious");
}

#[needs("curl")]
#[test]
fn curl_gets_files_through_a_file() {
    let site = Site::new();
    let (directory, pair) = (tempfile::tempdir().expect("a directory"), Pair::named("preloop", "epoll-et"));
    let (path, listen) = socket_in(&directory);
    let server =
        Server::start(&pair, "http", &["--listen", &listen, "--root", &site.root(), "--workers", "3"]);
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--max-time", "30", "--unix-socket"]).arg(&path);
    let output = curl.args(["http://any/small.txt", "http://any/small.txt"]).output().expect("curl runs");
    assert_eq!(output.stdout, [SMALL, SMALL].concat(), "{}", stderr(&output));
    server.stop().check_connections();
}
