//! HTTP clients that share no code with the server: curl and the library ureq.

use std::fs;
use std::io::Read;
use std::process::Command;
use std::time::Duration;

use pitot_needs::needs;
use ureq::http::StatusCode;
use ureq::{Agent, SendBody};

use super::http::Http;
use super::pairs::{Cell, on_covering_pairs, on_every_pair};
use super::server::Server;
use super::site::{INDEX, LARGE_BYTES, SMALL, Site};
use crate::support::{TIMEOUT, stderr};

fn agent() -> Agent {
    // Errors in the status are answers here.
    let config = Agent::config_builder().http_status_as_error(false).max_redirects(0);
    config.timeout_global(Some(TIMEOUT)).timeout_connect(Some(Duration::from_secs(10))).build().new_agent()
}

#[test]
fn a_library_gets_what_it_asks_for() {
    let site = Site::new();
    on_every_pair(Cell::Works, |pair| {
        let server = Server::start(pair, "http", &["--root", &site.root()]);
        let agent = agent();
        let url = |path: &str| format!("http://{}{path}", server.addr);
        let get = |path: &str, fields: &[(&str, &str)]| {
            let request = fields
                .iter()
                .fold(agent.get(url(path)), |request, (name, value)| request.header(*name, *value));
            let mut reply = request.call().expect("a reply");
            let body = reply.body_mut().with_config().limit(1 << 30).read_to_vec().expect("the content");
            (reply.status(), reply.headers().clone(), body)
        };

        let (status, fields, body) = get("/small.txt", &[]);
        assert_eq!(
            (status, &body[..], fields["content-type"].as_bytes()),
            (StatusCode::OK, SMALL, &b"text/plain; charset=utf-8"[..])
        );
        let (etag, modified) = (fields["etag"].to_str().unwrap(), fields["last-modified"].to_str().unwrap());
        assert_eq!(get("/small.txt", &[("If-None-Match", etag)]).0, StatusCode::NOT_MODIFIED);
        assert_eq!(get("/small.txt", &[("If-Modified-Since", modified)]).0, StatusCode::NOT_MODIFIED);
        assert_eq!(get("/small.txt", &[("If-Match", "\"other\"")]).0, StatusCode::PRECONDITION_FAILED);
        let (status, fields, body) = get("/small.txt", &[("Range", "bytes=2-6")]);
        assert_eq!((status, &body[..]), (StatusCode::PARTIAL_CONTENT, &SMALL[2..7]));
        assert_eq!(fields["content-range"], format!("bytes 2-6/{}", SMALL.len()).as_str());
        assert_eq!(get("/small.txt", &[("Range", "bytes=99-")]).0, StatusCode::RANGE_NOT_SATISFIABLE);
        let (status, fields, body) = get("/large.bin", &[("Range", "bytes=0-1,70000-70001")]);
        assert_eq!(status, StatusCode::PARTIAL_CONTENT);
        assert!(fields["content-type"].to_str().unwrap().starts_with("multipart/byteranges; boundary="));
        assert!(body.len() > 4);

        for path in ["/", "/index.html", "/sub/"] {
            assert_eq!(get(path, &[]).2, INDEX, "{path}");
        }
        let (status, fields, _) = get("/sub", &[]);
        assert_eq!((status, fields["location"].as_bytes()), (StatusCode::MOVED_PERMANENTLY, &b"/sub/"[..]));
        assert_eq!(get("/empty", &[]).2, b"");
        assert_eq!(get("/sub/inside", &[]).2, SMALL);
        for path in ["/none", "/outside", "/passwd", "/.hidden", "/sub/none/none"] {
            assert_eq!(get(path, &[]).0, StatusCode::NOT_FOUND, "{path}");
        }
        let (_, fields, body) = get("/large.bin", &[]);
        assert_eq!(
            (body.len() as u64, fields["content-length"].as_bytes()),
            (LARGE_BYTES, LARGE_BYTES.to_string().as_bytes())
        );
        assert!(body == fs::read(site.path("large.bin")).expect("the file"));

        let mut head = agent.head(url("/large.bin")).call().expect("a reply");
        assert_eq!(head.headers()["content-length"], LARGE_BYTES.to_string().as_str());
        assert_eq!(head.body_mut().read_to_vec().expect("nothing"), b"");
        let body = vec![b'z'; 60_000];
        let mut echo = agent.post(url("/echo")).send(&body[..]).expect("a reply");
        assert_eq!(echo.body_mut().read_to_vec().expect("the content"), body);
        // A reader of unknown length is sent in chunks.
        let mut reader = (&body[..]).chain(&b"!"[..]);
        let mut echo = agent.post(url("/echo")).send(SendBody::from_reader(&mut reader)).expect("a reply");
        assert_eq!(echo.body_mut().read_to_vec().expect("the content").len(), 60_001);
        assert_eq!(
            agent.put(url("/small.txt")).send("x").expect("a reply").status(),
            StatusCode::METHOD_NOT_ALLOWED
        );
        drop(agent);
        server.stop().check_connections();
    });
}

