//! What a site shows: dot files, precompressed files, listings; with curl as a client for some of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use pitot_disk::cache::{make_hot, residency};
use pitot_disk::{DiskFile, FileOptions, file_system};
use pitot_needs::needs;
use pitot_proto::pattern_at;

use super::http::Http;
use super::pairs::{Cell, Pair, on_covering_pairs};
use super::server::Server;
use super::site::{INDEX, LARGE_BYTES, SMALL, Site};
use crate::support::{stderr, until};

/// A site with what the options are for.
fn site() -> Site {
    let site = Site::new();
    let write = |name: &str, content: &[u8]| fs::write(site.path(name), content).expect("a file");
    write("small.txt.gz", b"as gzip");
    write("small.txt.br", &b"as brotli".repeat(10_000));
    fs::create_dir_all(site.path(".well-known/acme-challenge")).expect("a directory");
    write(".well-known/acme-challenge/token", b"a challenge");
    write(".well-known/.hidden", b"hidden");
    fs::create_dir_all(site.path("bare/inner")).expect("a directory");
    write("bare/a b.txt", SMALL);
    write("bare/<i>&.txt", SMALL);
    write("bare/.hidden", SMALL);
    symlink("../small.txt", site.path("bare/link")).expect("a link");
    site
}

fn get_with(server: &Server, path: &str, lines: &str) -> super::http::Reply {
    let mut http = Http::connect(server.addr);
    http.write(format!("GET {path} HTTP/1.1\r\nHost: test\r\n{lines}\r\n"));
    http.reply()
}

#[test]
fn what_the_site_shows_is_served() {
    let site = site();
    on_covering_pairs(Cell::Works, |pair| {
        let server = Server::start(pair, "http", &["--root", &site.root(), "--precompressed"]);
        for _ in 0..2 {
            let own = get_with(&server, "/small.txt", "");
            assert_eq!((&own.body[..], own.field("vary")), (SMALL, Some("Accept-Encoding")));
            let gzip = get_with(&server, "/small.txt", "Accept-Encoding: gzip\r\n");
            assert_eq!((&gzip.body[..], gzip.field("content-encoding")), (&b"as gzip"[..], Some("gzip")));
            assert_eq!(gzip.field("content-type"), own.field("content-type"));
            let br = get_with(&server, "/small.txt", "Accept-Encoding: gzip, br\r\n");
            assert_eq!((br.body.len(), br.field("content-encoding")), (90_000, Some("br")));
            let none = get_with(&server, "/sub/", "Accept-Encoding: gzip, br, zstd\r\n");
            assert_eq!((&none.body[..], none.field("content-encoding")), (INDEX, None));
        }
        assert_eq!(get_with(&server, "/.well-known/acme-challenge/token", "").body, b"a challenge");
        for path in ["/.hidden", "/.well-known/.hidden", "/bare/.hidden", "/bare/"] {
            assert_eq!(get_with(&server, path, "").status, 404, "{path}");
        }
        server.stop().check_connections();
        if pair.model == "relay" {
            return;
        }

        let server = Server::start(pair, "http", &["--root", &site.root(), "--index"]);
        let mut http = Http::connect(server.addr);
        let page = http.get("/bare/");
        let text = String::from_utf8(page.body).expect("UTF-8");
        let links = text.lines().filter_map(|line| line.strip_prefix("<li><a href=\"")?.split('"').next());
        let links: Vec<_> = links.collect();
        assert_eq!(links, ["../", "inner/", "%3Ci%3E%26.txt", "a%20b.txt", "link"], "{text}");
        for link in &links[1..] {
            assert_eq!(http.get(&format!("/bare/{link}")).status, 200, "{link}");
        }
        assert_eq!(http.get("/").body, INDEX);
        assert_eq!((http.get("/none/").status, http.get("/bare").status), (404, 301));
        drop(http);
        server.stop().check_connections();
    });
}

#[test]
fn dot_files_are_shown_as_the_option_says() {
    let (site, pair) = (site(), Pair::named("loop", "epoll-et"));
    for (which, well_known, hidden) in [("none", 404, 404), ("well-known", 200, 404), ("all", 200, 200)] {
        let server = Server::start(&pair, "http", &["--root", &site.root(), "--index", "--dot-files", which]);
        let status = |path| get_with(&server, path, "").status;
        assert_eq!(status("/.well-known/acme-challenge/token"), well_known, "{which}");
        assert_eq!(status("/.well-known/acme-challenge/"), well_known, "{which}");
        assert_eq!((status("/.hidden"), status("/bare/.hidden")), (hidden, hidden), "{which}");
        let page = String::from_utf8(get_with(&server, "/bare/", "").body).expect("UTF-8");
        assert_eq!(page.contains(".hidden"), hidden == 200, "{which}: {page}");
        for path in ["/..", "/bare/../small.txt", "/%2e/small.txt"] {
            assert_eq!(status(path), 400, "{which}: {path}");
        }
    }
}

