//! A run that is repeated from its result.

use std::path::Path;
use std::process::Command;

use super::server::{Server, ok};
use super::{json, load, refused};
use crate::support::{PITOT, stderr, stdout};

fn save(directory: &Path, name: &str, arguments: &[&str]) -> String {
    let file = directory.join(name).to_str().unwrap().to_owned();
    let output = load(&[arguments, &["--json", &file]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
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
    let fields = ["--form", "user=me", "--form", "password=s3cret", "--path", "/a?api_key=s3cret&b=c"];
    let some = save(
        directory.path(),
        "some.json",
        &[&[&server.url("/?token=s3cret"), "-n", "1"], &fields[..]].concat(),
    );
    let printed = std::fs::read_to_string(&some).unwrap();
    assert!(!printed.contains("s3cret") && printed.contains("/a?api_key=***&b=c"), "{printed}");
    assert!(refused(&["--from", &some]).contains("is masked"));
    let again = [&server.url("/"), "--form", "password=s3cret", "--path", "/a?api_key=s3cret&b=c"];
    json(&[&["--from", &*some][..], &again].concat());
    let all = server.seen();
    assert_eq!(all[0].line(), all[1].line());
    assert_eq!(all[0].body, all[1].body);
    let server = Server::start(ok);
    let url = server.url("/").replace("://", "://me:s3cret@");
    let masked = save(directory.path(), "masked.json", &[&url, "-n", "1", "-H", "Cookie: id=s3cret"]);
    let printed = std::fs::read_to_string(&masked).unwrap();
    assert!(!printed.contains("s3cret") && !printed.contains("bWU6czNjcmV0"), "{printed}");
    assert!(refused(&["--from", &masked]).contains("the header Cookie is masked"));
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
    assert_eq!(stderr(&load(&["--from", &first])), "");
    std::fs::write(&body, "two").unwrap();
    let output = load(&["--from", &first]);
    assert!(stderr(&output).contains("the body differs from that of"), "{}", stderr(&output));
}

#[test]
fn requests_of_a_file_that_has_changed_are_pointed_out() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(ok);
    let url = server.url("/from-url");
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    let line = |path: &str| format!("::1 - - [10/Oct/2000:13:55:36 -0700] \"GET {path} HTTP/1.1\" 200 1\n");
    let (wlog, wsesslog) = (format!("n,{}", path("uris")), format!("2,0,{}", path("sessions")));
    for (name, before, after, option, value) in [
        ("urls", "/a\n", "/b\n", "--requests", &path("urls")),
        ("log", &line("/a"), &line("/b"), "--replay", &path("log")),
        ("uris", "/a\0", "/b\0", "--wlog", &wlog),
        ("sessions", "/a\n", "/b\n", "--wsesslog", &wsesslog),
    ] {
        write(name, before);
        let mut arguments = vec![&*url, option, value, "-c", "1"];
        if option == "--requests" {
            arguments.extend(["-n", "2"]);
        }
        let first = save(directory.path(), "first.json", &arguments);
        let result: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&first).unwrap()).unwrap();
        assert_eq!(result["options"]["requests_from"]["sha256"].as_str().map(str::len), Some(64), "{option}");
        assert!(result["options"]["asked"]["paths"].is_null(), "{option}");
        assert_eq!(stderr(&load(&["--from", &first])), "", "{option}");
        write(name, after);
        let output = load(&["--from", &first]);
        let error = stderr(&output);
        assert!(error.contains("the file of requests differs"), "{option}: {error}");
    }
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
    let help = Command::new(PITOT).args(["load", "--help"]).output().unwrap();
    assert!(stdout(&help).contains("--from <RESULT>"));
}
