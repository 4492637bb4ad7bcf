//! `--access-log` and `--error-log`.

use std::fs;
use std::io::Write;
use std::path::Path;

use rustix::process::Signal;

use super::client::{connect, read_to_end};
use super::http::{Http, get};
use super::pairs::{Cell, Pair, on_covering_pairs, on_every_process_model};
use super::server::{Server, serve};
use super::site::{SMALL, Site};
use crate::support::{PITOT, stderr, until};

/// The lines of a log, without addresses and times, which are checked.
fn lines(text: &str) -> Vec<String> {
    assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
    let rest = |line: &str| {
        let rest = line.strip_prefix("127.0.0.1 - - [").unwrap_or_else(|| panic!("{line:?}"));
        let (time, rest) = rest.split_once("] ").expect("a time");
        assert!(time.len() == 26 && time.ends_with(" +0000"), "{line}");
        rest.to_owned()
    };
    text.lines().map(rest).collect()
}

/// How many lines a log has that may be written to at this moment: a reader may see a part of what one write(2) adds.
fn count(path: &Path) -> usize {
    fs::read_to_string(path).unwrap_or_default().matches('\n').count()
}

fn read(path: &Path) -> Vec<String> {
    lines(&fs::read_to_string(path).unwrap_or_default())
}

#[test]
fn every_request_is_logged_once() {
    let site = Site::new();
    on_covering_pairs(Cell::Waits, |pair| {
        let directory = tempfile::tempdir().expect("a directory");
        let log = directory.path().join("log");
        let log_name = log.to_str().expect("UTF-8");
        let server = Server::start(pair, "http", &["--root", &site.root(), "--access-log", log_name]);
        let mut http = Http::connect(server.addr);
        assert_eq!(http.get("/small.txt").body, SMALL);
        http.write(
            "POST /echo HTTP/1.1\r\nHost: h\r\nUser-Agent: a\x1b[2J\"\r\nContent-Length: 5\r\n\r\nhello",
        );
        // A control character in a field is refused.
        assert_eq!(http.reply().status, 400);
        let mut http = Http::connect(server.addr);
        http.write("GET /none HTTP/1.1\r\nHost: h\r\nReferer: http://x/\"\r\nUser-Agent: \u{e4}\\\r\n\r\n");
        assert_eq!(http.reply().status, 404);
        let several = get("/bytes/10").repeat(50);
        http.write(several);
        (0..50).for_each(|_| assert_eq!(http.reply().body.len(), 10));
        drop(http);
        until("all is logged while it runs", || count(&log) == 53);
        let mut stream = connect(server.addr);
        stream.write_all(b"\x16\x03\x01\n").expect("the server reads");
        read_to_end(&mut stream);
        drop(stream);
        server.stop().check_connections();

        let mut lines = read(&log);
        lines.sort();
        let generated = lines.iter().filter(|line| *line == r#""GET /bytes/10 HTTP/1.1" 200 10 "-" "-""#);
        assert_eq!((generated.count(), lines.len()), (50, 54), "{lines:#?}");
        for expected in [
            r#""GET /small.txt HTTP/1.1" 200 13 "-" "-""#.to_owned(),
            r#""GET /none HTTP/1.1" 404 32 "http://x/\x22" "\xC3\xA4\x5C""#.to_owned(),
        ] {
            assert!(lines.contains(&expected), "{expected} is not in {lines:#?}");
        }
        let has = |start: &str| lines.iter().any(|line| line.starts_with(start));
        assert!(has(r#""POST /echo HTTP/1.1" 400 "#) && has(r#""\x16\x03\x01" 400 "#), "{lines:#?}");
    });
}

/// Many processes append to one file, and no line is torn.
#[test]
fn processes_write_whole_lines() {
    on_every_process_model(Cell::Waits, |pair| {
        let directory = tempfile::tempdir().expect("a directory");
        let log = directory.path().join("log");
        let args = ["--workers", "4", "--access-log", log.to_str().expect("UTF-8")];
        let args =
            if pair.has_process_per_connection() || pair.model == "relay" { &args[2..] } else { &args[..] };
        let server = Server::start(pair, "http", args);
        let (clients, requests) = (8, 200);
        std::thread::scope(|scope| {
            for _ in 0..clients {
                scope.spawn(|| {
                    let mut http = Http::connect(server.addr);
                    (0..requests).for_each(|i| assert_eq!(http.get(&format!("/bytes/{i}")).body.len(), i));
                });
            }
        });
        server.stop().check_connections();
        let lines = read(&log);
        assert_eq!(lines.len(), clients * requests);
        for i in 0..requests {
            let line = format!(r#""GET /bytes/{i} HTTP/1.1" 200 {i} "-" "-""#);
            assert_eq!(lines.iter().filter(|l| **l == line).count(), clients, "{line}");
        }
    });
}

#[test]
fn requests_over_tls_and_over_a_socket_that_is_a_file_are_logged_like_any() {
    for pair in
        [Pair::named("loop", "epoll-et"), Pair::named("loop", "uring"), Pair::named("thread", "blocking")]
    {
        let directory = tempfile::tempdir().expect("a directory");
        let (log, socket) = (directory.path().join("log"), directory.path().join("socket"));
        let (log_name, socket_name) = (log.to_str().expect("UTF-8"), socket.to_str().expect("UTF-8"));
        let listen = format!("unix:{socket_name}");
        let load = |arguments: &[&str]| {
            let mut command = std::process::Command::new(PITOT);
            let output =
                command.arg("load").args(arguments).args(["-n", "6", "-c", "2"]).output().expect("it runs");
            assert!(output.status.success(), "{}", stderr(&output));
        };
        let expected = vec![r#""GET /bytes/7 HTTP/1.1" 200 7 "-" "pitot"#; 6];
        let is_as_expected = |text: &str, peer: &str| {
            text.lines().count() == 6
                && text
                    .lines()
                    .zip(&expected)
                    .all(|(line, rest)| line.starts_with(peer) && line.contains(rest))
        };
        let server = Server::start(&pair, "http", &["--access-log", log_name, "--tls", "self-signed"]);
        load(&[&format!("https://{}/bytes/7", server.addr), "-k"]);
        server.stop().check_connections();
        let text = fs::read_to_string(&log).expect("the log");
        assert!(is_as_expected(&text, "127.0.0.1 - - ["), "{pair}: {text}");
        fs::remove_file(&log).expect("the log");
        let server = Server::start(&pair, "http", &["--access-log", log_name, "--listen", &listen]);
        load(&["http://h/bytes/7", "--unix", socket_name]);
        server.stop().check_connections();
        let text = fs::read_to_string(&log).expect("the log");
        assert!(is_as_expected(&text, "unix: - - ["), "{pair}: {text}");
    }
}

#[test]
fn a_log_that_is_moved_away_is_opened_anew() {
    let (directory, pair) = (tempfile::tempdir().expect("a directory"), Pair::named("preloop", "epoll-et"));
    let (log, moved) = (directory.path().join("log"), directory.path().join("log.1"));
    let args = ["--workers", "2", "--access-log", log.to_str().expect("UTF-8")];
    let server = Server::start(&pair, "http", &args);
    Http::connect(server.addr).get("/bytes/1");
    until("it is logged", || count(&log) == 1);
    fs::rename(&log, &moved).expect("the log");
    // What tells nginx to open its logs again does no harm.
    server.signal(Signal::USR1);
    until("the new log is written", || {
        Http::connect(server.addr).get("/bytes/2");
        count(&log) > 0
    });
    server.stop().check_connections();
    assert!(read(&moved).iter().any(|line| line.contains("/bytes/1 ")));
}

#[test]
fn a_full_disk_stops_no_request_and_is_told() {
    for pair in [Pair::named("loop", "epoll-et"), Pair::named("prefork", "blocking")] {
        let directory = tempfile::tempdir().expect("a directory");
        let errors = directory.path().join("errors");
        let args = ["--access-log", "/dev/full", "--error-log", errors.to_str().expect("UTF-8")];
        let server = Server::start(&pair, "http", &args);
        let mut http = Http::connect(server.addr);
        (0..100).for_each(|_| assert_eq!(http.get("/bytes/1").status, 200));
        drop(http);
        let ended = server.stop();
        ended.check_connections();
        assert_eq!(ended.count("/errors/log_lines_dropped"), 100, "{pair}");
        let said = fs::read_to_string(&errors).expect("the error log");
        assert!(said.contains("of the access log were dropped: No space left on device"), "{said}");
    }
}

#[test]
fn clients_of_a_file_have_no_address_and_standard_output_is_a_log_too() {
    use std::io::Read;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("socket");
    let listen = format!("unix:{}", path.display());
    for model in ["loop", "spawn"] {
        let pair = Pair::named(model, if model == "loop" { "epoll-et" } else { "blocking" });
        let mut command = serve(&pair, "http", &["--access-log", "-", "--listen", &listen]);
        command.stdout(fs::File::create(directory.path().join("stdout")).expect("a file"));
        let mut child = command.spawn().expect("the server starts");
        let said = || fs::read_to_string(directory.path().join("stdout")).unwrap_or_default();
        until("it is ready", || said().starts_with(&format!("ready {listen}\n")));
        let mut stream = std::os::unix::net::UnixStream::connect(&path).expect("it listens");
        stream.write_all(b"GET /bytes/7 HTTP/1.0\r\n\r\n").expect("the server reads");
        stream.read_to_end(&mut Vec::new()).expect("the server replies");
        until("it is logged", || {
            said().contains("unix: - - [") && said().contains("\"GET /bytes/7 HTTP/1.0\" 200 7")
        });
        super::server::send(child.id() as i32, Signal::TERM);
        assert!(child.wait().expect("it ends").success());
    }
}

#[test]
fn a_log_that_cannot_be_written_is_refused() {
    let pair = Pair::named("loop", "epoll-et");
    for (args, why) in [
        (["--access-log", "/no/such/directory/log"], "cannot write the access log /no/such/directory/log"),
        (["--access-log", "/"], "cannot write the access log /"),
        (["--error-log", "/"], "cannot write the error log /"),
    ] {
        let output = serve(&pair, "http", &args).output().expect("it runs");
        let said = stderr(&output);
        assert!(output.status.code() == Some(2) && said.contains(why), "{said}");
    }
    // Why it cannot start is said where it was started.
    let args = ["--error-log", "/dev/null", "--listen", "192.0.2.1:1"];
    let output = serve(&pair, "http", &args).output().expect("it runs");
    let said = stderr(&output);
    assert!(output.status.code() == Some(2) && said.contains("cannot listen on 192.0.2.1:1"), "{said}");
}
