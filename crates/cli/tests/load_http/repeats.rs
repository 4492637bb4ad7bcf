//! A run that is repeated from its result.

use std::path::Path;
use std::process::Command;

use crate::server::{Server, ok};
use crate::{json, load, refused, text};

fn save(directory: &Path, name: &str, arguments: &[&str]) -> String {
    let file = directory.join(name).to_str().unwrap().to_owned();
    let output = load(&[arguments, &["--json", &file]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    file
}

#[test]
fn a_result_repeats_its_run_and_further_options_take_precedence() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(ok);
    let url = server.url("/a?b");
    let asked = ["-n", "6", "-c", "2", "-X", "PUT", "--body", "hello", "-H", "X-One: 1"];
    let first = save(directory.path(), "first.json", &[&[url.as_str()], &asked[..]].concat());
    let again = json(&["--from", &first, "-c", "3"]);
    assert_eq!((&again["requests"]["ok"], &again["connections"]["requested"]), (&6.into(), &3.into()));
    let seen = server.seen();
    assert_eq!(seen.len(), 12);
    for (a, b) in seen[..6].iter().zip(&seen[6..]) {
        assert_eq!((&a.head, &a.body), (&b.head, &b.body));
    }
    let described = &again["options"]["asked"];
    assert_eq!((&described["method"], &described["paths"][0]), (&"PUT".into(), &"/a?b".into()));
    assert_eq!((&described["url"], &described["body"]["bytes"]), (&url.as_str().into(), &5.into()));
    // A result of a repetition can be repeated too, elsewhere for example.
    let second = save(directory.path(), "second.json", &["--from", &first]);
    let other = Server::start(ok);
    json(&["--from", &second, &other.url("/x"), "-n", "2"]);
    assert_eq!((other.seen().len(), other.seen()[0].line()), (2, "PUT /x"));
}

#[test]
fn secrets_are_masked_and_asked_for_unless_they_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(ok);
    let url = server.url("/").replace("://", "://me:s3cret@");
    let masked = save(directory.path(), "masked.json", &[&url, "-n", "1", "-H", "Cookie: id=s3cret"]);
    let printed = std::fs::read_to_string(&masked).unwrap();
    assert!(!printed.contains("s3cret") && !printed.contains("bWU6czNjcmV0"), "{printed}");
    assert!(refused(&["--from", &masked]).contains("the header Cookie, which is masked"));
    let cookie = ["-H", "Cookie: id=s3cret"];
    assert!(refused(&[&["--from", masked.as_str()], &cookie[..]].concat()).contains("--basic-auth"));
    json(&["--from", &masked, "-H", "Cookie: id=s3cret", "--basic-auth", "me:s3cret"]);
    let kept = save(directory.path(), "kept.json", &[&url, "-n", "1", "--keep-secrets"]);
    json(&["--from", &kept]);
    let seen = server.seen();
    assert!(seen.iter().all(|request| request.header("authorization") == Some("Basic bWU6czNjcmV0")));
}

#[test]
fn a_body_that_has_changed_is_pointed_out() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(ok);
    let body = directory.path().join("body").to_str().unwrap().to_owned();
    std::fs::write(&body, "one").unwrap();
    let url = server.url("/");
    let first = save(directory.path(), "first.json", &[&url, "-n", "1", "--body-file", &body]);
    assert_eq!(text(&load(&["--from", &first]).stderr), "");
    std::fs::write(&body, "two").unwrap();
    let output = load(&["--from", &first]);
    assert!(text(&output.stderr).contains("the body is another one"), "{}", text(&output.stderr));
}

#[test]
fn several_processes_repeat_a_run_too() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(ok);
    let url = server.url("/");
    let first = save(directory.path(), "first.json", &[&url, "-n", "4", "-c", "2", "--processes", "2"]);
    assert_eq!(json(&["--from", &first])["options"]["processes"], 2);
    assert_eq!(server.seen().len(), 8);
}

#[test]
fn what_is_no_result_is_refused() {
    assert!(refused(&["--from", "/nonexistent/result.json"]).contains("cannot be repeated"));
    assert!(refused(&["--from", "/dev/null"]).contains("not JSON"));
    let help = Command::new(env!("CARGO_BIN_EXE_pitot")).args(["load", "--help"]).output().unwrap();
    assert!(text(&help.stdout).contains("--from <RESULT>"));
}
