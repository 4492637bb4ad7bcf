//! Precompressed files and directory listings.

use pitot_proto::http::Http;
use pitot_proto::http::listing::Entries;
use pitot_proto::http::options::HttpOptions;
use pitot_proto::{OpenError, ProtocolOptions};
use pitot_proto_harness::{Files, Held, Pump, UNIX_S};
use proptest::prelude::*;

use super::support::*;

fn site_with(http: HttpOptions) -> Http {
    Http::new(&ProtocolOptions { http, ..options() }).unwrap()
}

fn precompressed() -> Http {
    site_with(HttpOptions { precompressed: Some(1), ..HttpOptions::default() })
}

/// Files with coded forms of other lengths, so that their entity tags differ.
fn coded_files() -> Files {
    let mut files = files();
    files
        .add("app.js", b"the file itself", Held::InMemory)
        .add("app.js.gz", b"gzip", Held::InMemory)
        .add("app.js.br", b"brotli", Held::OnDisk)
        .add("large.txt", &[b'a'; 30_000], Held::OnDisk)
        .add("large.txt.zst", &digits(), Held::OnDisk)
        .add("dir/index.html.gz", b"gzip of the index", Held::InMemory)
        .add("alone.txt.gz", b"of nothing", Held::InMemory);
    files
}

fn get_from(http: &Http, files: &Files, request: &str) -> Reply {
    let mut pump = Pump::new(http, files);
    pump.feed(request.as_bytes());
    let mut replies = replies(&pump.sent, &[request.starts_with("HEAD ")]);
    assert_eq!(replies.len(), 1, "{request:?} gave {replies:?}");
    replies.remove(0)
}

fn coded(path: &str, lines: &str) -> Reply {
    let request = format!("GET {path} HTTP/1.1\r\nHost: h\r\n{lines}\r\n");
    get_from(&precompressed(), &coded_files(), &request)
}

#[test]
fn a_client_gets_the_coded_form_that_it_accepts() {
    for (path, accepts, coding, content) in [
        ("/app.js", "gzip", Some("gzip"), "gzip"),
        ("/app.js", "gzip, br", Some("br"), "brotli"),
        ("/app.js", "gzip, br;q=0.5", Some("gzip"), "gzip"),
        ("/app.js", "zstd, gzip;q=0.1", Some("gzip"), "gzip"),
        ("/app.js", "zstd", None, "the file itself"),
        ("/app.js", "gzip;q=0, br;q=0.0", None, "the file itself"),
        ("/app.js", "identity, gzip;q=0.9", None, "the file itself"),
        ("/app.js?v=1", "br", Some("br"), "brotli"),
        ("/dir/", "gzip", Some("gzip"), "gzip of the index"),
        ("/hello.txt", "gzip, br, zstd", None, "hello, world\n"),
    ] {
        let reply = coded(path, &format!("Accept-Encoding: {accepts}\r\n"));
        assert_eq!((reply.status, reply.field("content-encoding")), (200, coding), "{path}, {accepts}");
        assert_eq!(
            (reply.text(), reply.field("vary")),
            (content, Some("Accept-Encoding")),
            "{path}, {accepts}"
        );
        assert_eq!(reply.field("etag"), Some(etag(content.len()).as_str()), "{path}, {accepts}");
    }
    let own = coded("/app.js", "");
    assert_eq!((own.text(), own.field("vary")), ("the file itself", Some("Accept-Encoding")));
    let br = coded("/app.js", "Accept-Encoding: br\r\n");
    assert_eq!(br.field("content-type"), own.field("content-type"));
    assert_eq!(br.field("content-type"), Some("text/javascript; charset=utf-8"));
    assert_ne!(br.field("etag"), own.field("etag"));
    // Several lines are one list.
    assert_eq!(coded("/app.js", "Accept-Encoding: zstd\r\nAccept-Encoding: gzip\r\n").text(), "gzip");
}

