use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use pitot_needs::needs;
use serde_json::Value;

use super::servers::Server;
use super::{count, json, outcome};
use crate::support::{PITOT, stdout};

#[needs("nginx")]
#[test]
fn all_requests_are_answered_on_several_streams_of_both_engines() {
    let server = Server::nginx("");
    let body = server.folder.path().join("file");
    for engine in ["epoll", "uring"] {
        let before = server.logged();
        let options = ["-c", "3", "--streams", "20", "-n", "600", "--engine", engine, "--expect-body"];
        let url = server.url();
        let result = json(&[&options[..], &[body.to_str().unwrap(), &url]].concat());
        if engine == "uring" && result["error"].is_string() {
            continue;
        }
        assert_eq!(outcome(&result), (600, vec![]), "{engine}");
        assert_eq!(server.logged() - before, 600, "{engine}");
        assert_eq!((&result["options"]["http"], &result["options"]["streams"]), (&"2".into(), &20.into()));
    }
}

#[needs("nginx")]
#[test]
fn a_server_that_ends_connections_in_order_loses_no_request_and_makes_no_error() {
    let server = Server::nginx("keepalive_requests 100;");
    for (connections, streams) in [("1", "1"), ("2", "10"), ("1", "100")] {
        let before = server.logged();
        let options = ["-c", connections, "--streams", streams, "-n", "2000", &server.url()];
        let result = json(&options);
        assert_eq!(outcome(&result), (2000, vec![]), "{options:?}");
        assert!(count(&result, "goaway-no-error") >= 10, "{result}");
        // What was given back was answered later, once.
        assert_eq!(server.logged() - before, 2000, "{options:?}");
    }
}

#[needs("nginx")]
#[test]
fn no_more_streams_are_used_than_the_server_allows_and_that_is_said() {
    let server = Server::nginx("http2_max_concurrent_streams 3;");
    let result = json(&["-c", "2", "--streams", "50", "-n", "500", &server.url()]);
    assert_eq!(outcome(&result), (500, vec![]));
    assert_eq!(count(&result, "max-concurrent-streams"), 3);
    let output = super::load(&["-c", "2", "--streams", "50", "-n", "500", &server.url()]);
    let text = stdout(&output).to_owned();
    assert!(text.contains("the server allows 3 streams"), "{text}");
}

#[needs("nginx")]
#[test]
fn methods_and_wrong_statuses_are_as_with_the_other_version() {
    let server = Server::nginx("");
    let url = server.url();
    assert_eq!(outcome(&json(&["-n", "50", "--method", "HEAD", &url])).0, 50);
    let absent = format!("http://{}/absent", server.address);
    assert_eq!(outcome(&json(&["-n", "50", &absent])), (0, vec!["content status-404".to_owned()]));
    // A rate, and connections that carry one request each.
    let result = json(&["-R", "500", "-n", "100", "--requests-per-connection", "1", &url]);
    assert_eq!(outcome(&result), (100, vec![]));
}

#[needs("nginx")]
#[test]
fn over_tls_it_is_agreed_on_and_a_server_that_has_it_not_is_told() {
    let url = |server: &Server| format!("https://{}/file", server.address);
    let server = Server::nginx_with_tls("http2", "keepalive_requests 200;");
    for engine in ["epoll", "uring"] {
        let options = ["-c", "2", "--streams", "10", "-n", "1000", "--engine", engine, "--insecure"];
        let result = json(&[&options[..], &[&url(&server)]].concat());
        assert_eq!(outcome(&result), (1000, vec![]), "{engine}");
        assert_eq!(result["tls"]["sessions"][0]["alpn"], "h2");
        assert!(count(&result, "goaway-no-error") >= 3, "{result}");
    }
    let server = Server::nginx_with_tls("", "");
    let result = json(&["-c", "1", "-n", "2", "--insecure", &url(&server)]);
    assert_eq!(outcome(&result).1, ["handshake alert-no-application-protocol"]);
}

#[needs("nghttpd")]
#[test]
fn bodies_wait_for_the_windows_of_the_server_and_the_waits_are_counted() {
    let server = Server::nghttpd();
    let body = server.folder.path().join("body");
    std::fs::write(&body, vec![b'y'; 300_000]).unwrap();
    let body = format!("@{}", body.display());
    let result = json(&["-c", "2", "--streams", "5", "-n", "60", "--body", &body, &server.url()]);
    assert_eq!(outcome(&result), (60, vec![]));
    assert!(count(&result, "window-stalls") > 0 && count(&result, "window-stalled-ns") > 0, "{result}");
}

#[needs("nginx")]
#[test]
fn a_held_load_speaks_it_too() {
    let server = Server::nginx("keepalive_requests 50;");
    let mut child = Command::new(PITOT)
        .args(["load", "--hold"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut commands = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |command: &str| -> Value {
        writeln!(commands, "{command}").unwrap();
        serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap()
    };
    ask(&format!("open a {} -c 2 --http 2 --streams 4", server.url()));
    for _ in 0..3 {
        let slice = ask("run a 100ms");
        assert_eq!(slice["errors"].as_array().map_or(0, Vec::len), 0, "{slice}");
    }
    ask("close a");
    writeln!(commands, "quit").unwrap();
    drop(commands);
    assert!(child.wait().unwrap().success());
}
