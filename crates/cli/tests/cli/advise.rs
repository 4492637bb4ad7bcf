//! `pitot advise` with the real program.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use pitot_record::{Run, RunState};
use serde_json::Value;

use crate::support::{PITOT, stderr, stdout};

fn advise(arguments: &str, dir: &Path) -> Output {
    Command::new(PITOT)
        .arg("advise")
        .args(arguments.split_whitespace())
        .current_dir(dir)
        .env("TMPDIR", dir)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn left_in(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> =
        names.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_dry_run_shows_what_is_known_who_is_tried_and_the_plan_and_runs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let whole = "-c 400 --active 5% --size 4KiB --cpu-work 50us --requests-per-connection 20 --files 20GiB --memory 8GiB \
                 --isolation --dry-run";
    let output = advise(whole, dir.path());
    // As one line: where lines are broken is no matter.
    let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.status.success(), "{}", stderr(&output));
    for part in [
        "http, 400 connections, 20 active, 4 KiB each, 50.0 us of CPU work per request, 20 requests per",
        "isolate faults (Lyris Technologies, 2001)",
        "- prefork, a pool of processes",
        "a fault would end all connections",
        "cold-files = true",
        "burn = \"50000ns\"",
        "idle = 380",
        "requests-per-connection = 20",
        "files in memory or not: hot",
        "idle connections: 95, 1,520",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(left_in(dir.path()), [] as [&str; 0]);
}

/// The plan is one that `pitot run` takes.
#[test]
fn the_plan_of_every_protocol_is_sound() {
    let dir = tempfile::tempdir().unwrap();
    for load in [
        "-c 50",
        "-c 100 --protocol blob --active 50",
        "-c 20 --protocol busy",
        "-c 20 --protocol memcache --size 100",
        "-c 50 --cpu-work 5ms",
        "-c 50 --files 1GiB --size 1MiB --memory 100MiB",
        "-c 200 --requests-per-connection 1 --isolation",
    ] {
        let output = advise(&format!("{load} --within 1h --dry-run --format json"), dir.path());
        assert!(output.status.success(), "{load}: {}", stderr(&output));
        let advice: Value = serde_json::from_slice(&output.stdout).unwrap();
        let plan = advice["plan"].as_str().unwrap();
        std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
        let run = Command::new(PITOT)
            .args(["run", "plan.toml", "--dry-run"])
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert!(run.status.success(), "{load}: {}", stderr(&run));
    }
}

#[test]
fn the_candidates_are_run_and_the_answer_stands_on_the_run() {
    let dir = tempfile::tempdir().unwrap();
    // As short as it gets: the time is for the description alone, and not for other loads.
    let output = advise("-c 4 --isolation --within 20s -o advice.pitot --format json", dir.path());
    assert!(output.status.success(), "{}", stderr(&output));
    let advice: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(advice["schema"], "pitot-advice/1");
    let answer = &advice["answer"];
    let build = answer["build"].as_str().unwrap();
    assert!(["prefork", "fork", "preloop"].contains(&build), "{answer:#}");
    assert_eq!(answer["workers"].is_null(), build == "fork", "{answer:#}");
    assert!(answer["level"].as_array().unwrap().iter().any(|name| name == build));
    let standings = answer["standings"].as_array().unwrap();
    assert_eq!(standings.len(), 4);
    for standing in standings {
        assert!(
            standing["throughput_rps"].as_f64().unwrap() > 0.0 && standing["cpu_ns_per_request"].is_number()
        );
        let reference = standing["server"] == "loop+epoll-et";
        assert_eq!(standing["eligible"], !reference);
    }
    assert!(answer["isolation_costs"]["factor"].is_number());
    let run = Run::open(&dir.path().join("advice.pitot")).unwrap();
    // On a slow machine a run ends when its time is over.
    assert!([RunState::Complete, RunState::Interrupted].contains(&run.info.state));
    assert_eq!(run.cells.len(), 4);
    assert!(run.cells.iter().all(|cell| !cell.repetitions.is_empty()));
    let report = Command::new(PITOT)
        .args(["report", "advice.pitot", "--format", "md"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(stdout(&report).contains("Advice: http, 4 connections"), "{}", stderr(&report));
    let others = left_in(dir.path())
        .into_iter()
        .filter(|name| !name.starts_with("advice") && name != "pitot.run-lock");
    assert_eq!(others.collect::<Vec<_>>(), [] as [&str; 0]);
}

#[test]
fn a_load_described_in_full_has_somebody_to_advise() {
    let dir = tempfile::tempdir().unwrap();
    let whole = "--active 5% --size 4KiB --cpu-work 50us --requests-per-connection 20 --files 20GiB --isolation --dry-run \
                 --format json --within 1h";
    for (connections, eligible) in [("10k", vec!["preloop", "preloop-8"]), ("100", vec!["prefork", "fork"])] {
        let output = advise(&format!("-c {connections} {whole}"), dir.path());
        // Some machines allow a process too few descriptors for so many.
        if stderr(&output).contains("need more descriptors") {
            continue;
        }
        assert!(output.status.success(), "{}", stderr(&output));
        let advice: Value = serde_json::from_slice(&output.stdout).unwrap();
        let candidates = advice["candidates"].as_array().unwrap();
        for name in eligible {
            let candidate = candidates.iter().find(|candidate| candidate["server"] == name).unwrap();
            let alone = if name.starts_with("preloop") { "share" } else { "all" };
            assert_eq!((&candidate["in"], &candidate["faults_leave_alone"]), (&true.into(), &alone.into()));
            assert_eq!(candidate["workers"].is_null(), name == "fork", "{candidate}");
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_two_lines() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, what, fix) in [
        ("-c 0", "there is no connection", "--connections to 1 or more"),
        ("-c 5 --active 6", "6 of 5 connections cannot be active", "5%"),
        ("-c 5 --protocol htp", "no advice for protocol `htp`", "did you mean `http`"),
        ("-c 5 --protocol smtp", "no advice for protocol `smtp`", "pitot run mail"),
        ("-c 5 --requests-per-connection 0", "needs a request", "omit it"),
        ("-c 9 --active 5 --protocol busy", "none is idle", "omit --active"),
        ("-c 9 --files 1GiB --protocol blob", "blob serves no files", "http"),
        ("-c 9 --files 1KiB --size 1MiB", "smaller than one file", "--size"),
        ("-c 1G", "need more descriptors", "ulimit -Hn"),
        ("-c 18446744073709551615", "need more descriptors", "ulimit -Hn"),
        (
            "-c 9 --requests-per-connection 10G",
            "too many requests for a connection",
            "omit --requests-per-connection",
        ),
        ("-c 9 --cpu-work 10h --dry-run", "too short", "shorter requests"),
        ("-c 9 --size 0", "at least one byte", "--size to 1"),
        ("-c 9 --size 2GiB", "more than 1 GiB", "smaller"),
        ("-c 9 --within 1s", "too short", "--within"),
        (
            "-c 9 --protocol memcache --isolation --dry-run",
            "--protocol memcache and --isolation",
            "omit --isolation",
        ),
    ] {
        let output = advise(arguments, dir.path());
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {text}");
        assert_eq!(text.lines().count(), 2, "{arguments}: {text}");
        assert!(text.contains(what) && text.contains(fix), "{arguments}: {text}");
    }
    for arguments in ["", "-c many", "-c 5 --active 0%", "-c 5 --memory 1GiB"] {
        assert_eq!(advise(arguments, dir.path()).status.code(), Some(2), "{arguments}");
    }
    assert_eq!(left_in(dir.path()), [] as [&str; 0]);
}
