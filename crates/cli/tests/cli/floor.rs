//! `pitot floor` as a user, a script and the lab meet it.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::{PITOT, text};

fn pitot(arguments: &[&str], dir: &std::path::Path) -> Output {
    Command::new(PITOT).args(arguments).current_dir(dir).stdin(Stdio::null()).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(output)))
}

#[test]
fn every_primitive_has_a_figure_or_a_reason_and_requests_add_up() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["floor", "--rounds", "6", "--slice", "1ms", "--threads", "100", "--format", "json"];
    let output = pitot(&arguments, dir.path());
    assert!(output.status.success(), "{}", text(&output));
    let floor = json(&output);
    assert_eq!(floor["schema"], "pitot-floor/1");
    let listed = json(&pitot(&["list", "primitives", "--format", "json"], dir.path()));
    let (measured, missing) = (floor["primitives"].as_array().unwrap(), floor["missing"].as_array().unwrap());
    assert_eq!(measured.len() + missing.len(), listed.as_array().unwrap().len());
    for primitive in measured {
        let wall = &primitive["wall_ns"];
        let [low, median, high] = ["low", "median", "high"].map(|key| wall[key].as_f64().unwrap());
        assert!(0.0 < low && low <= median && median <= high, "{primitive}");
    }
    // Of this process alone nothing is missing that a test runner's threads would forbid.
    assert!(missing.iter().all(|m| m["name"] != "fork" && !m["fix"].as_str().unwrap().is_empty()));
    let cost = |name: &str| {
        let of = measured.iter().find(|primitive| primitive["name"] == name).unwrap();
        of["cpu_ns"]["low"].as_f64().unwrap()
    };
    let keep_alive = &floor["requests"][0];
    assert_eq!(keep_alive["name"], "keep-alive");
    assert!(keep_alive["cpu_ns"]["high"].as_f64().unwrap() >= cost("recv") + cost("send-1k"));
    assert_eq!(
        (floor["threads"]["threads"].as_u64(), floor["threads"]["alive"].as_u64()),
        (Some(100), Some(50))
    );
    assert!(floor["threads"]["published_s"].is_null(), "it is another number of threads");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn the_suite_has_every_primitive() {
    let dir = tempfile::tempdir().unwrap();
    let listed = json(&pitot(&["list", "primitives", "--format", "json"], dir.path()));
    let suites = json(&pitot(&["list", "suites", "--format", "json"], dir.path()));
    let suite = suites.as_array().unwrap().iter().find(|suite| suite["name"] == "floor").unwrap();
    for primitive in listed.as_array().unwrap() {
        assert!(suite["plan"].as_str().unwrap().contains(&format!("{},", primitive["name"])), "{primitive}");
    }
}

#[test]
fn a_plan_measures_primitives_and_servers_stand_beside_them() {
    let dir = tempfile::tempdir().unwrap();
    let plan = "metric = \"time-per-operation\"\nrepetitions = 2\n[load]\nprogram = \"floor\"\nrounds = 1\n\
                slice = \"1ms\"\n[factors]\nload.primitive = [\"system-call\", \"epoll-wait-10\"]\n";
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let output = pitot(&["run", "plan.toml", "-o", "floor.pitot"], dir.path());
    assert!(output.status.success(), "{}", text(&output));
    let run = pitot_record::Run::open(&dir.path().join("floor.pitot")).unwrap();
    let metric = pitot_record::METRICS.iter().find(|metric| metric.name == "time-per-operation").unwrap();
    for cell in &run.cells {
        assert_eq!(cell.repetitions.len(), 2);
        assert!(cell.repetitions.iter().all(|r| metric.of(r).is_some_and(|ns| ns > 0.0)), "{}", cell.label());
    }
    // A run without servers cannot stand beside.
    let output = pitot(&["floor", "--beside", "floor.pitot"], dir.path());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("has no CPU time per request"), "{}", text(&output));

    let plan = "generations = 2\nslices = 2\nslice = \"10ms\"\nwarmup = \"10ms\"\n[server]\nprotocol = \"http\"\n\
                [load]\nconnections = 4\n[factors]\nserver = [\"loop+epoll-et\", \"thread\"]\n";
    std::fs::write(dir.path().join("servers.toml"), plan).unwrap();
    let output = pitot(&["run", "servers.toml", "-o", "servers.pitot"], dir.path());
    assert!(output.status.success(), "{}", text(&output));
    let primitives = "recv,send-1k,epoll-wait-64-ready";
    let beside = ["floor", "--slice", "1ms", "--primitive", primitives, "--beside", "servers.pitot"];
    let output = pitot(&[&beside[..], &["--rounds", "1"]].concat(), dir.path());
    let table = text(&output);
    assert!(output.status.success(), "{table}");
    assert!(table.contains("x floor") && table.contains("loop+epoll-et"), "{table}");

    // The comparison is in the JSON as well, which then serves a report.
    let output = pitot(&[&beside[..], &["--rounds", "6", "--format", "json"]].concat(), dir.path());
    let floor = json(&output);
    let cells = floor["beside"]["cells"].as_array().unwrap();
    assert!(cells.len() == 2 && cells.iter().all(|cell| cell["times"]["ratio"].as_f64().unwrap() > 0.0));
    std::fs::write(dir.path().join("floor.json"), &output.stdout).unwrap();
    let report = |file: &str, format: &str| {
        pitot(&["report", "servers.pitot", "--floor", file, "--format", format], dir.path())
    };
    let told = text(&report("floor.json", "md"));
    assert!(told.contains("a multiple of the floor of this kernel") && told.contains("keep-alive"), "{told}");
    let told = json(&report("floor.json", "json"));
    assert!(
        told["cells"].as_array().unwrap().iter().all(|cell| cell["times_the_floor"]["ratio"].is_number())
    );
    let mut other = floor.clone();
    other["host"]["kernel"] = "Linux version 2.6.9".into();
    std::fs::write(dir.path().join("other.json"), other.to_string()).unwrap();
    let refused = report("other.json", "md");
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(text(&refused).contains("another machine: its kernel"), "{}", text(&refused));
    let refused = report("plan.toml", "md");
    assert!(
        refused.status.code() == Some(2) && text(&refused).contains("has no floor"),
        "{}",
        text(&refused)
    );
}

#[test]
fn mistakes_are_told_in_a_line_with_a_fix() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, what, fix) in [
        (&["--primitive", "sistem-call"][..], "did you mean `system-call`?", "pitot list primitives"),
        (&["--cpus", "4096"], "CPU 4096 cannot be used", "--cpus 0"),
        (&["--dir", "absent"], "absent is not a directory", "--dir /tmp"),
        (&["--beside", "absent.pitot"], "absent.pitot", "pitot run quick"),
        (&["--json", "absent/x.json"], "absent/x.json cannot be written", "permissions"),
    ] {
        let output = pitot(&[&["floor"], arguments].concat(), dir.path());
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains(what) && text(&output).contains(fix), "{}", text(&output));
    }
}
