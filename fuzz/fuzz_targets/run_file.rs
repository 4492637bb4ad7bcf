//! Run files that are damaged or made to do harm: each is read or refused, never with a panic; one that is read makes a report in every
//! format, in bounded time, that a terminal shows.
#![no_main]

mod damage;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use damage::{Input, damage};
use libfuzzer_sys::fuzz_target;
use pitot_fault::FaultRecord;
use pitot_host::Fingerprint;
use pitot_meter::{Histogram, Nanos};
use pitot_plan::{Factor, FactorLevel, Levels, Measure, Plan, SkipKind, SkipRecord, Value};
use pitot_record::file::{NewCell, NewRun, RunWriter};
use pitot_record::{HostRecord, Repetition, Resources, Run, RunState, Sample, Slice, TreeSample, Verdict};
use pitot_report::{Format, Gated, Reported, compare};
use pitot_results::VerdictKind;
use pitot_results::load::LoadResult;
use pitot_results::{Failure, visible};

/// A run in fresh runs, with faults, and one in slices, with a control; the files, and the second as it is read.
static SOUND: LazyLock<([Vec<u8>; 2], Run)> = LazyLock::new(|| {
    let path = damage::path("sound.pitot");
    let files = [false, true].map(|is_sliced| {
        write(&path, is_sliced);
        let bytes = std::fs::read(&path).expect("it was written");
        let run = Run::open(&path).expect("it is sound");
        std::fs::remove_file(&path).expect("it can be removed");
        (bytes, run)
    });
    let [(fresh, _), (sliced, run)] = files;
    ([fresh, sliced], run)
});

fn factors(server: &str, connections: i64) -> Vec<FactorLevel> {
    vec![FactorLevel::new("server", server), FactorLevel::new("load.connections", &connections.to_string())]
}

fn write(path: &Path, is_sliced: bool) {
    let text = |words: &[&str]| words.iter().map(|w| Value::Text((*w).into())).collect();
    let plan = Plan {
        name: "test".into(),
        title: "A title".into(),
        question: "Which is faster?".into(),
        factors: vec![
            Factor { name: "server".into(), levels: text(&["loop", "fork"]) },
            Factor { name: "load.connections".into(), levels: vec![Value::Integer(1), Value::Integer(100)] },
        ],
        repetitions: 3,
        generations: Some(3),
        measure: if is_sliced { Measure::Slices } else { Measure::Fresh },
        baseline: Some(Levels(vec![("server".into(), vec!["loop".into()])])),
        ..Plan::default()
    };
    let cell = |server: &str, n: i64, control_of: Option<usize>| NewCell {
        factors: factors(server, n),
        server_command: format!("pitot serve http --model {server}"),
        load_command: format!("pitot load -c {n} http://127.0.0.1:8080/"),
        measure: plan.measure,
        fresh_reason: String::new(),
        control_of,
    };
    let mut cells =
        vec![cell("loop", 1, None), cell("loop", 100, None), cell("fork", 1, None), cell("fork", 100, None)];
    if is_sliced {
        cells.push(cell("loop", 1, Some(0)));
    }
    let mut host = Fingerprint::default();
    host.push("cpu", "model", "Example 9000");
    host.push("kernel", "release", "6.12");
    let mut writer = RunWriter::create(
        path,
        &NewRun {
            command_line: "pitot run test",
            version: "0.1.0",
            seed: 7,
            started_at: "2026-01-02T03:04:05Z",
            server_cpus: "0",
            load_cpus: "1",
            warnings: &["mind the gap".to_owned()],
            server_versions: &[("pitot".into(), "0.1.0".into())],
            plan_source: "repetitions = 3",
            plan: &plan,
            host: &host,
            skips: &[SkipRecord {
                factors: factors("fork", 5000),
                reason: "too many".into(),
                kind: SkipKind::Other,
            }],
            cells: &cells,
        },
    )
    .expect("it can be written");
    let other =
        HostRecord { name: "far".into(), does: "load".into(), facts: host.clone(), ..HostRecord::default() };
    writer.record_hosts(&[other.clone()]).expect("it can be written");
    writer.record_hosts_after(&[HostRecord { facts: host.clone(), ..other }]).expect("it can be written");
    for block in 0..3 {
        for cell in 0..cells.len() {
            writer.record(cell, &repetition(block, cell as u32, is_sliced)).expect("it can be written");
        }
    }
    writer.finish(RunState::Complete, "2026-01-02T03:05:00Z", &host).expect("it can be written");
}

