use pitot_plan::Profiled;
use std::path::Path;

use pitot_fault::FaultRecord;
use pitot_results::VerdictKind;
use pitot_results::load::LoadResult;

use super::*;
use crate::run::{
    CellRecord, Profile, ProfileEntry, Repetition, Resources, Run, RunState, Sample, TreeSample, Verdict,
};
use pitot_host::Fingerprint;

use pitot_plan::{Factor, FactorLevel, Measure, Plan, SkipKind, SkipRecord, Value};

fn factors(server: &str, connections: i64) -> Vec<FactorLevel> {
    vec![FactorLevel::new("server", server), FactorLevel::new("load.connections", &connections.to_string())]
}

fn host(governor: &str) -> Fingerprint {
    let mut print = Fingerprint::default();
    print.push("cpu", "model", "Example 9000");
    print.push("cpu", "governor", governor);
    print
}

fn create(path: &Path) -> RunWriter {
    let plan = Plan {
        name: "test".into(),
        factors: vec![
            Factor {
                name: "server".into(),
                levels: vec![Value::Text("loop".into()), Value::Text("fork".into())],
            },
            Factor { name: "load.connections".into(), levels: vec![Value::Integer(1), Value::Integer(1000)] },
        ],
        repetitions: 1,
        ..Plan::default()
    };
    let cells: Vec<NewCell> = ["loop", "fork"]
        .into_iter()
        .flat_map(|server| [1, 1000].map(|n| (server, n)))
        .map(|(server, n)| NewCell {
            factors: factors(server, n),
            server_command: format!("pitot serve busy --model {server}"),
            load_command: format!("pitot load -c {n}"),
            measure: Measure::Fresh,
            fresh_reason: String::new(),
            control_of: None,
        })
        .collect();
    let skips =
        [SkipRecord { factors: factors("fork", 5000), reason: "too many".into(), kind: SkipKind::Other }];
    RunWriter::create(
        path,
        &NewRun {
            command_line: "pitot run test",
            version: "0.1.0",
            seed: u64::MAX - 1,
            started_at: "2026-01-02T03:04:05Z",
            server_cpus: "0",
            load_cpus: "1",
            warnings: &["mind the gap".to_owned()],
            server_versions: &[("pitot".into(), "0.1.0".into())],
            plan_source: "repetitions = 1",
            plan: &plan,
            host: &host("performance"),
            skips: &skips,
            cells: &cells,
        },
    )
    .unwrap()
}

fn repetition() -> Repetition {
    let load = r#"{"schema": "pitot-load/1", "throughput_rps": 1000.0, "requests": {"completed": 2000},
                   "latency_ns": {"response": {"count": 2000, "p50": 900, "p99": 5000}}}"#;
    let tree = TreeSample {
        processes: 3,
        cpu_ns: 7,
        descriptors: None,
        pss_bytes: Some(9),
        ..TreeSample::default()
    };
    Repetition {
        host: String::new(),
        id: 0,
        block: 2,
        position: 5,
        started_at: "2026-01-02T03:04:06Z".into(),
        elapsed_s: 2.5,
        address: "127.0.0.1:4321".into(),
        ready_s: 0.01,
        warmup_s: Some(4.5),
        verdict: Verdict {
            kind: VerdictKind::Noisy,
            reason: "steal".into(),
            figures: vec![("steal_share".into(), 0.25)],
        },
        load: Some(LoadResult::parse(load).unwrap()),
        server_stats: Some(serde_json::json!({"accepted": 64})),
        resources: Some(Resources { window_s: 2.0, server_cpu_s: 0.5, ..Resources::default() }),
        output_tail: "bye".into(),
        samples: vec![
            Sample {
                at_ns: 1,
                server: Some(TreeSample { private_bytes: Some(6), ..tree }),
                ..Sample::default()
            },
            Sample { at_ns: 2, load: Some(tree), tcp_retransmits: 4, cost_ns: 8, ..Sample::default() },
        ],
        slices: Vec::new(),
        profiles: [Profiled::Cpu, Profiled::OffCpu]
            .map(|kind| Profile {
                kind,
                requests: 100,
                cpu_ns: 5_000_000,
                lost: 1,
                sees_kernel: true,
                entries: vec![
                    ProfileEntry { name: "server`main;kernel`do_syscall_64".into(), count: 7, ns: 5 },
                    ProfileEntry { name: "server`main".into(), count: 3, ns: 0 },
                ],
            })
            .into(),
        faults: vec![FaultRecord {
            number: 1,
            kind: "stop".into(),
            due_s: 0.5,
            began_ns: 3,
            ended_ns: 4,
            what: "SIGSTOP to process 4711 (pitot)".into(),
            command: "pitot fault stop --pid PID --for 1s".into(),
            server_died: false,
        }],
    }
}

