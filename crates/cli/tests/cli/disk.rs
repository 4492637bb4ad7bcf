//! `pitot disk` as a user and a script meet it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use pitot_results::Printed;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{PITOT, Running, stderr, until};

/// Where files can be dropped from the page cache and read around it, which they cannot where /tmp is in memory.
fn on_disk() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PITOT);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

/// Runs it for its JSON, and nothing but that may be on standard output.
fn json(arguments: &[&str]) -> Value {
    let output = run(arguments);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)))
}

fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn many_small_files_are_reported_by_size_and_phase_and_removed() {
    let tmp = on_disk();
    let dir = tmp.path().join("files");
    let options = ["--count", "20", "--sizes", "1KiB,10000", "--stat", "--delete", "--fsync", "--cold"];
    let result = json(&[&["disk", "files", "--json", "-", "--dir", word(&dir)], &options[..]].concat());
    assert_eq!(result["schema"], "pitot-disk/1");
    let read = pitot_results::load::LoadResult::parse(&result.to_string()).unwrap();
    let Printed::DiskFiles(files) = &read.printed else { panic!("{:?}", read.printed) };
    assert_eq!(serde_json::to_value(files).unwrap(), result, "the lab reads every field");
    assert!(!dir.exists());
    for (size, bytes) in result["sizes"].as_array().unwrap().iter().zip([1024, 10_000]) {
        assert_eq!(size["size_bytes"], bytes);
        assert!(size["elapsed_s"].as_f64().unwrap() > 0.0);
        assert_eq!(size["cache_before_read"]["resident_pages"], 0);
        let phases = size["phases"].as_array().unwrap();
        let names: Vec<&str> = phases.iter().map(|p| p["phase"].as_str().unwrap()).collect();
        assert_eq!(names, ["create", "write", "sync", "read", "stat", "delete"]);
        assert!(phases.iter().all(|p| p["latency_ns"]["count"] == 20));
    }
}

#[test]
fn a_table_and_a_chart_stand_on_standard_output() {
    let tmp = on_disk();
    let output =
        run(&["disk", "files", "--count", "5", "--sizes", "1KiB", "--dir", word(&tmp.path().join("x"))]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for expected in
        ["5 files of each size", "files/s", "create us", "1KiB", "c create, w write, r read", "2001"]
    {
        assert!(text.contains(expected), "{expected} is missing in:\n{text}");
    }
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let cases: [&[&str]; 2] =
        [&["files", "--count", "10M", "--sizes", "1"], &["read", "--file-size", "100GiB"]];
    for arguments in cases {
        let tmp = on_disk();
        let dir = tmp.path().join("work");
        let mut disk = Running::start(&mut command(&[&["disk"], arguments, &["--dir", word(&dir)]].concat()));
        until("it is at work", || fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_some()));
        disk.signal(Signal::INT);
        assert_eq!(disk.ended().code(), Some(1), "{arguments:?}");
        assert!(!dir.exists(), "{arguments:?} leaves files behind");
    }
}

#[test]
fn misuse_is_reported_in_two_lines_and_changes_nothing() {
    let tmp = on_disk();
    fs::write(tmp.path().join("mine"), "mine").unwrap();
    let dir = word(tmp.path());
    let cases: [&[&str]; 7] = [
        &["files", "--dir", dir],
        &["files", "--count", "0", "--dir", "/nowhere"],
        &["read", "--dir", dir, "--file-size", "1KiB"],
        &["read", "--engine", "preed"],
        &["read", "--engine", "pread", "--mincore"],
        &["read", "--engine", "uring", "--depth", "4", "--batch", "5"],
        &["read", "--engine", "sendfile", "--target", "buffer"],
    ];
    for arguments in cases {
        let output = run(&[&["disk"], arguments].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert_eq!(text.lines().count(), 2, "{arguments:?}: {text}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    assert_eq!(fs::read_dir(tmp.path()).unwrap().count(), 1);
}

#[test]
fn the_old_names_of_options_are_refused_with_the_new_ones() {
    for (arguments, new) in [
        (&["disk", "read", "--told", "pipe"][..], "`--told` is now called `--notify`"),
        (&["serve", "http", "--disk-told", "pipe"], "`--disk-told` is now called `--disk-notify`"),
    ] {
        let output = run(arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(new), "{text}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn every_engine_is_measured_or_skipped_with_a_reason() {
    let tmp = on_disk();
    let dir = tmp.path().join("set");
    // So large that a folio which the kernel still holds, as for a socket of the engine before, is less than one page
    // in a hundred: below that the bench accepts it.
    let set = ["--file-size", "4000000", "--files", "3", "--dir", word(&dir), "--engine", "all", "-n", "300"];
    for (state, skipped) in [(["--state", "cold"], 0), (["--check", "all"], 0), (["--batch", "1"], 0)]
        .into_iter()
        .map(|(options, skipped)| (options.to_vec(), skipped))
        .chain([(vec!["--direct"], 4)])
    {
        let arguments = [&["disk", "read", "--json", "-"], &set[..], &state[..]].concat();
        // A socket that was sent to may hold more than that for a while, which the bench refuses to call cold.
        let is_held = |output: &Output| stderr(output).contains("the set is not cold");
        let output = std::iter::repeat_with(|| run(&arguments)).take(10).find(|output| !is_held(output));
        let result: Value = serde_json::from_slice(&output.expect("a cold set").stdout).unwrap();
        let read = pitot_results::load::LoadResult::parse(&result.to_string()).unwrap();
        let Printed::DiskRead(whole) = &read.printed else { panic!("{:?}", read.printed) };
        assert_eq!(serde_json::to_value(whole).unwrap(), result, "the lab reads every field");
        let runs = result["runs"].as_array().unwrap();
        assert_eq!(result["skipped"].as_array().unwrap().len(), skipped, "{:?}", result["skipped"]);
        assert_eq!(runs.len() + skipped, pitot_disk::ENGINES.len());
        for run in runs {
            assert_eq!(run["operations"], 300, "{run:#}");
            assert_eq!(run["latency_ns"]["count"], 300);
            assert!(run["errors"].as_array().unwrap().is_empty(), "{run:#}");
            if state.contains(&"cold") {
                let before = &run["cache"]["before"];
                let (resident, pages) = (before["resident_pages"].as_u64(), before["pages"].as_u64());
                assert!(resident.unwrap() * 100 <= pages.unwrap(), "{run:#}");
            }
        }
        assert!(!dir.exists());
    }
}

#[test]
fn a_set_that_is_kept_is_found_again() {
    let tmp = on_disk();
    let dir = tmp.path().join("set");
    let read = ["disk", "read", "--file-size", "100000", "-n", "10", "--json", "-", "--dir", word(&dir)];
    assert_eq!(json(&[&read[..], &["--keep"]].concat())["runs"][0]["operations"], 10);
    let before = fs::metadata(dir.join("pitot-000000")).unwrap().modified().unwrap();
    assert_eq!(json(&read)["runs"][0]["operations"], 10);
    assert_eq!(fs::metadata(dir.join("pitot-000000")).unwrap().modified().unwrap(), before);
}

#[test]
fn the_list_of_engines_states_needs_and_limits() {
    let list = json(&["list", "engines", "--format", "json"]);
    let names: Vec<&str> = list.as_array().unwrap().iter().map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(names, pitot_disk::ENGINES.iter().map(|e| e.name).collect::<Vec<_>>());
    for engine in list.as_array().unwrap() {
        for field in ["needs", "limits", "blocks"] {
            assert!(!engine[field].as_str().unwrap().is_empty(), "{engine:#}");
        }
    }
}