#[test]
fn a_coded_file_is_a_file_as_well() {
    for lines in ["", "Accept-Encoding: gzip\r\n"] {
        let reply = coded("/app.js.gz", lines);
        assert_eq!((reply.text(), reply.field("content-encoding")), ("gzip", None));
        assert_eq!(reply.field("content-type"), Some("application/gzip"));
    }
    // One that belongs to no file is not offered in its place.
    assert_eq!(coded("/alone.txt", "Accept-Encoding: gzip\r\n").status, 404);
    // A directory is still redirected to, a missing file still missing.
    assert_eq!(coded("/dir", "Accept-Encoding: gzip\r\n").status, 301);
    assert_eq!(coded("/none", "Accept-Encoding: gzip\r\n").status, 404);
    assert_eq!(coded("/secret.txt", "Accept-Encoding: gzip\r\n").status, 403);
}

#[test]
fn conditions_and_ranges_are_those_of_the_coded_form() {
    let accept = "Accept-Encoding: br\r\n";
    let (own, br) = (etag(b"the file itself".len()), etag(b"brotli".len()));
    let not_modified = coded("/app.js", &format!("{accept}If-None-Match: {br}\r\n"));
    assert_eq!((not_modified.status, not_modified.field("vary")), (304, Some("Accept-Encoding")));
    assert_eq!(coded("/app.js", &format!("{accept}If-None-Match: {own}\r\n")).status, 200);
    assert_eq!(coded("/app.js", &format!("If-None-Match: {own}\r\n")).status, 304);
    assert_eq!(coded("/app.js", &format!("{accept}If-Match: {own}\r\n")).status, 412);

    let part = coded("/app.js", &format!("{accept}Range: bytes=1-3\r\n"));
    assert_eq!((part.status, part.text(), part.field("content-encoding")), (206, "rot", Some("br")));
    assert_eq!(part.field("content-range"), Some("bytes 1-3/6"));
    let part = coded("/app.js", &format!("{accept}Range: bytes=1-3\r\nIf-Range: {own}\r\n"));
    assert_eq!((part.status, part.text()), (200, "brotli"));
    assert_eq!(coded("/app.js", &format!("{accept}Range: bytes=10-\r\n")).status, 416);
    // A message of several parts has no coding.
    let parts = coded("/large.txt", "Accept-Encoding: zstd\r\nRange: bytes=0-1,150-\r\n");
    assert_eq!((parts.status, parts.field("content-encoding")), (200, Some("zstd")));
    assert_eq!(parts.content, digits());
    let parts = coded("/large.txt", "Range: bytes=0-1,150-151\r\n");
    assert_eq!(parts.status, 206);

    for path in ["/app.js", "/large.txt"] {
        let lines = format!("{path} HTTP/1.1\r\nHost: h\r\nAccept-Encoding: br, zstd\r\n\r\n");
        let get = get_from(&precompressed(), &coded_files(), &format!("GET {lines}"));
        let head = get_from(&precompressed(), &coded_files(), &format!("HEAD {lines}"));
        assert_eq!((head.status, &head.fields), (get.status, &get.fields));
    }
}

#[test]
fn without_the_option_nothing_is_asked_for_or_said() {
    let request = "GET /app.js HTTP/1.1\r\nHost: h\r\nAccept-Encoding: br\r\n\r\n";
    let reply = get_from(&site(), &coded_files(), request);
    assert_eq!((reply.text(), reply.field("vary")), ("the file itself", None));
}