#[test]
fn what_was_recorded_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    let mut writer = create(&path);
    writer.record(1, &repetition()).unwrap();
    writer.warn("and the step").unwrap();
    writer.finish(RunState::Complete, "2026-01-02T03:05:00Z", &host("powersave")).unwrap();

    let run = Run::open(&path).unwrap();
    assert_eq!(run.info.seed, u64::MAX - 1);
    assert_eq!(run.info.state, RunState::Complete);
    assert_eq!(run.info.warnings, ["mind the gap", "and the step"]);
    assert_eq!(run.info.id.len(), 32);
    assert_eq!(run.plan.factors[1].levels[1], Value::Integer(1000));
    assert_eq!(run.host_changes.len(), 1);
    assert_eq!(run.skips[0].factors[1].number, Some(5000.0));
    assert_eq!(run.cells.len(), 4);
    assert!(!run.is_complete());
    let read = &run.cells[1].repetitions[0];
    let wrote = repetition();
    assert_eq!(read.verdict, wrote.verdict);
    assert_eq!(read.load, wrote.load);
    assert_eq!(read.server_stats, wrote.server_stats);
    assert_eq!(read.resources, wrote.resources);
    assert_eq!(read.samples, wrote.samples);
    assert_eq!(read.profiles, wrote.profiles);
    assert_eq!((read.block, read.position, read.output_tail.as_str()), (2, 5, "bye"));
    let cpu = crate::metric::find("cpu-per-request").unwrap();
    assert_eq!(run.cells[1].figures(cpu), [(2, 250_000.0)]);
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["a.pitot"], "a finished run is one file");
}

/// Opens a file to go on with it, as `pitot run --resume` does.
fn resume(path: &Path) -> Result<RunWriter, RecordError> {
    RunWriter::resume(path, &Plan::default())
}

#[test]
fn a_run_that_never_finished_is_whole_up_to_its_last_repetition() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    let mut writer = create(&path);
    writer.record(0, &repetition()).unwrap();
    // What a killed process leaves: the database and its log, copied while the writer still holds them open.
    let copy = dir.path().join("b.pitot");
    std::fs::copy(&path, &copy).unwrap();
    std::fs::copy(dir.path().join("a.pitot-wal"), dir.path().join("b.pitot-wal")).unwrap();
    // To open it beside the writer would drop the writer's locks.
    assert!(matches!(Run::open(&path), Err(RecordError::Locked(_))));
    for run in [writer.read().unwrap(), Run::open(&copy).unwrap()] {
        assert_eq!(run.info.state, RunState::Running);
        assert_eq!(run.cells[0].repetitions.len(), 1);
        assert!(run.host_after.is_none() && run.host_changes.is_empty());
    }
    drop(writer);
    let mut writer = resume(&copy).unwrap();
    assert!(
        matches!(writer.record(0, &repetition()), Err(RecordError::Database(_))),
        "a block is recorded once"
    );
    writer.record(2, &repetition()).unwrap();
    writer.finish(RunState::Interrupted, "2026-01-02T03:05:00Z", &host("performance")).unwrap();
    assert_eq!(Run::open(&copy).unwrap().info.state, RunState::Interrupted);
}

