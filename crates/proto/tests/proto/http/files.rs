//! Files: fields, conditions, ranges, directories.

use pitot_proto::http::range::RANGES_MAX;
use pitot_proto::{Context, Exchange, Next, Protocol};
use pitot_proto_harness::{DATE, Files, Held, MODIFIED_S, Pump, UNIX_S};

use super::support::*;

#[test]
fn a_file_comes_with_what_is_known_of_it() {
    for (path, size) in [("/disk.bin", 200), ("/memory.bin", 200), ("/large.bin", 100_000)] {
        let reply = get(path, "");
        assert_eq!((reply.status, reply.content.len()), (200, size));
        assert_eq!(reply.field("content-type"), Some("application/octet-stream"));
        assert_eq!(reply.field("last-modified"), Some(MODIFIED));
        assert_eq!(reply.field("etag"), Some(etag(size).as_str()));
        assert_eq!(reply.field("accept-ranges"), Some("bytes"));
    }
    assert_eq!(get("/disk.bin", "").content, digits());
    assert_eq!(get("/memory.bin", "").content, digits());
    let empty = get("/empty.txt", "");
    assert_eq!((empty.status, empty.field("content-length")), (200, Some("0")));
    assert_eq!(empty.field("content-type"), Some("text/plain; charset=utf-8"));
}

#[test]
fn head_has_the_fields_of_get_and_no_content() {
    for path in ["/hello.txt", "/disk.bin", "/bytes/70000", "/missing", "/dir", "/.x"] {
        let reply = get(path, "");
        let (head, _) = ask(&format!("HEAD {path} HTTP/1.1\r\nHost: h\r\n\r\n"));
        assert_eq!((head.status, &head.fields), (reply.status, &reply.fields), "{path}");
        assert!(head.content.is_empty());
    }
}

#[test]
fn a_query_does_not_change_the_file() {
    assert_eq!(get("/hello.txt?v=3", "").text(), "hello, world\n");
    assert_eq!(get("/a%20b.txt?", "").text(), "blank");
}

