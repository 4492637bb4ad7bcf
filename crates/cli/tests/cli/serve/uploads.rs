//! Files that clients put: there whole or not at all.

use std::fs;
use std::path::Path;

use super::http::Http;
use super::pairs::{Cell, on_every_pair, usable};
use super::server::{Server, serve};
use super::site::{SMALL, Site};
use crate::support::until;

fn put(path: &str, length: usize) -> String {
    format!("PUT {path} HTTP/1.1\r\nHost: test\r\nContent-Length: {length}\r\n\r\n")
}

/// The files of a directory that no client may see.
fn hidden(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).expect("a directory").flatten();
    let names = names.map(|entry| entry.file_name().into_string().expect("UTF-8"));
    names.filter(|name| name.starts_with(".upload")).collect()
}

#[test]
fn files_are_stored_whole_and_served_again() {
    on_every_pair(Cell::Works, |pair| {
        let site = Site::new();
        let server = Server::start(pair, "http", &["--root", &site.root(), "--writable"]);
        let mut http = Http::connect(server.addr);
        let large = vec![b'u'; 300_000];
        http.write(put("/sub/new.bin", large.len()));
        http.write(&large);
        assert_eq!(http.reply().status, 201);
        assert_eq!(fs::read(site.path("sub/new.bin")).expect("a file"), large);
        assert_eq!(http.get("/sub/new.bin").body, large);
        // The same name again, in chunks, with another request behind it.
        http.write("PUT /sub/new.bin HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n");
        http.write("3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n");
        http.ask("/small.txt");
        assert_eq!(http.reply().status, 204);
        assert_eq!(http.reply().body, SMALL);
        assert_eq!(fs::read(site.path("sub/new.bin")).expect("a file"), b"abcdefg");
        http.write(put("/empty-too", 0));
        assert_eq!(http.reply().status, 201);
        assert_eq!(fs::read(site.path("empty-too")).expect("a file"), b"");
        http.write("OPTIONS /x HTTP/1.1\r\nHost: test\r\n\r\n");
        assert!(http.reply().field("allow").expect("methods").contains("PUT"));
        // One that is given up leaves nothing.
        let mut other = Http::connect(server.addr);
        other.write(put("/sub/half.bin", 100));
        other.write("half");
        until("it has begun", || hidden(&site.path("sub")).len() == 1);
        drop(other);
        until("it is gone", || hidden(&site.path("sub")).is_empty());
        assert!(!site.path("sub/half.bin").exists());
        drop(http);
        server.stop().check_connections();
    });
}

#[test]
fn what_may_not_be_put_is_refused_and_leaves_nothing() {
    let site = Site::new();
    let pair = &usable()[0];
    let closed = Server::start(pair, "http", &["--root", &site.root()]);
    let mut http = Http::connect(closed.addr);
    http.write(put("/new", 0));
    assert_eq!(http.reply().status, 405);
    drop(http);
    let server = Server::start(pair, "http", &["--root", &site.root(), "--writable", "--upload-max", "1KiB"]);
    for (path, status) in [
        ("/sub", 409),
        ("/sub/", 409),
        ("/none/new", 404),
        ("/.hidden", 404),
        ("/sub/../new", 400),
        ("/%2e%2e/new", 400),
        ("/sub%2fnew", 404),
    ] {
        let mut http = Http::connect(server.addr);
        http.write(put(path, 3));
        assert_eq!(http.reply_to_head().status, status, "{path}");
    }
    let mut http = Http::connect(server.addr);
    http.write(put("/new", 1025));
    assert_eq!(http.reply_to_head().status, 413);
    let mut http = Http::connect(server.addr);
    http.write("PUT /new HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n500\r\n");
    http.write(vec![b'x'; 0x500]);
    assert_eq!(http.reply_to_head().status, 413);
    assert!(!site.path("new").exists());
    until("nothing is left", || hidden(Path::new(&site.root())).is_empty());
}

#[test]
fn a_full_disk_is_told_and_leaves_nothing() {
    let site = Site::new();
    for pair in usable().iter().filter(|pair| ["loop", "fork", "relay"].contains(&pair.model.as_str())) {
        // A limit on the size of files is met like the end of a disk, and needs no file system of its own.
        let command = serve(pair, "http", &["--root", &site.root(), "--writable"]);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "ulimit -f 64 && exec \"$@\"", "sh"]);
        shell.arg(command.get_program()).args(command.get_args());
        let server = Server::run(shell);
        let mut http = Http::connect(server.addr);
        http.write(put("/full.bin", 200_000));
        http.write(vec![b'f'; 100_000]);
        assert_eq!(http.reply_to_head().status, 507, "{pair}");
        drop(http);
        until("nothing is left", || hidden(Path::new(&site.root())).is_empty());
        assert!(!site.path("full.bin").exists());
        let mut http = Http::connect(server.addr);
        http.write(put("/fits", 3));
        http.write("abc");
        assert_eq!(http.reply_to_head().status, 201);
        drop(http);
        server.stop().check_connections();
        fs::remove_file(site.path("fits")).expect("a file");
    }
}