#[test]
fn that_there_is_no_coded_form_is_remembered_for_a_time() {
    let request = b"GET /app.js HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip, br\r\n\r\n";
    for (memory_s, after_s, expected) in
        [(1, 0, "itself"), (1, 1, "gzip"), (5, 4, "itself"), (5, 5, "gzip"), (0, 0, "gzip")]
    {
        let http = site_with(HttpOptions { precompressed: Some(memory_s), ..HttpOptions::default() });
        let mut files = Files::new();
        files.add("app.js", b"itself", Held::InMemory);
        let ask = |files: &Files, unix_s| {
            let mut pump = Pump::new(&http, files);
            pump.worker.unix_s = unix_s;
            pump.feed(request);
            replies(&pump.sent, &[]).remove(0).text().to_owned()
        };
        assert_eq!(ask(&files, UNIX_S), "itself");
        files.add("app.js.gz", b"gzip", Held::InMemory);
        assert_eq!(ask(&files, UNIX_S + after_s), expected, "{memory_s} s, after {after_s}");
    }
    // For want of a descriptor it is not known.
    let http = precompressed();
    let mut files = Files::new();
    files.add("app.js", b"itself", Held::InMemory).add_error("app.js.gz", OpenError::Unavailable);
    let request = std::str::from_utf8(request).unwrap();
    assert_eq!(get_from(&http, &files, request).text(), "itself");
    files.add("app.js.gz", b"gzip", Held::InMemory);
    assert_eq!(get_from(&http, &files, request).text(), "gzip");
    // A file from the future keeps its own validator.
    files.add_modified("app.js", b"itself", Held::InMemory, UNIX_S + 100);
    assert_eq!(get_from(&http, &files, request).text(), "gzip");
}

proptest! {
    #[test]
    fn whatever_a_client_accepts_it_gets_a_form_of_the_file(
        value in "((gzip|br|zstd|identity|[*]|x)(;q=(0|1|0[.][0-9]{1,3}|2))?[, ]{0,2}){0,5}",
    ) {
        let reply = coded("/app.js", &format!("Accept-Encoding: {value}\r\n"));
        let content = match reply.field("content-encoding") {
            None => "the file itself",
            Some("gzip") => "gzip",
            Some("br") => "brotli",
            Some(other) => panic!("there is no {other}"),
        };
        prop_assert_eq!((reply.status, reply.text()), (200, content));
    }
}

#[test]
fn a_directory_without_an_index_is_listed_if_that_is_wanted() {
    let mut files = files();
    let mut entries = Entries::default();
    entries.push(b"a b.txt", false);
    entries.push(b"sub", true);
    entries.push(b".hidden", false);
    let content = entries.into_content();
    files.add("bare/", &content, Held::InMemory).add_error("secret/", OpenError::Forbidden);
    let http = site_with(HttpOptions { index: true, ..HttpOptions::default() });
    let ask = |method: &str, path: &str| {
        get_from(&http, &files, &format!("{method} {path} HTTP/1.1\r\nHost: h\r\n\r\n"))
    };
    let page = ask("GET", "/bare/");
    assert_eq!((page.status, page.field("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(
        page.text().contains("<a href=\"sub/\">sub/</a>") && page.text().contains("<a href=\"a%20b.txt\">")
    );
    assert!(!page.text().contains("hidden"));
    assert_eq!((page.field("etag"), page.field("last-modified")), (None, None));
    let head = ask("HEAD", "/bare/");
    assert_eq!((head.status, &head.fields, head.content.len()), (200, &page.fields, 0));
    assert_eq!(ask("GET", "/dir/").text(), "<h1>dir</h1>");
    assert_eq!(ask("GET", "/bare").field("location"), Some("/bare/"));
    assert_eq!((ask("GET", "/none/").status, ask("GET", "/secret/").status), (404, 403));
    assert_eq!(get("/bare/", "").status, 404);
}

#[test]
fn dot_files_are_served_as_the_option_says() {
    let mut files = Files::new();
    files.add(".well-known/x", b"a challenge", Held::InMemory);
    let request = "GET /.well-known/x HTTP/1.1\r\nHost: h\r\n\r\n";
    assert_eq!(get_from(&site(), &files, request).text(), "a challenge");
    let none =
        HttpOptions { dot_files: pitot_proto::http::options::DotFiles::None, ..HttpOptions::default() };
    assert_eq!(get_from(&site_with(none), &files, request).status, 404);
}