#[test]
fn a_directory_has_an_index_and_ends_with_a_slash() {
    assert_eq!(get("/", "").text(), "<h1>root</h1>");
    assert_eq!(get("/dir/", "").text(), "<h1>dir</h1>");
    assert_eq!(get("/dir/", "").field("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(get("/dir", "").field("location"), Some("/dir/"));
    assert_eq!(get("/dir?a=b&c", "").field("location"), Some("/dir/?a=b&c"));
    assert_eq!(get("/%64ir", "").field("location"), Some("/dir/"));
    assert_eq!(get("http://evil/dir", "").field("location"), Some("/dir/"));
}

#[test]
fn no_path_becomes_a_redirect_to_another_host() {
    let mut files = Files::new();
    for path in ["evil.com", "evil.com/x", "a\r\nLocation: http", "a b"] {
        files.add_error(path, pitot_proto::OpenError::IsDirectory);
    }
    let http = site();
    for path in [
        "//evil.com",
        "///evil.com",
        "/%2fevil.com",
        "/%2Fevil.com",
        "/\\evil.com",
        "/%5cevil.com",
        "/.//evil.com",
        "/evil.com",
        "/evil.com/x",
        "/a%0d%0aLocation:%20http",
        "/a%20b",
    ] {
        let mut pump = Pump::new(&http, &files);
        pump.feed(format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes());
        let reply = &replies(&pump.sent, &[])[0];
        if let Some(location) = reply.field("location") {
            assert_eq!(reply.status, 301);
            assert!(location.starts_with('/') && !location.starts_with("//"), "{path}: {location}");
            assert!(location.bytes().all(|b| matches!(b, 0x21..=0x7e) && b != b'\\'), "{path}: {location}");
        } else {
            assert!(matches!(reply.status, 400 | 404), "{path} gave {}", reply.status);
        }
    }
}

/// Conditions on a file whose tag is `etag(13)`, modified at `MODIFIED`.
#[test]
fn conditional_requests() {
    let tag = etag(13);
    let (earlier, later) = ("Sat, 05 Nov 1994 01:46:39 GMT", "Sat, 05 Nov 1994 01:46:41 GMT");
    for (lines, status) in [
        (format!("If-None-Match: {tag}\r\n"), 304),
        (format!("If-None-Match: W/{tag}\r\n"), 304),
        ("If-None-Match: *\r\n".to_string(), 304),
        (format!("If-None-Match: \"a\", {tag}\r\n"), 304),
        (format!("If-None-Match: \"a\"\r\nIf-None-Match: {tag}\r\n"), 304),
        ("If-None-Match: \"a\"\r\n".to_string(), 200),
        (format!("If-Modified-Since: {MODIFIED}\r\n"), 304),
        (format!("If-Modified-Since: {later}\r\n"), 304),
        (format!("If-Modified-Since: {earlier}\r\n"), 200),
        ("If-Modified-Since: yesterday\r\n".to_string(), 200),
        (format!("If-Modified-Since: {later}\r\nIf-Modified-Since: {later}\r\n"), 200),
        (format!("If-None-Match: \"a\"\r\nIf-Modified-Since: {later}\r\n"), 200),
        (format!("If-None-Match: {tag}\r\nIf-Modified-Since: {earlier}\r\n"), 304),
        (format!("If-Match: {tag}\r\n"), 200),
        ("If-Match: *\r\n".to_string(), 200),
        (format!("If-Match: W/{tag}\r\n"), 412),
        ("If-Match: \"a\"\r\n".to_string(), 412),
        (format!("If-Match: \"a\"\r\nIf-None-Match: {tag}\r\n"), 412),
        (format!("If-Match: {tag}\r\nIf-None-Match: {tag}\r\n"), 304),
        (format!("If-Unmodified-Since: {MODIFIED}\r\n"), 200),
        (format!("If-Unmodified-Since: {earlier}\r\n"), 412),
        ("If-Unmodified-Since: tomorrow\r\n".to_string(), 200),
        (format!("If-Match: {tag}\r\nIf-Unmodified-Since: {earlier}\r\n"), 200),
    ] {
        for path in ["/hello.txt", "/hello.txt?x"] {
            let reply = get(path, &lines);
            assert_eq!(reply.status, status, "{lines:?}");
            if status == 304 {
                let known = (reply.field("etag"), reply.field("last-modified"), reply.field("content-type"));
                assert_eq!(known, (Some(tag.as_str()), Some(MODIFIED), None));
            }
        }
        let (head, _) = ask(&format!("HEAD /hello.txt HTTP/1.1\r\nHost: h\r\n{lines}\r\n"));
        assert_eq!(head.status, status, "HEAD {lines:?}");
    }
    // What is not there has no state to compare.
    assert_eq!(get("/missing", "If-Match: \"a\"\r\n").status, 404);
    // Generated content has no validator.
    assert_eq!(get("/bytes/5", "If-Match: \"a\"\r\n").status, 412);
    assert_eq!(get("/bytes/5", "If-None-Match: \"a\"\r\n").status, 200);
    assert_eq!(get("/bytes/5", "If-None-Match: *\r\n").status, 304);
}

#[test]
fn a_file_from_the_future_is_as_old_as_the_reply() {
    let mut files = Files::new();
    files.add_modified("f.txt", b"x", Held::InMemory, UNIX_S + 1000);
    files.add_modified("far.txt", b"x", Held::InMemory, u64::MAX);
    let http = site();
    for path in ["f.txt", "far.txt"] {
        for (unix_s, date) in [(UNIX_S, DATE), (UNIX_S + 1, "Sun, 06 Nov 1994 08:49:38 GMT")] {
            let (mut conn, mut exchange) = (http.connect(), Exchange::new());
            let cx = Context { unix_s, date, stopping: false };
            let request = format!("GET /{path} HTTP/1.1\r\nHost: h\r\n\r\n");
            assert_eq!(conn.receive(&cx, request.as_bytes(), &mut exchange).unwrap().next, Next::Open);
            let answer = files.open(&exchange.path);
            assert_eq!(conn.opened(&cx, answer, &mut exchange), Next::Read);
            let reply = String::from_utf8(exchange.out.gather().slices()[0].to_vec()).unwrap();
            assert!(reply.contains(&format!("Last-Modified: {date}\r\n")), "{reply}");
        }
    }
}

#[test]
fn one_range() {
    for path in ["/disk.bin", "/memory.bin"] {
        for (range, first, last) in [
            ("0-0", 0, 0),
            ("0-9", 0, 9),
            ("190-", 190, 199),
            ("190-500", 190, 199),
            ("-10", 190, 199),
            ("-500", 0, 199),
            ("5-6,7-8", 5, 8),
        ] {
            let reply = get(path, &format!("Range: bytes={range}\r\n"));
            assert_eq!(reply.status, 206, "{range}");
            assert_eq!(reply.field("content-range"), Some(format!("bytes {first}-{last}/200").as_str()));
            assert_eq!(reply.content, digits()[first..=last]);
            assert_eq!(reply.field("etag"), Some(etag(200).as_str()));
            assert_eq!(reply.field("content-type"), Some("application/octet-stream"));
        }
        let reply = get(path, "Range: bytes=200-\r\n");
        assert_eq!((reply.status, reply.field("content-range")), (416, Some("bytes */200")));
    }
    let reply = get("/bytes/100000", "Range: bytes=65530-65599\r\n");
    let expected: Vec<u8> = (65_530..65_600).map(pitot_proto::pattern_at).collect();
    assert_eq!((reply.status, reply.content), (206, expected));
}

#[test]
fn a_range_that_does_not_count_is_ignored() {
    let too_many = format!("Range: bytes={}\r\n", vec!["0-0"; RANGES_MAX + 1].join(","));
    for lines in [
        "Range: lines=0-5\r\n",
        "Range: bytes=5-4\r\n",
        "Range: bytes=\r\n",
        "Range: bytes=0-1\r\nRange: bytes=2-3\r\n",
        "Range: bytes=0-1\r\nIf-Range: \"other\"\r\n",
        "Range: bytes=0-1\r\nIf-Range: Sat, 05 Nov 1994 01:46:39 GMT\r\n",
        &too_many,
    ] {
        let reply = get("/disk.bin", lines);
        assert_eq!((reply.status, reply.content.len()), (200, 200), "{lines:?}");
    }
    let (head, _) = ask("HEAD /disk.bin HTTP/1.1\r\nHost: h\r\nRange: bytes=0-1\r\n\r\n");
    assert_eq!((head.status, head.field("content-length")), (200, Some("200")));
    assert_eq!(get("/empty.txt", "Range: bytes=0-1\r\n").status, 200);
}

#[test]
fn a_range_counts_while_the_file_is_the_same() {
    for lines in [format!("If-Range: {}\r\n", etag(200)), format!("If-Range: {MODIFIED}\r\n")] {
        let reply = get("/disk.bin", &format!("Range: bytes=0-1\r\n{lines}"));
        assert_eq!(reply.status, 206, "{lines:?}");
    }
    let not_modified = get("/disk.bin", &format!("Range: bytes=0-1\r\nIf-None-Match: {}\r\n", etag(200)));
    assert_eq!(not_modified.status, 304, "other conditions come first");
}

/// Parts of a multipart/byteranges reply: content type, content range, bytes.
fn parts(reply: &Reply) -> Vec<(String, String, Vec<u8>)> {
    let boundary =
        reply.field("content-type").unwrap().strip_prefix("multipart/byteranges; boundary=").unwrap();
    let mut rest = reply.content.as_slice();
    let mut parts = Vec::new();
    loop {
        rest = rest.strip_prefix(b"\r\n").unwrap_or(rest);
        rest = rest.strip_prefix(format!("--{boundary}").as_bytes()).expect("a boundary");
        if rest == b"--\r\n" {
            return parts;
        }
        let end = rest.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
        let head = std::str::from_utf8(&rest[2..end]).unwrap();
        let lines: Vec<(&str, &str)> =
            head.split("\r\n").map(|line| line.split_once(": ").unwrap()).collect();
        let [("Content-Type", media_type), ("Content-Range", range)] = lines[..] else { panic!("{lines:?}") };
        let (first, last) =
            range.strip_prefix("bytes ").unwrap().split_once('/').unwrap().0.split_once('-').unwrap();
        let len = last.parse::<usize>().unwrap() - first.parse::<usize>().unwrap() + 1;
        parts.push((media_type.into(), range.into(), rest[end + 4..end + 4 + len].to_vec()));
        rest = &rest[end + 4 + len..];
    }
}

#[test]
fn several_ranges_come_as_parts() {
    for path in ["/disk.bin", "/memory.bin"] {
        let reply = get(path, "Range: bytes=150-159, 0-9, -1\r\n");
        assert_eq!((reply.status, reply.field("content-range")), (206, None));
        let octets = "application/octet-stream".to_string();
        assert_eq!(
            parts(&reply),
            [
                (octets.clone(), "bytes 150-199/200".to_string(), digits()[150..].to_vec()),
                (octets, "bytes 0-9/200".to_string(), digits()[..10].to_vec()),
            ]
        );
    }
    let reply = get("/large.bin", "Range: bytes=0-49999,60000-99999\r\n");
    let lens: Vec<usize> = parts(&reply).iter().map(|(_, _, bytes)| bytes.len()).collect();
    assert_eq!(lens, [50_000, 40_000]);
}

#[test]
fn no_set_of_ranges_gets_more_than_the_file_and_its_part_heads() {
    for set in
        [vec!["0-"; RANGES_MAX].join(","), "0-,1-,2-,-1,-2".to_string(), "0-99,50-149,100-199".to_string()]
    {
        let reply = get("/disk.bin", &format!("Range: bytes={set}\r\n"));
        assert_eq!((reply.status, reply.content.len()), (206, 200), "{set}");
    }
}

#[test]
fn the_last_modified_date_is_that_of_the_harness() {
    assert_eq!(pitot_proto::http::conditional::date(MODIFIED.as_bytes()), Some(MODIFIED_S));
}
