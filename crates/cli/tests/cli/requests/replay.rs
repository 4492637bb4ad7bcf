//! `--replay`: the requests of a log at its own times.

use super::server::{Server, ok};
use super::{File, file, load, load_with_input, refused};

/// A log of three seconds, whose lines are not in the order of their times, with one that cannot be read.
fn log() -> File {
    let line = |second: u32, path: &str| {
        format!("::1 - - [10/Oct/2000:13:55:{second} -0700] \"GET {path} HTTP/1.1\" 200 1\n")
    };
    file(&(line(31, "/3") + &line(30, "/1") + "noise\n" + &line(30, "/2") + &line(32, "/4")))
}

#[test]
fn every_line_of_a_log_is_sent_once_in_the_order_of_its_time() {
    let server = Server::start(|_| ok());
    let log = log();
    let (result, code) = load(&[&server.url(), "--replay", &log.path, "--speed", "10x", "-c", "2"]);
    assert_eq!(code, 0, "{result}");
    let paths: Vec<String> = server.seen().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/1", "/2", "/3", "/4"]);
    assert_eq!((&result["options"]["pace"], &result["requests"]["missed"]), (&"replay".into(), &0.into()));
    // Three seconds of the log, ten times as fast.
    assert!((result["duration_s"].as_f64().unwrap() - 0.3).abs() < 1e-6, "{result}");
    assert!((result["asked_rps"].as_f64().unwrap() - 4.0 / 0.3).abs() < 0.01, "{result}");
}

#[test]
fn threads_and_processes_share_the_lines() {
    let server = Server::start(|_| ok());
    let log = log();
    for machine in [["-t", "3"], ["--processes", "2"]] {
        let before = server.seen().len();
        let arguments =
            [&*server.url(), "--replay", &log.path, "--speed", "10", "-c", "4", machine[0], machine[1]];
        let (result, code) = load(&arguments);
        assert_eq!(code, 0, "{result}");
        let mut paths: Vec<String> = server.seen().into_iter().skip(before).map(|r| r.path).collect();
        paths.sort();
        assert_eq!(paths, ["/1", "/2", "/3", "/4"], "{machine:?}");
    }
}

#[test]
fn what_was_read_and_how_it_is_spread_is_said() {
    let server = Server::start(|_| ok());
    let text = std::fs::read_to_string(log().path).unwrap();
    let output = load_with_input(&[&server.url(), "--replay", "-", "--speed", "20x"], &text);
    let said = String::from_utf8(output.stdout).unwrap();
    for part in
        ["4 requests from standard input (log)", "1 line could not be read", "evenly within each second"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn what_contradicts_a_replay_is_refused() {
    let (log, url) = (log(), "http://127.0.0.1:9");
    for more in [
        &["-R", "5"][..],
        &["--requests", "x"],
        &["--choice", "uniform"],
        &["--path", "/"],
        &["--speed", "0"],
    ] {
        let said = refused(&[&[url, "--replay", &log.path], more].concat());
        assert!(said.contains(more[0].trim_start_matches('-')), "{said}");
    }
    assert!(refused(&[url, "--speed", "2x"]).contains("--replay FILE"));
    assert!(refused(&[url, "--pace", "replay"]).contains("--replay FILE"));
}
