//! The live view: on a terminal, and where standard error is none.

use std::process::{Command, Stdio};

use pitot_needs::needs;

use super::load;
use super::server::{Request, Server, ok};
use crate::support::{PITOT, stderr, stdout};

/// Two seconds and a half of requests, some of which are answered wrongly.
const RUN: [&str; 5] = ["-d", "2500ms", "-R", "100", "-c2"];

fn sometimes_wrong(request: &Request) -> String {
    match request.connection {
        0 => "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".into(),
        _ => ok(request),
    }
}

/// What a terminal shows of a command that ends well.
fn on_a_terminal(command: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let typescript = directory.path().join("typescript");
    let output = Command::new("script")
        .args(["-q", "-e", "-c", command])
        .arg(&typescript)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .unwrap();
    let shown = std::fs::read_to_string(&typescript).unwrap();
    assert_eq!(output.status.code(), Some(0), "{shown}");
    shown
}

#[needs("script")]
#[test]
fn on_a_terminal_the_view_is_drawn_in_place_with_the_errors_by_kind() {
    let server = Server::start(sometimes_wrong);
    let pitot = PITOT;
    let command = format!("stty cols 100 rows 30; {pitot} load {} {}", server.url("/"), RUN.join(" "));
    let shown = on_a_terminal(&command);
    assert!(shown.contains("s measured") && shown.contains("so far"), "{shown:?}");
    assert!(shown.contains("content status-503 "), "{shown:?}");
    assert!(shown.contains("\x1b[7A\x1b[J"), "it is drawn over the last one: {shown:?}");
    // Nothing of it is left beside the summary.
    let last = shown.rsplit("\x1b[J").next().unwrap();
    assert!(last.contains("Replies") || last.contains("replies"), "{last:?}");
    assert!(!last.contains("so far"), "{last:?}");
}

#[test]
fn where_there_is_no_terminal_lines_are_plain() {
    let server = Server::start(sometimes_wrong);
    let url = server.url("/");
    let run = [&[&*url][..], &RUN].concat();
    let output = load(&[&run[..], &["--progress", "1s"]].concat());
    let (summary, error) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{summary}{error}");
    assert!(
        !summary.contains('\x1b') && !error.contains('\x1b') && !error.contains('\r'),
        "{summary}{error}"
    );
    let lines: Vec<&str> = error.lines().collect();
    assert!(lines.len() == 2 || lines.len() == 3, "{error}");
    for (n, line) in lines.iter().enumerate() {
        assert!(line.starts_with(&format!("{} s: ", n + 1)), "{error}");
        assert!(
            line.contains(" rps  p50 ") && line.contains("  errors ") && line.contains("open 2"),
            "{error}"
        );
    }
    // A program that reads the result gets them only where it asks, and nobody does in a short run.
    for quiet in [&["--json", "-"][..], &["--progress", "0s"], &[]] {
        let output = load(&[&run[..], quiet].concat());
        assert_eq!(stderr(&output), "", "{quiet:?}");
    }
}

#[needs("script")]
#[test]
fn on_a_terminal_the_warm_up_is_shown() {
    let server = Server::start(ok);
    let pitot = PITOT;
    let command = format!("{pitot} load {} -d 100ms --warmup 1500ms -c2", server.url("/"));
    let shown = on_a_terminal(&command);
    assert!(shown.contains("warm-up: 2 s left") && shown.contains("warm-up: 1 s left"), "{shown:?}");
    let last = shown.rsplit("\x1b[J").next().unwrap();
    assert!(last.contains("replies") && !last.contains("warm-up"), "{last:?}");
}