/// The parts of a path that a library would not send as they are.
#[test]
fn paths_that_climb_are_not_followed() {
    let site = Site::new();
    on_covering_pairs(Cell::Works, |pair| {
        let server = Server::start(pair, "http", &["--root", &site.root()]);
        for path in [
            "/../secret",
            "/sub/../../secret",
            "/%2e%2e/secret",
            "/..%2fsecret",
            "/sub/%2e%2e/%2e%2e/secret",
            "/small.txt%00",
            "//etc/passwd",
            "/./../secret",
        ] {
            let reply = Http::connect(server.addr).get(path);
            assert!(matches!(reply.status, 400 | 404), "{path}: {reply:?}");
        }
        server.stop().check_connections();
    });
}

#[needs("curl")]
#[test]
fn curl_gets_what_it_asks_for() {
    let site = Site::new();
    on_covering_pairs(Cell::Works, |pair| {
        let server = Server::start(pair, "http", &["--root", &site.root()]);
        let curl = |args: &[&str], path: &str| {
            let mut command = Command::new("curl");
            command.args(["--silent", "--show-error", "--noproxy", "*", "--max-time", "30"]).args(args);
            command.arg(format!("http://{}{path}", server.addr));
            let output = command.output().expect("curl runs");
            assert!(output.status.success(), "{command:?}: {}", stderr(&output));
            output.stdout
        };
        assert_eq!(curl(&[], "/small.txt"), SMALL);
        assert!(curl(&[], "/large.bin") == fs::read(site.path("large.bin")).expect("the file"));
        assert_eq!(curl(&["--range", "2-6"], "/small.txt"), &SMALL[2..7]);
        let head = String::from_utf8(curl(&["--head"], "/small.txt")).expect("ASCII");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("Content-Length: 13\r\n"), "{head}");
        assert!(curl(&["--http1.0", "--include"], "/").ends_with(INDEX));
        // With an expectation, which curl has for what is large, and in chunks.
        let body = "b".repeat(50_000);
        let sent = ["--data-binary", &body, "--header", "Expect: 100-continue", "--expect100-timeout", "30"];
        assert_eq!(curl(&sent, "/echo"), body.as_bytes());
        let chunked = ["--data-binary", &body, "--header", "Transfer-Encoding: chunked"];
        assert_eq!(curl(&chunked, "/echo"), body.as_bytes());
        // Several on one connection.
        let count = ["--output", "/dev/null", "--write-out", "%{http_code} %{num_connects}\n"];
        let several = curl(&count, "/[1-2].txt");
        assert_eq!(String::from_utf8_lossy(&several), "404 1\n404 0\n");
        // As it stands.
        let climbing = ["--path-as-is", "--output", "/dev/null", "--write-out", "%{http_code}"];
        assert_eq!(curl(&climbing, "/../secret"), b"400");
        server.stop().check_connections();
    });
}