#[test]
fn a_file_from_before_the_pace_was_measured_is_read_and_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    let mut writer = create(&path);
    let mut old = repetition();
    let slice = crate::Slice { requests: 7, pace_ns: Some(3000), ..crate::Slice::default() };
    old.slices = vec![slice];
    writer.record(0, &old).unwrap();
    drop(writer);
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch("ALTER TABLE slice DROP COLUMN pace_ns").unwrap();
    drop(file);
    let paces = |run: &Run| -> Vec<Option<u64>> {
        run.cells.iter().flat_map(|c| &c.repetitions).flat_map(|r| &r.slices).map(|s| s.pace_ns).collect()
    };
    assert_eq!(paces(&Run::open(&path).unwrap()), [None]);
    let mut writer = resume(&path).unwrap();
    let mut new = repetition();
    new.block += 1;
    new.slices = vec![slice];
    writer.record(0, &new).unwrap();
    assert_eq!(paces(&writer.read().unwrap()), [None, Some(3000)]);
}

#[test]
fn every_verdict_can_be_written_and_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    let mut writer = create(&path);
    for (block, kind) in (10..).zip(VerdictKind::ALL) {
        let mut of_kind = repetition();
        (of_kind.block, of_kind.verdict.kind) = (block, kind);
        writer.record(0, &of_kind).unwrap();
    }
    drop(writer);
    let run = Run::open(&path).unwrap();
    let read: Vec<VerdictKind> = run.cells[0].repetitions.iter().map(|r| r.verdict.kind).collect();
    assert_eq!(read, VerdictKind::ALL);
}

#[test]
fn one_process_writes_at_a_time_and_never_over_another_run() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    let writer = create(&path);
    assert!(matches!(resume(&path), Err(RecordError::Locked(_))));
    drop(writer);
    assert!(resume(&path).is_ok());
    let plan = std::panic::catch_unwind(|| create(&path));
    assert!(plan.is_err(), "an existing file is not overwritten");
}

#[test]
fn a_folder_without_write_permission_is_enough_to_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("odd name?#%.pitot");
    create(&path).finish(RunState::Complete, "2026-01-02T03:05:00Z", &host("x")).unwrap();
    let mut permissions = std::fs::metadata(dir.path()).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(dir.path(), permissions.clone()).unwrap();
    let run = Run::open(&path);
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o700);
    std::fs::set_permissions(dir.path(), permissions).unwrap();
    assert_eq!(run.unwrap().info.state, RunState::Complete);
}

#[test]
fn what_is_not_a_run_file_is_recognised() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    assert!(matches!(Run::open(&path), Err(RecordError::Open { .. })));
    std::fs::write(&path, "repetitions = 3\n".repeat(100)).unwrap();
    assert!(matches!(Run::open(&path), Err(RecordError::Foreign(_))));
    assert!(matches!(resume(&path), Err(RecordError::Foreign(_))));
    let other = rusqlite::Connection::open(dir.path().join("b.sqlite")).unwrap();
    other.execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(matches!(Run::open(&dir.path().join("b.sqlite")), Err(RecordError::Foreign(_))));
    let path = dir.path().join("c.pitot");
    create(&path).finish(RunState::Complete, "", &host("x")).unwrap();
    for (layout, fix) in [(99, "a newer one"), (7, "measure again")] {
        rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", layout).unwrap();
        let failure = format!("{:?}", pitot_results::Failure::from(Run::open(&path).unwrap_err()));
        assert!(failure.contains(&format!("layout {layout},")) && failure.contains(fix), "{failure}");
    }
}

#[test]
fn the_result_view_answers_in_plain_sql() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    let mut writer = create(&path);
    writer.record(1, &repetition()).unwrap();
    writer.finish(RunState::Complete, "", &host("x")).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    let row: (String, f64, i64, f64) = connection
        .query_row("SELECT cell, throughput_rps, latency_p99_ns, cpu_per_request_ns FROM result", [], |r| {
            Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?))
        })
        .unwrap();
    assert_eq!(row, ("loop, 1000".into(), 1000.0, 5000, 250_000.0));
}

