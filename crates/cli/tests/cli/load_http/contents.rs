//! Methods, headers, bodies and credentials.

use std::io::Write as _;

use super::server::{Request, Server, ok};
use super::{json, load, refused};
use crate::support::{stderr, stdout};

/// The only request that is sent with these options to this path.
fn sent(url: &str, arguments: &[&str]) -> Request {
    let server = Server::start(ok);
    let url = url.replace("HOST", &server.address.to_string());
    let output = load(&[&[url.as_str(), "-c", "1", "-n", "1"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let seen = server.seen();
    assert_eq!(seen.len(), 1);
    seen.into_iter().next().unwrap()
}

#[test]
fn a_request_is_what_the_options_say() {
    let plain = sent("http://HOST/a?b", &[]);
    assert_eq!(plain.line(), "GET /a?b");
    assert_eq!(plain.header("user-agent"), Some(concat!("pitot/", env!("CARGO_PKG_VERSION"))));
    for flag in ["-X", "-m", "--method"] {
        assert_eq!(sent("http://HOST/", &[flag, "DELETE"]).line(), "DELETE /");
    }
    let own = sent("http://HOST/", &["-H", "X-One: 1", "-H", "X-Two: 2", "--user-agent", "me"]);
    assert_eq!((own.header("x-one"), own.header("x-two")), (Some("1"), Some("2")));
    assert_eq!(own.header("user-agent"), Some("me"));
    assert_eq!(sent("http://HOST/", &["--user-agent", ""]).header("user-agent"), None);
}

#[test]
fn a_body_of_any_kind_is_posted_with_its_length() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"\x00from a file\xff").unwrap();
    let path = file.path().to_str().unwrap();
    let text = sent("http://HOST/", &["--body", "hello"]);
    assert_eq!((text.line(), &*text.body, text.header("content-type")), ("POST /", &b"hello"[..], None));
    for arguments in [["--body-file", path], ["--body", &format!("@{path}")]] {
        let request = sent("http://HOST/", &arguments);
        assert_eq!((request.line(), &*request.body), ("POST /", &b"\x00from a file\xff"[..]));
    }
    let form = sent("http://HOST/", &["--form", "a=1 2", "--form", "b=x&y", "-X", "PUT"]);
    assert_eq!((form.line(), &*form.body), ("PUT /", &b"a=1+2&b=x%26y"[..]));
    assert_eq!(form.header("content-type"), Some("application/x-www-form-urlencoded"));
    let parts = sent("http://HOST/", &["--form", "a=1", "--form", &format!("f=@{path}")]);
    assert!(parts.header("content-type").unwrap().starts_with("multipart/form-data; boundary="));
    assert!(parts.body.windows(13).any(|window| window == b"\x00from a file\xff"));
    let typed = sent("http://HOST/", &["--form", "a=1", "-H", "Content-Type: x/y"]);
    assert_eq!(typed.header("content-type"), Some("x/y"));
}

#[test]
fn credentials_are_sent_and_not_shown() {
    let expected = Some("Basic bWU6c2VjcmV0");
    assert_eq!(sent("http://me:secret@HOST/", &[]).header("authorization"), expected);
    assert_eq!(sent("http://HOST/", &["--basic-auth", "me:secret"]).header("authorization"), expected);
    let server = Server::start(ok);
    let url = server.url("/").replace("http://", "http://me:secret@");
    let printed = json(&[&url, "-n", "1"]);
    assert_eq!(printed["target"], server.url("/"));
    let output = load(&[&url, "-n", "1"]);
    assert!(!stdout(&output).contains("secret"), "{}", stdout(&output));
}

#[test]
fn what_contradicts_itself_or_has_no_effect_is_refused() {
    let url = "http://127.0.0.1:1/";
    assert!(refused(&[url, "--body", "x", "--form", "a=b"]).contains("each name a body"));
    assert!(refused(&[url, "--form", "a"]).contains("not a form field"));
    assert!(refused(&[url, "--basic-auth", "me"]).contains("no password"));
    assert!(refused(&["http://a:b@127.0.0.1:1/", "--basic-auth", "a:b"]).contains("the same header"));
    assert!(refused(&["memcache://a:p@127.0.0.1:1/"]).contains("has no login"));
    assert!(refused(&["redis://127.0.0.1:1/", "--form", "a=b"]).contains("no effect on redis://"));
    assert!(refused(&[url, "--body-file", "/nonexistent/body"]).contains("/nonexistent/body"));
}
