//! What makes a soak fail, and the command that is run on events.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::server::start;
use super::{soak, together};
use crate::support::{Port, signal, text, until_some};

#[test]
fn alarms_reach_the_exit_code() {
    together(&[
        ("dead", a_server_that_never_answers_ends_the_soak_at_once_and_leaves_no_file),
        ("hang", a_hang_is_told_to_the_command_and_fails_if_asked),
        ("figures", figures_fail_the_soak_and_its_status_if_asked),
    ]);
}

fn a_server_that_never_answers_ends_the_soak_at_once_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let closed = Port::new();
    let url = format!("http://{}/", closed.address);
    let began = Instant::now();
    let output = soak(dir.path(), &[&url, "--for", "1h", "-o", "a.pitot"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let expected = format!("{url} has not replied to any request: connect ECONNREFUSED");
    assert!(text(&output).contains(&expected), "{}", text(&output));
    assert!(began.elapsed() < Duration::from_secs(60), "{}", text(&output));
    assert!(!dir.path().join("a.pitot").exists());
}

fn a_hang_is_told_to_the_command_and_fails_if_asked() {
    let dir = tempfile::tempdir().unwrap();
    let (server, address) = start("nothing");
    let (url, pid) = (format!("http://{address}/"), server.id());
    let command =
        "echo \"$PITOT_EVENT $PITOT_EVENT_SERVER $PITOT_EVENT_UNTIL_S\" >> events; echo seen >> events";
    let number = pid.to_string();
    let arguments = [
        &url,
        "--pid",
        &number,
        "-R",
        "50",
        "--for",
        "1h",
        "--interval",
        "1s",
        "-o",
        "a.pitot",
        "--fail-if",
        "hang",
        "--on-event",
        command,
    ];
    let lab = soak(dir.path(), &arguments).spawn().unwrap();
    let file = dir.path().join("a.pitot");
    let recorded = || pitot_record::Soak::open(&file).ok();
    until_some("intervals are saved", || recorded().filter(|soak| soak.intervals.len() >= 3));
    signal(pid, Signal::STOP);
    let lines = |what: &str| {
        let text = std::fs::read_to_string(dir.path().join("events")).unwrap_or_default();
        text.lines().filter(|line| line.starts_with(what)).map(str::to_owned).collect::<Vec<_>>()
    };
    let begin = until_some("the command is run", || lines("hang-stopped").pop());
    assert_eq!(begin, format!("hang-stopped {url} "));
    signal(pid, Signal::CONT);
    let end = until_some("the command is run again", || lines("hang-stopped").get(1).cloned());
    assert!(end.trim_start_matches(&begin).parse::<f64>().is_ok_and(|until_s| until_s > 0.0), "{end}");
    let status = |alarms: &str| {
        let output = soak(dir.path(), &["status", "a.pitot", "--fail-if", alarms]).output().unwrap();
        (output.status.code(), text(&output))
    };
    let (code, said) = status("hang");
    assert!(code == Some(1) && said.contains("the soak fails: ") && said.contains(&url), "{said}");
    let (code, said) = status("leak, errors > 99%");
    assert_eq!(code, Some(0), "{said}");
    signal(lab.id(), Signal::INT);
    let output = lab.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
}

fn figures_fail_the_soak_and_its_status_if_asked() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, address) = start("nothing");
    let url = format!("http://{address}/");
    let run = |file: &str, alarms: &str| {
        let arguments = [&url, "-R", "50", "--for", "3s", "-o", file, "--fail-if", alarms];
        let output = soak(dir.path(), &arguments).output().unwrap();
        (output.status.code(), text(&output))
    };
    let (code, text) = run("a.pitot", "errors > 50%, hang");
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = run("b.pitot", "errors > 50%, rate < 1000");
    assert!(code == Some(1) && text.contains("(--fail-if 'rate < 1000')"), "{text}");
    let (code, text) = run("c.pitot", "handshake p99 > 5ms");
    assert!(code == Some(2) && !dir.path().join("c.pitot").exists(), "{text}");
}