#[test]
fn counterparts_differ_in_the_named_factor_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    drop(create(&path));
    let mut run = Run::open(&path).unwrap();
    run.plan.baseline = Some(pitot_plan::Levels(vec![("server".into(), vec!["fork".into()])]));
    let of = |i: usize| run.baseline_of(&run.cells[i]).map(CellRecord::label);
    assert_eq!(of(0).as_deref(), Some("fork, 1"));
    assert_eq!(of(1).as_deref(), Some("fork, 1000"));
    assert_eq!(of(2), None, "a baseline has no baseline");
}

/// A whole run file that was changed afterwards by somebody who knows SQLite.
fn tampered(dir: &Path, statements: &str) -> std::path::PathBuf {
    let path = dir.join("t.pitot");
    let _ = std::fs::remove_file(&path);
    let mut writer = create(&path);
    writer.record(0, &repetition()).unwrap();
    writer.finish(RunState::Interrupted, "", &host("x")).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch(&format!("DROP VIEW result; PRAGMA writable_schema = ON; {statements}"))
        .unwrap();
    path
}

#[test]
fn a_file_that_is_made_to_do_harm_is_refused_by_readers_and_the_writer() {
    let dir = tempfile::tempdir().unwrap();
    let endless =
        "SELECT i FROM (WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n)";
    for (statements, why) in [
        (
            format!(
                "DROP TABLE fact; CREATE VIEW fact AS SELECT '' AS moment, i AS position, '' AS topic, '' AS name, '' AS value \
                 FROM ({endless}) WHERE i < 0"
            ),
            "the view `fact`",
        ),
        ("ALTER TABLE skip RENAME TO a; CREATE VIEW SKIP AS SELECT * FROM a".into(), "the view `SKIP`"),
        (
            format!(
                "CREATE TRIGGER t AFTER UPDATE ON run BEGIN INSERT INTO skip SELECT i, '', '' FROM ({endless}); END"
            ),
            "the trigger `t`",
        ),
        (
            "DROP TABLE skip; INSERT INTO sqlite_schema VALUES ('table', 'skip', 'skip', 0, 'CREATE VIRTUAL TABLE skip \
             USING rtree(position, factors, reason)')"
                .into(),
            "the virtual table `skip`",
        ),
        (
            "DROP TABLE skip; CREATE TABLE skip (position, factors, reason AS (hex(zeroblob(1000))))".into(),
            "`skip` has generated columns",
        ),
        ("DROP TABLE sample".into(), "no table `sample`"),
    ] {
        let path = tampered(dir.path(), &statements);
        for refused in [Run::open(&path).map(drop), resume(&path).map(drop)] {
            let refused = refused.unwrap_err();
            assert!(matches!(&refused, RecordError::Damaged(what) if what.contains(why)), "{why}: {refused:?}");
        }
    }
}

#[test]
fn what_a_file_claims_as_its_content_is_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    let untyped = "UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') WHERE name = 'run'";
    for (statements, why) in [
        // Of zeros and without a page for them, it would be this large only when it is read.
        ("UPDATE run SET plan_source = CAST(zeroblob(70000000) AS TEXT)", "too big"),
        ("ALTER TABLE repetition DROP COLUMN elapsed_s", "elapsed_s"),
        ("DELETE FROM run", "no rows"),
        (untyped, ""),
    ] {
        let path = tampered(dir.path(), statements);
        if statements == untyped {
            let connection = rusqlite::Connection::open(&path).unwrap();
            connection.execute_batch("UPDATE run SET seed = x'00', plan = 7").unwrap();
        }
        let failure = pitot_results::Failure::from(Run::open(&path).unwrap_err());
        assert!(failure.what.starts_with("the run file is damaged: "), "{failure}");
        assert!(failure.what.to_lowercase().contains(why), "{why}: {failure}");
    }
}