fn repetition(block: u32, cell: u32, is_sliced: bool) -> Repetition {
    let mut response = Histogram::new();
    (0..50).for_each(|n| response.record(Nanos::from_micros(20 + 7 * n + u64::from(cell))));
    let rate = 1000 + 100 * u64::from(cell) + 7 * u64::from(block);
    let latency =
        r#"{"count": 50, "mean": 200000.0, "p50": 190000, "p90": 330000, "p99": 370000, "max": 380000}"#;
    let load = format!(
        r#"{{"schema": "pitot-load/1", "version": "0.1.0", "target": "http://127.0.0.1:1/", "duration_s": 2.0,
            "clock_ns": {{"start": 1000000000, "end": 3000000000}}, "throughput_rps": {rate}.5, "asked_rps": 2000.0,
            "requests": {{"attempted": 2000, "completed": 1990, "ok": 1980, "failed": 5, "missed": 3, "started_late": 2}},
            "latency_ns": {{"response": {latency}, "service": {latency}, "connect": {latency}}},
            "smoothness": {{"gap_ns": {latency}, "stall_ns_min": 10000000, "stalled_share": 0.1}},
            "connections": {{"requested": 10, "opened": 12, "peak_open": 10, "mean_open": 9.5}},
            "errors": [{{"phase": "receive", "kind": "ECONNRESET", "count": 5, "first_at_s": 0.5}}],
            "statuses": {{"200": 1980, "503": 10}}, "bytes": {{"received": 100000, "sent": 20000}},
            "series": [{{"t_s": 0, "completed": 990, "p50_ns": 190000}}, {{"t_s": 1, "completed": 1000, "p99_ns": 370000}}],
            "steps": {{"length_ns": 10000000, "right": [9, 10, 0, 0, 11], "errors": [{{"phase": "receive", "kind": "x", "at": [[2, 5]]}}]}},
            "idle": {{"connections": 5, "replies": 10, "replies_min": 1, "gap_max_s": 0.7}},
            "storm": {{"requested": 10, "established": 9, "established_s": 0.5}},
            "pages": {{"begun": 9, "completed": 8, "ok": 7, "per_s": 4.0, "time_ns": {latency}}},
            "sessions": {{"begun": 9, "completed": 8, "completed_per_s": 4.0, "time_ns": {latency},
                "steps": [{{"step": "a/b", "requests": 9, "errors": 1, "share": 0.5, "time_ns": {latency}}}]}},
            "search": {{"conditions": "p99 < 1ms", "found_rps": 900.0, "steps": [{{"rate_rps": 900.0, "passed": true}}]}},
            "durability": {{"bytes": 5, "connections": [{{"connection": "request-0004d2-00001f", "numbers": [[1, 7]]}}]}},
            "unanswered_since_s": 1.5, "parts": [{{"host": "far", "requests_ok": 9, "clock_ns": {{"start": 1, "end": 2}}}}],
            "client": {{"cpu_user_s": 0.5, "cpu_utilisation": 0.5, "threads": [{{"cpu_user_s": 0.5}}], "verdict": "valid"}},
            "histograms": {{"response": "{}"}}}}"#,
        response.encode()
    );
    let tree = TreeSample {
        processes: 3,
        threads: 5,
        cpu_ns: 7_000_000,
        rss_bytes: 1 << 20,
        pss_bytes: Some(9),
        ..TreeSample::default()
    };
    let sample = |at_ns: u64| Sample {
        at_ns,
        server: Some(TreeSample { private_bytes: Some(at_ns >> 10), descriptors: Some(9), ..tree }),
        load: Some(tree),
        tcp_retransmits: 4,
        ..Sample::default()
    };
    let slice = |round: u32| Slice {
        round,
        position: cell,
        predecessor: Some(1),
        began_unix_ns: 1_700_000_000_000_000_000 + u64::from(round),
        duration_ns: 50_000_000,
        requests: 50 + u64::from(cell * 3 + round),
        server_cpu_ns: Some(20_000_000),
        client_cpu_ns: 20_000_000,
        p50_ns: 190_000,
        p90_ns: 330_000,
        p99_ns: 370_000,
        max_ns: 380_000,
        ..Slice::default()
    };
    let fault = FaultRecord {
        number: 0,
        kind: "stop".into(),
        due_s: 0.5,
        began_ns: 1_500_000_000,
        ended_ns: 1_700_000_000,
        what: "SIGSTOP to process 4711 (pitot)".into(),
        command: "pitot fault stop --pid PID --for 1s".into(),
        server_died: false,
    };
    Repetition {
        block,
        position: block * 5 + cell,
        host: if block == 1 { "far".into() } else { String::new() },
        started_at: "2026-01-02T03:04:06Z".into(),
        elapsed_s: 2.5,
        address: "127.0.0.1:4321".into(),
        ready_s: 0.01,
        warmup_s: Some(0.5),
        verdict: Verdict {
            kind: if block == 2 && cell == 1 { VerdictKind::Noisy } else { VerdictKind::Valid },
            reason: "steal".into(),
            figures: vec![("steal_share".into(), 0.25)],
        },
        load: Some(LoadResult::parse(&load).expect("a sound result")),
        server_stats: Some(serde_json::json!({"schema": "pitot-serve/1", "accepted": 64, "replies": 1990})),
        resources: Some(Resources {
            window_s: 2.0,
            server_cpu_s: 0.5,
            load_cpu_s: 0.5,
            server_cpus: 1,
            load_cpus: 1,
            ..Resources::default()
        }),
        output_tail: "error: bye".into(),
        samples: if block == 0 { (1..5).map(|n| sample(n * 1_000_000_000)).collect() } else { Vec::new() },
        slices: if is_sliced { (0..4).map(slice).collect() } else { Vec::new() },
        faults: if is_sliced { Vec::new() } else { vec![fault] },
        ..Repetition::default()
    }
}