/// Without a time for the cache a file is seen at once when it appears, is compressed, or goes.
#[test]
fn files_are_looked_at_as_often_as_the_option_says() {
    let (site, pair) = (site(), Pair::named("loop", "epoll-et"));
    let root = site.root();
    let args = ["--root", &root, "--precompressed", "--index", "--file-cache-time"];
    let server = Server::start(&pair, "http", &[&args[..], &["0s"]].concat());
    let accept = "Accept-Encoding: zstd\r\n";
    assert_eq!(get_with(&server, "/small.txt", accept).body, SMALL);
    fs::write(site.path("small.txt.zst"), "as zstd").expect("a file");
    assert_eq!(get_with(&server, "/small.txt", accept).body, b"as zstd");
    fs::remove_file(site.path("small.txt.zst")).expect("the file");
    assert_eq!(get_with(&server, "/small.txt", accept).body, SMALL);
    assert!(!String::from_utf8_lossy(&get_with(&server, "/bare/", "").body).contains("new"));
    fs::write(site.path("bare/new"), "").expect("a file");
    assert!(String::from_utf8_lossy(&get_with(&server, "/bare/", "").body).contains("new"));

    let server = Server::start(&pair, "http", &[&args[..], &["1h"]].concat());
    assert_eq!(get_with(&server, "/small.txt", accept).body, SMALL);
    fs::write(site.path("small.txt"), "another").expect("a file");
    fs::write(site.path("small.txt.zst"), "as zstd").expect("a file");
    assert_eq!(get_with(&server, "/small.txt", accept).body, SMALL);

    let server = Server::start(&pair, "http", &[&args[..], &["1s"]].concat());
    fs::remove_file(site.path("small.txt.zst")).expect("the file");
    assert_eq!(get_with(&server, "/small.txt", accept).body, b"another");
    fs::write(site.path("small.txt.zst"), "as zstd").expect("a file");
    until("the compressed file is found", || get_with(&server, "/small.txt", accept).body == b"as zstd");
}

/// What is served is what the files hold, whatever the state of the page cache; and a request that asks for no content
/// leaves a file out of it.
#[test]
fn cold_files_leave_the_page_cache_before_they_are_sent() {
    let site = site();
    let path = site.path("large.bin");
    let file = DiskFile::open(&path, &FileOptions::default()).expect("the file");
    let in_memory = file_system::name(&path).is_ok_and(|name| ["tmpfs", "ramfs"].contains(&name.as_str()));
    let share = || residency([&file]).expect("the page cache tells").share();
    for (model, mechanism) in [("loop", "epoll-et"), ("thread", "blocking"), ("relay", "epoll-et")] {
        let arguments = ["--root", &site.root(), "--cold-files"];
        let server = Server::start(&Pair::named(model, mechanism), "http", &arguments);
        assert_eq!(get_with(&server, "/small.txt", "").body, SMALL);
        let large = get_with(&server, "/large.bin", "").body;
        assert_eq!(large.len() as u64, LARGE_BYTES);
        assert!(large.iter().zip(0..).all(|(&byte, at)| byte == pattern_at(at)));
        server.stop().check_connections();
    }
    let pair = Pair::named("loop", "epoll-et");
    let server = Server::start(&pair, "http", &["--root", &site.root(), "--cold-files"]);
    fs::File::open(&path).and_then(|file| file.sync_all()).expect("it is written");
    make_hot(&file).expect("it is read");
    until("the file leaves the page cache", || {
        let mut http = Http::connect(server.addr);
        http.write("HEAD /large.bin HTTP/1.1\r\nHost: test\r\n\r\n");
        assert_eq!(http.reply_to_head().status, 200);
        in_memory || share() < 0.01
    });
}

#[test]
fn a_body_may_be_as_long_as_the_option_says() {
    let pair = Pair::named("loop", "epoll-et");
    let server = Server::start(&pair, "http", &["--body-max", "10"]);
    for (body, status) in [("0123456789", 200), ("0123456789a", 413)] {
        let mut http = Http::connect(server.addr);
        http.write(format!("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        assert_eq!(http.reply().status, status);
    }
}

#[needs("curl", "gzip")]
#[test]
fn curl_decompresses_what_was_compressed_before() {
    let (site, pair) = (Site::new(), Pair::named("loop", "epoll-et"));
    let status = Command::new("gzip").args(["--keep", &format!("{}/small.txt", site.root())]).status();
    assert!(status.expect("gzip runs").success());
    let server = Server::start(&pair, "http", &["--root", &site.root(), "--precompressed"]);
    let curl = |args: &[&str]| {
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--noproxy", "*", "--max-time", "30"]).args(args);
        let output = command.arg(format!("http://{}/small.txt", server.addr)).output().expect("curl runs");
        assert!(output.status.success(), "{command:?}: {}", stderr(&output));
        output.stdout
    };
    assert_eq!(curl(&["--compressed"]), SMALL);
    assert_eq!(curl(&[]), SMALL);
    let head = String::from_utf8(curl(&["--head", "--header", "Accept-Encoding: gzip"])).expect("ASCII");
    assert!(
        head.contains("Content-Encoding: gzip\r\n") && head.contains("Vary: Accept-Encoding\r\n"),
        "{head}"
    );
    assert!(head.contains("Content-Type: text/plain; charset=utf-8\r\n"), "{head}");
}