#[test]
fn a_page_that_is_used_twice_is_found_before_it_is_read_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let rows = "WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) \
                INSERT INTO skip SELECT i, '[]', printf('%.200c', 'x') FROM n";
    let path = tampered(dir.path(), rows);
    assert_eq!(Run::open(&path).unwrap().skips.len(), 2902);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let number = |query: &str| connection.query_row(query, [], |row| row.get::<_, usize>(0)).unwrap();
    let start =
        (number("SELECT rootpage FROM sqlite_schema WHERE name = 'skip'") - 1) * number("PRAGMA page_size");
    drop(connection);
    let mut bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes[start], 5, "an inner page of a table");
    let cell = start + usize::from(u16::from_be_bytes([bytes[start + 12], bytes[start + 13]]));
    // Its last child becomes its first one.
    bytes.copy_within(cell..cell + 4, start + 8);
    std::fs::write(&path, bytes).unwrap();
    let refused = Run::open(&path).unwrap_err();
    assert!(matches!(&refused, RecordError::Damaged(what) if what.starts_with("Tree ")), "{refused:?}");
}

/// Bytes of all files of a folder in which any of these stands.
fn files_with(dir: &Path, secrets: &[&str]) -> Vec<String> {
    let holds = |path: &std::path::PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        secrets.iter().any(|secret| bytes.windows(secret.len()).any(|part| part == secret.as_bytes()))
    };
    let all = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<String> =
        all.filter(holds).map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    found.sort();
    found
}

#[test]
fn a_secret_is_beside_the_file_and_not_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    let secrets = ["hunter22", "tok-9871", "v'al-ue77"];
    let header = "X-Api-Key: v'al-ue77";
    let mut plan = Plan { title: "what hunter22 costs".into(), ..Plan::default() };
    plan.load.set("url", Value::Text("http://me:hunter22@{address}/?token=tok-9871".into()));
    plan.factors = vec![Factor { name: "load.header".into(), levels: vec![Value::Text(header.into())] }];
    let factors = vec![FactorLevel::new("load.header", header)];
    let cell = NewCell {
        factors: factors.clone(),
        server_command: "APP_TOKEN=tok-9871 ./app".into(),
        load_command:
            r"pitot load 'http://me:hunter22@h/?token=tok-9871' --header 'X-Api-Key: v'\''al-ue77' -c 2"
                .into(),
        measure: Measure::Fresh,
        fresh_reason: "hunter22".into(),
        control_of: None,
    };
    let (unknown, cells) = (Fingerprint::default(), [cell]);
    let new = NewRun {
        command_line: "pitot run --url http://me:hunter22@h/",
        warnings: &["tok-9871 is used".into()],
        plan_source: "url = \"http://me:hunter22@{address}/?token=tok-9871\" # or hunter22",
        skips: &[SkipRecord { factors, reason: "no hunter22".into(), kind: SkipKind::Other }],
        ..NewRun::of(&plan, &unknown, &cells)
    };
    let mut writer = RunWriter::create(&path, &new).unwrap();
    let said = "got v'al-ue77 of hunter22".to_owned();
    let mut repetition = Repetition { output_tail: said.clone(), ..Repetition::default() };
    repetition.verdict.reason.clone_from(&said);
    repetition.load = Some(
        LoadResult::parse(r#"{"schema": "pitot-load/1", "errors": [{"kind": "v'al-ue77", "count": 1}]}"#)
            .unwrap(),
    );
    repetition.server_stats = Some(serde_json::json!({"said": said}));
    repetition.faults =
        vec![FaultRecord { what: said, command: "x --token tok-9871".into(), ..FaultRecord::default() }];
    writer.record(0, &repetition).unwrap();
    writer.warn("a hunter22").unwrap();
    writer.measure_fresh(0, "a hunter22").unwrap();
    writer.update_plan(&plan).unwrap();
    assert_eq!(files_with(dir.path(), &secrets), ["a.pitot.secrets"]);
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&entry.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600, "{:?}", entry.file_name());
    }
    writer.finish(RunState::Interrupted, "", &host("x")).unwrap();
    assert_eq!(files_with(dir.path(), &secrets), ["a.pitot.secrets"]);
    assert_eq!(Run::open(&path).unwrap().cells[0].label(), "X-Api-Key: ***");
    let run = Run::open_to_resume(&path).unwrap();
    assert_eq!(run.plan, plan);
    let writer = RunWriter::resume(&path, &run.plan).unwrap();
    assert_eq!(files_with(dir.path(), &secrets), ["a.pitot.secrets"]);
    writer.finish(RunState::Complete, "", &host("x")).unwrap();
    assert!(files_with(dir.path(), &secrets).is_empty(), "what is complete is not resumed");
}