fn check_failure(failure: &Failure) {
    assert!(!failure.what.is_empty() && !failure.fix.is_empty());
    assert!(failure.what.len() < 10_000, "{} bytes", failure.what.len());
}

fuzz_target!(|data: &[u8]| {
    let path: PathBuf = damage::path("a.pitot");
    let mut input = Input(data);
    let (which, how) = (input.byte(), input.byte());
    let (files, whole) = &*SOUND;
    damage(&path, &files[usize::from(which % 2)], &mut input);
    let run = match Run::open(&path) {
        Ok(run) => run,
        Err(error) => return check_failure(&error.into()),
    };
    for cell in run.cells.iter().chain(&run.controls) {
        assert_eq!(cell.factors.len(), run.plan.factors.len());
    }
    let _ = run.is_complete();
    match how % 16 {
        8 => {
            let comparison = compare(whole, &run, &[]);
            let gated = Gated { comparison: &comparison, gates: Vec::new() };
            let text = gated.report(Format::ALL[usize::from(how >> 4) % Format::ALL.len()]);
            assert!(text.is_none_or(|text| visible(&text) == text));
        }
        9 => {
            // To go on with it.
            if let Ok(mut writer) = RunWriter::resume(&path, &run.plan) {
                let again = writer.read();
                assert!(again.is_ok_and(|again| again.cells.len() == run.cells.len()));
            }
        }
        how => {
            let text = run.report(Format::ALL[usize::from(how) % Format::ALL.len()]).unwrap_or_default();
            assert_eq!(visible(&text), text);
            assert!(text.len() < 64 << 20, "{} bytes", text.len());
        }
    }
});
