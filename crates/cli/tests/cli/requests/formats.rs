//! Every format of files of requests.

use super::server::{Server, ok};
use super::{file, load, load_with_input, refused};

/// Sends as many requests from a file, one after the other, and returns the server that has seen them.
fn sent(content: impl Fn(&str) -> String, requests: &str, more: &[&str]) -> Server {
    let server = Server::start(|_| ok());
    let file = file(&content(&server.url()));
    let url = server.url();
    let (result, code) =
        load(&[&[&*url, "--requests", &file.path, "-c", "1", "-n", requests], more].concat());
    assert_eq!((code, &result["requests"]["ok"].to_string()[..]), (0, requests), "{result}");
    server
}

fn lines(server: &Server) -> Vec<String> {
    server.seen().iter().map(|request| request.line()).collect()
}

#[test]
fn urls_and_methods_a_line_come_in_turn() {
    let server = sent(|url| format!("# list\n{url}/a?b\nPOST /c some body\n/d\n"), "4", &[]);
    assert_eq!(lines(&server), ["GET /a?b", "POST /c", "GET /d", "GET /a?b"]);
    assert_eq!(server.seen()[1].body, "some body");
}

#[test]
fn targets_of_vegeta_keep_headers_and_bodies() {
    let content = |url: &str| {
        format!(
            "{{\"method\":\"PUT\",\"url\":\"{url}/a\",\"body\":\"aGVsbG8=\",\"header\":{{\"X-A\":[\"1\"]}}}}\n\
             {{\"method\":\"GET\",\"url\":\"{url}/b\"}}\n"
        )
    };
    let server = sent(content, "2", &["-H", "X-A: all", "-H", "X-B: all"]);
    let seen = server.seen();
    assert_eq!(lines(&server), ["PUT /a", "GET /b"]);
    assert_eq!((seen[0].header("x-a"), seen[0].header("x-b"), &*seen[0].body), ("1", "all", "hello"));
    assert_eq!((seen[1].header("x-a"), &*seen[1].body), ("all", ""));
}

#[test]
fn an_archive_of_a_browser_sends_what_was_sent_to_the_target() {
    let content = |url: &str| {
        format!(
            r#"{{"log": {{"entries": [
            {{"request": {{"method": "GET", "url": "https://cdn.example/x.js", "headers": []}}}},
            {{"request": {{"method": "GET", "url": "{url}/page", "headers": [
                {{"name": "Host", "value": "somewhere"}}, {{"name": "Accept", "value": "text/html"}}]}}}},
            {{"request": {{"method": "POST", "url": "{url}/form", "headers": [
                {{"name": "Content-Type", "value": "text/plain"}}, {{"name": "Content-Length", "value": "99"}}],
              "postData": {{"mimeType": "text/plain", "text": "typed"}}}}}}]}}}}"#
        )
    };
    let server = sent(content, "2", &[]);
    let seen = server.seen();
    assert_eq!(lines(&server), ["GET /page", "POST /form"]);
    assert_eq!(format!("http://{}", seen[0].header("host")), server.url());
    assert_eq!(seen[0].header("accept"), "text/html");
    assert_eq!((seen[1].header("content-type"), &*seen[1].body), ("text/plain", "typed"));

    let file = file(&content(&server.url()));
    let output = load_with_input(&[&server.url(), "--requests", &file.path, "-n", "2"], "");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("2 requests from") && said.contains("1 request to servers other than"), "{said}");
}

#[test]
fn an_access_log_is_sent_in_its_order() {
    let line = |path: &str| {
        format!("::1 - - [10/Oct/2000:13:55:36 -0700] \"GET {path} HTTP/1.1\" 200 1 \"-\" \"agent\"\n")
    };
    let server = sent(|_| line("/a") + "noise\n" + &line("/b") + &line("/a"), "4", &[]);
    assert_eq!(lines(&server), ["GET /a", "GET /b", "GET /a", "GET /a"]);
}

#[test]
fn tables_have_weights() {
    let content =
        "[[request]]\nurl = '/often'\nweight = 99\nheaders = { X-A = 'b' }\n[[request]]\nurl = '/rare'\n";
    let server = sent(|_| content.into(), "200", &[]);
    let often = server.seen().iter().filter(|request| request.path == "/often").count();
    assert!((160..200).contains(&often), "{often}");
    assert!(server.seen().iter().all(|r| r.header("x-a") == if r.path == "/often" { "b" } else { "" }));
}

#[test]
fn requests_come_from_standard_input() {
    let server = Server::start(|_| ok());
    let arguments = [&*server.url(), "--requests", "-", "-c", "1", "-n", "2"];
    let output = load_with_input(&arguments, "/a\n/b\n");
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains("2 requests from standard input (lines)"));
    assert_eq!(lines(&server), ["GET /a", "GET /b"]);
    let said = refused(&[&server.url(), "--requests", "-", "--processes", "2"]);
    assert!(said.contains("contains no requests"), "{said}");
    let output = load_with_input(&[&server.url(), "--requests", "-", "--processes", "2"], "/a\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--requests FILE"));
}

#[test]
fn a_bad_file_is_refused_with_its_name_and_line() {
    let url = "http://127.0.0.1:9/";
    for (content, format, said) in [
        ("/a\nGET\n", "lines", "line 2 of"),
        ("{\"method\": \"GET\", \"url\": \"/\"}\n{}\n", "vegeta", "line 2 of"),
        ("{\"log\":\n 1}", "har", "line 2 of"),
        ("nothing\n", "log", "none of its 1 line"),
        ("[[request]]\n", "toml", "line 1 of"),
        ("/a\nG@T /b\n", "lines", "line 2 of"),
        ("{\"method\": \"GET\", \"url\": \"/\", \"header\": {\"a b\": [\"c\"]}}\n", "vegeta", "line 1 of"),
    ] {
        let file = file(content);
        let text = refused(&[url, "--requests", &file.path, "--requests-format", format]);
        assert!(text.contains(said) && text.contains(&file.path), "{format}: {text}");
        assert_eq!(text.trim_end().lines().count(), 2, "{text}");
    }
}