/// A run file with one repetition, to which `damage` was done with SQL.
fn damaged(damage: &str) -> Result<Run, RecordError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    let mut writer = create(&path);
    let mut one = repetition();
    one.slices = vec![crate::run::Slice::default()];
    writer.record(0, &one).unwrap();
    writer.finish(RunState::Complete, "2026-01-02T03:05:00Z", &host("performance")).unwrap();
    let harm = format!("PRAGMA foreign_keys = OFF; {damage}");
    rusqlite::Connection::open(&path).unwrap().execute_batch(&harm).unwrap();
    Run::open(&path)
}

#[test]
fn a_cell_without_a_level_of_each_factor_is_damage() {
    damaged("").unwrap();
    for damage in [
        "DELETE FROM factor WHERE cell_id = 1 AND position = 1",
        "DELETE FROM factor",
        "INSERT INTO factor VALUES (1, 2, 'replicate', '1')",
        "UPDATE factor SET name = 'load.idle' WHERE position = 1 AND cell_id = 2",
        "UPDATE factor SET position = 5 WHERE position = 0 AND cell_id = 1",
        "UPDATE run SET plan = json_remove(plan, '$.factors[1]')",
    ] {
        let error = damaged(damage).map(|_| ()).unwrap_err();
        assert!(
            matches!(&error, RecordError::Damaged(what) if what.contains("one level of each factor")),
            "{damage}: {error}"
        );
    }
    let error = damaged("UPDATE cell SET control_of = 99 WHERE id = 4").map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("cell 4 is the control of no cell"), "{error}");
}

#[test]
fn a_count_that_is_negative_or_nothing_that_was_counted_is_damage() {
    for damage in [
        "UPDATE sample SET server_cpu_ns = -1",
        "UPDATE sample SET tcp_retransmits = 9223372036854775807",
        "UPDATE sample SET at_ns = -5 WHERE at_ns = 1",
        "UPDATE slice SET requests = -1",
        "UPDATE slice SET requests = 4611686018427387904",
        "UPDATE slice SET began_unix_ns = -1",
        "UPDATE slice SET position = -1",
        "UPDATE repetition SET block = -1",
        "UPDATE repetition SET position = 4294967296",
        "UPDATE repetition SET elapsed_s = -1.0",
        "UPDATE repetition SET ready_s = 9e999",
        "UPDATE fault SET began_ns = -1",
        "UPDATE repetition SET load = json_set(load, '$.requests.completed', 9223372036854775807)",
        "UPDATE repetition SET load = json_set(load, '$.requests.completed', -1)",
        "UPDATE repetition SET resources = json_set(resources, '$.server_switches', -1)",
        "UPDATE repetition SET resources = json_set(resources, '$.server_switches', 9223372036854775807)",
    ] {
        let failure = pitot_results::Failure::from(damaged(damage).map(|_| ()).unwrap_err());
        assert!(failure.what.starts_with("the run file is damaged: "), "{damage}: {failure}");
    }
}

#[test]
fn a_plan_of_more_cells_than_can_be_run_is_damage() {
    let levels = "(WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT 100001) \
                  SELECT json_group_array(i) FROM n)";
    let error =
        damaged(&format!("UPDATE run SET plan = json_set(plan, '$.factors[1].levels', json({levels}))"));
    assert!(error.unwrap_err().to_string().contains("its plan has 200002 combinations of levels"));
}
