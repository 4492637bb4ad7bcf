//! Soaks with servers that leak: what grows is told, with its rate, and what does not is not.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::server::{LEAK_BYTES, REQUESTS_PER_LEAK, start};
use super::together;
use crate::support::{PITOT, Running, stderr, stdout};

/// Requests a second, which it is asked for whatever else the machine does.
const RATE: u64 = 200;
/// Twelve intervals are needed for an answer.
const LENGTH: &str = "14s";

fn soak(dir: &Path, server: &Running, address: &str, fails: bool) -> Output {
    let (url, pid, rate) = (format!("http://{address}/"), server.id().to_string(), RATE.to_string());
    let mut arguments = vec![
        &*url,
        "--pid",
        &pid,
        "-c",
        "2",
        "-R",
        &rate,
        "--for",
        LENGTH,
        "--interval",
        "1s",
        "-o",
        "a.pitot",
    ];
    if fails {
        arguments.extend(["--fail-if", "leak"]);
    }
    super::soak(dir, &arguments).output().unwrap()
}

/// The drifts of a soak against a server that leaks or does not.
fn drifts(leaks: &str) -> (Vec<Value>, String) {
    let dir = tempfile::tempdir().unwrap();
    let (server, address) = start(leaks);
    let fails = leaks == "leaks";
    let output = soak(dir.path(), &server, &address, fails);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(i32::from(fails)), "{said}");
    assert_eq!(said.contains("the soak fails: ") && said.contains("leak? "), fails, "{said}");
    let report = |format: &str| {
        let mut command = Command::new(PITOT);
        command.args(["report", "a.pitot", "--format", format, "-o", "-"]).current_dir(dir.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output).to_owned()
    };
    let json: Value = serde_json::from_str(&report("json")).unwrap();
    (json["drifts"].as_array().unwrap().clone(), report("terminal"))
}

fn find<'a>(drifts: &'a [Value], figure: &str) -> &'a Value {
    let found = drifts.iter().find(|drift| drift["figure"] == figure);
    found.unwrap_or_else(|| panic!("no answer for {figure}: {drifts:#?}"))
}

#[test]
fn what_leaks_is_told_and_what_stays_is_not() {
    together(&[
        ("leaks", memory_descriptors_and_threads_that_are_lost_are_told_with_their_rate),
        ("stays", descriptors_and_threads_that_stay_are_no_leak),
    ]);
}

fn memory_descriptors_and_threads_that_are_lost_are_told_with_their_rate() {
    let (drifts, report) = drifts("leaks");
    let per_hour = (RATE * 3600) as f64;
    for (figure, expected) in [
        ("memory-private", per_hour * LEAK_BYTES as f64),
        ("descriptors", per_hour / REQUESTS_PER_LEAK as f64),
        ("threads", per_hour / REQUESTS_PER_LEAK as f64),
    ] {
        let drift = find(&drifts, figure);
        assert!(drift["declared"] == true && drift["leak"] == true, "{drift:#}");
        let ratio = drift["slope_per_hour"].as_f64().unwrap() / expected;
        // Stacks of the threads that are lost need memory too, and the machine may be too busy for the rate.
        let high = if figure == "memory-private" { 1.6 } else { 1.2 };
        assert!((0.5..high).contains(&ratio), "{ratio} of what was lost: {drift:#}");
    }
    assert!(report.contains("leak? the number of descriptors grew"), "{report}");
}

fn descriptors_and_threads_that_stay_are_no_leak() {
    let (drifts, report) = drifts("nothing");
    for figure in ["descriptors", "threads", "processes"] {
        let drift = find(&drifts, figure);
        assert!(drift["declared"] == false && drift["leak"] == false, "{drift:#}");
    }
    assert!(report.contains("no drift of the number of descriptors above 0"), "{report}");
}
