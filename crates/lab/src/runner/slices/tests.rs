//! Generations on a scripted machine.

use std::path::PathBuf;

use pitot_results::VerdictKind;

use crate::runner::executor::Ending;
use crate::runner::fake::{Fake, Script};
use crate::runner::tests::{on, ready};
use crate::runner::{Event, Outcome, Prepared, run};
use pitot_plan::Measure;
use pitot_record::{Repetition, Run, RunState};

const PLAN: &str = r#"
generations = 3
slices = 4
slice = "40ms"
warmup = "20ms"
seed = 5
ready-timeout = "500ms"
stop-timeout = "500ms"
baseline = { server = "good" }
[server]
protocol = "busy"
[factors]
server = ["good", "hang", "suspend"]
"#;

/// A machine whose load generator answers a thousand requests in a slice.
fn machine() -> Fake {
    let mut fake = Fake::new();
    fake.load = Script { answer: Some(answer), ..Script::default() };
    // A tenth of a CPU while 40 ms of load pass, and of the time that answers take.
    fake.server.cpu_share = 0.01;
    fake
}

fn answer(line: &str) -> (u64, Vec<String>) {
    let lines = |text: &str| vec![text.to_owned()];
    match line.split(' ').next().unwrap_or_default() {
        "open" => (5, lines(r#"{"event": "opened", "connections": 64}"#)),
        "run" => (
            41,
            lines(
                r#"{"event": "slice", "began_unix_ns": 7, "late_us": 90, "duration_us": 40000, "drain_us": 1000,
                    "requests": 1000, "errors": {}, "client_user_us": 1000, "client_system_us": 9000}"#,
            ),
        ),
        _ => (0, Vec::new()),
    }
}

struct Bed {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

impl Bed {
    fn new() -> Bed {
        let dir = tempfile::tempdir().unwrap();
        Bed { path: dir.path().join("run.pitot"), _dir: dir }
    }

    fn try_run(&self, fake: &Fake, stop: &dyn Fn() -> bool, watch: &mut dyn FnMut(&Event<'_>)) -> Outcome {
        run(on(fake, ready(PLAN), &self.path, stop), watch).unwrap()
    }

    fn run_plan(&self, fake: &Fake, prepared: Prepared) -> Outcome {
        run(on(fake, prepared, &self.path, &|| false), &mut |_| {}).unwrap()
    }

    fn run(&self, fake: &Fake) -> Run {
        assert_eq!(self.try_run(fake, &|| false, &mut |_| {}).state, RunState::Complete);
        let run = Run::open(&self.path).unwrap();
        assert!(run.is_complete());
        run
    }
}

fn cell<'a>(run: &'a Run, server: &str) -> &'a [Repetition] {
    let cell = run.cells.iter().find(|c| c.factors.iter().any(|f| f.level == server));
    &cell.unwrap().repetitions
}

#[test]
fn every_generation_has_fresh_servers_and_as_many_slices_of_each() {
    let fake = machine();
    let run = Bed::new().run(&fake);
    assert!(run.is_sliced() && run.cells.iter().all(|c| c.measure == Measure::Slices));
    let starts = fake.calls().iter().filter(|call| call.starts_with("start Server")).count();
    assert_eq!(starts, 3 * 4, "three cells and the control");
    let control = run.control_of(&run.cells[0]).unwrap();
    for record in run.cells.iter().chain([control]) {
        assert_eq!(record.repetitions.len(), 3);
        for repetition in &record.repetitions {
            assert_eq!(repetition.verdict.kind, VerdictKind::Valid, "{}", repetition.verdict.reason);
            let rounds: Vec<u32> = repetition.slices.iter().map(|s| s.round).collect();
            assert_eq!(rounds, [0, 0, 1, 1]);
            let load = repetition.load.as_ref().unwrap();
            assert_eq!((load.requests.ok, load.connections.peak_open), (4_000, 64));
            assert!((load.duration_s - 4.0 * 0.041).abs() < 1e-9, "{}", load.duration_s);
            assert!(repetition.slices.iter().all(|s| s.server_cpu_ns.is_some_and(|ns| ns > 0)));
        }
    }
    // Each round is mirrored about its middle: positions 0 and 7, 1 and 6, ...
    for repetition in &run.cells[1].repetitions {
        for round in [0, 1] {
            let positions: Vec<u32> =
                repetition.slices.iter().filter(|s| s.round == round).map(|s| s.position).collect();
            assert_eq!(positions.iter().sum::<u32>(), 7, "{positions:?}");
        }
    }
}

#[test]
fn a_way_that_limits_all_cells_is_in_their_verdicts() {
    let mut fake = machine();
    // Of ten connections, which are what a load opens if it is not told.
    fake.sending = Some(9);
    let run = Bed::new().run(&fake);
    for repetition in cell(&run, "good") {
        let verdict = &repetition.verdict;
        assert_eq!(verdict.kind, VerdictKind::NetworkBound, "{}", verdict.reason);
        assert!(
            verdict.reason.contains("90% of the connections had a reply under way"),
            "{}",
            verdict.reason
        );
    }
    fake.sending = Some(1);
    let run = Bed::new().run(&fake);
    for repetition in cell(&run, "good") {
        let verdict = &repetition.verdict;
        assert_eq!(verdict.kind, VerdictKind::Valid);
        assert!(verdict.reason.contains("the server waits"), "{}", verdict.reason);
    }
}

#[test]
fn the_load_generator_is_started_afresh_too_and_asked_to_end() {
    let fake = machine();
    Bed::new().run(&fake);
    let count = |what: &str| fake.calls().iter().filter(|call| call.starts_with(what)).count();
    assert_eq!((count("start Load"), count("Load reads quit")), (3, 3));
    assert_eq!(count("Load reads open"), 12);
    // A warm-up each, two rounds of eight slices, and one before each round that is in no figure.
    assert_eq!(count("Load reads run"), 3 * (4 + 2 * 8 + 2));
    assert_eq!(count("Terminate Server"), 12);
}

#[test]
fn a_server_that_dies_fails_its_own_cell_only() {
    let mut fake = machine();
    let dies = Script { ends: Some((900, Ending::Signal(11))), ..fake.server.clone() };
    fake.other_servers = vec![("hang", dies)];
    let run = Bed::new().run(&fake);
    for repetition in cell(&run, "hang") {
        assert_eq!(repetition.verdict.kind, VerdictKind::Failed);
        assert!(
            repetition.verdict.reason.contains("ended by signal SIGSEGV"),
            "{}",
            repetition.verdict.reason
        );
    }
    assert!(cell(&run, "suspend").iter().all(|r| r.verdict.kind == VerdictKind::Valid));
}

#[test]
fn a_server_that_cannot_be_started_is_tried_once() {
    let mut fake = machine();
    fake.other_servers = vec![("hang", Script { start_error: Some("no such file"), ..Script::default() })];
    let run = Bed::new().run(&fake);
    let reasons: Vec<&str> = cell(&run, "hang").iter().map(|r| r.verdict.reason.as_str()).collect();
    assert_eq!(reasons, ["no such file", "not tried again: no such file", "not tried again: no such file"]);
    let given_up: Vec<bool> = cell(&run, "hang").iter().map(|r| r.verdict.is_given_up()).collect();
    assert_eq!(given_up, [false, true, true]);
    let starts = fake.calls().iter().filter(|call| call.starts_with("start Server")).count();
    assert_eq!(starts, 4 + 3 + 3);
}

#[test]
fn a_load_generator_that_dies_fails_all_cells_of_its_generation() {
    let mut fake = machine();
    fake.load.ends_at_line = Some((10, Ending::Signal(9)));
    let run = Bed::new().run(&fake);
    for repetition in run.cells.iter().flat_map(|c| &c.repetitions) {
        assert_eq!(repetition.verdict.kind, VerdictKind::Failed);
        assert_eq!(repetition.verdict.reason, "the load generator ended by signal SIGKILL");
    }
    let finishes = fake.calls().iter().filter(|call| *call == "finish").count();
    assert!(finishes >= 12, "servers are cleaned up: {finishes}");
}

#[test]
fn with_a_server_that_works_without_being_asked_all_that_are_compared_are_measured_in_fresh_runs() {
    let mut fake = machine();
    fake.other_servers = vec![("hang", Script { cpu_share: 0.5, ..fake.server.clone() })];
    let bed = Bed::new();
    let outcome = bed.try_run(&fake, &|| false, &mut |_| {});
    assert_eq!(outcome.state, RunState::Complete);
    let run = Run::open(&bed.path).unwrap();
    for cell in &run.cells {
        assert_eq!(cell.measure, Measure::Fresh);
        assert_eq!(cell.fresh_reason, "the server of hang uses 50% of a CPU while it is not loaded");
        // The scripted load generator writes no result of a fresh run, but the runs were made.
        assert_eq!(cell.repetitions.len(), run.plan.repetitions as usize);
        assert!(cell.repetitions.iter().all(|r| r.slices.is_empty()));
    }
    assert!(run.controls.iter().all(|control| control.repetitions.is_empty()));
}

#[test]
fn a_server_that_works_a_little_without_being_asked_stays_in_slices_and_is_named() {
    let mut fake = machine();
    fake.other_servers = vec![("hang", Script { cpu_share: 0.03, ..fake.server.clone() })];
    let run = Bed::new().run(&fake);
    assert!(run.cells.iter().all(|c| c.measure == Measure::Slices && c.repetitions.len() == 3));
    let [warning] = &run.info.warnings[run.info.warnings.len() - 1..] else { panic!() };
    assert!(warning.starts_with("The server of hang used 3.0% of a CPU while the others"), "{warning}");
}

#[test]
fn other_processes_that_use_the_cpus_are_named_and_make_no_cell_noisy() {
    let mut fake = machine();
    let seconds = pitot_meter::Nanos::from_secs;
    fake.other_processes = vec![crate::monitor::OtherProcessUse {
        from: seconds(0),
        to: seconds(3600),
        pid: 7,
        name: "yes".to_owned(),
        cpu: pitot_sys::affinity::allowed().unwrap()[0],
        cpu_ns: seconds(3600).0,
    }];
    let run = Bed::new().run(&fake);
    let warning = run.info.warnings.last().unwrap();
    assert!(
        warning.starts_with("Other processes used ") && warning.contains("most of it `yes` with"),
        "{warning}"
    );
    let share =
        |r: &Repetition| r.verdict.figures.iter().find(|(name, _)| name == "others_cpu_share").unwrap().1;
    let all = || run.cells.iter().flat_map(|cell| &cell.repetitions);
    assert!(all().all(|r| r.verdict.kind == VerdictKind::Valid && share(r) > 0.05));
}

#[test]
fn processes_that_cannot_be_seen_are_told_by_the_time_that_nobody_used() {
    let mut fake = machine();
    let quiet = Bed::new().run(&fake);
    assert!(
        quiet.info.warnings.iter().all(|w| !w.starts_with("Other processes")),
        "{:?}",
        quiet.info.warnings
    );
    // The CPUs of both sides are busy, as in a container beside others.
    fake.busy_share = Some(2.0);
    let run = Bed::new().run(&fake);
    let warning = run.info.warnings.last().unwrap();
    assert!(warning.contains("by processes that could not be seen"), "{warning}");
    let all = || run.cells.iter().flat_map(|cell| &cell.repetitions);
    assert!(all().all(|r| r.verdict.kind == VerdictKind::Valid && !r.verdict.is_waiting()));
}

#[test]
fn a_server_that_has_no_others_beside_it_may_work_without_being_asked() {
    let text = PLAN.replace(r#"["good", "hang", "suspend"]"#, r#"["good"]"#);
    let mut fake = machine();
    fake.server.cpu_share = 0.5;
    let bed = Bed::new();
    bed.run_plan(&fake, ready(&text));
    let run = Run::open(&bed.path).unwrap();
    assert!(run.cells[0].measure == Measure::Slices && run.cells[0].repetitions.len() == 3);
}

#[test]
fn a_run_whose_time_is_over_ends_with_a_whole_generation_and_says_what_it_would_have_taken() {
    let bed = Bed::new();
    let mut prepared = ready(PLAN);
    prepared.within_s = Some(0.0);
    let outcome = bed.run_plan(&machine(), prepared);
    assert_eq!(outcome.state, RunState::Complete);
    let run = Run::open(&bed.path).unwrap();
    assert!(run.is_complete() && run.plan.generations == Some(1));
    assert!(run.cells.iter().all(|c| c.repetitions.len() == 1));
    let warning = run.info.warnings.last().unwrap();
    assert!(
        warning
            .contains("Only 1 generation fitted into the 0 s of the run, since this machine is slower than"),
        "{warning}"
    );
    assert!(warning.contains("7 generations take about"), "{warning}");
}

#[test]
fn a_generation_that_was_interrupted_is_not_recorded_and_all_others_are() {
    let bed = Bed::new();
    let fake = machine();
    let finished = std::cell::Cell::new(0);
    let stop = || finished.get() == 2;
    let mut count = |event: &Event<'_>| {
        if let Event::Measured { repetitions, .. } = event {
            assert_eq!(repetitions.len(), 4);
            finished.set(finished.get() + 1);
        }
    };
    let outcome = bed.try_run(&fake, &stop, &mut count);
    assert_eq!(outcome.state, RunState::Interrupted);
    let run = Run::open(&bed.path).unwrap();
    assert!(run.cells.iter().chain(&run.controls).all(|c| c.repetitions.len() == 2));
}

#[test]
fn a_run_until_decided_ends_when_all_is_decided_and_names_its_generations() {
    let bed = Bed::new();
    let mut fake = machine();
    // Three times the CPU time in each slice: seen at once. The others are alike to the nanosecond.
    fake.other_servers = vec![("hang", Script { cpu_share: 0.019, ..fake.server.clone() })];
    let text = PLAN.replace("generations = 3", "until-decided = \"10m\"\nmetric = \"cpu-per-request\"");
    let outcome = bed.run_plan(&fake, ready(&text));
    assert_eq!(outcome.state, RunState::Complete);
    let run = Run::open(&bed.path).unwrap();
    assert!(run.is_complete());
    let generations = run.plan.generations.unwrap();
    assert!((9..=30).contains(&generations), "{generations}");
    assert!(run.cells.iter().all(|c| c.repetitions.len() == generations as usize));
}

/// A plan that compares servers and a setting of the host. Its other level is what the setting is already, so that it
/// needs no right.
fn plan_of_settings(more: &str) -> (String, String) {
    let value = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap().trim().to_owned();
    let text = PLAN.replace(
        "baseline = { server = \"good\" }",
        &format!("baseline = {{ host.\"net.core.somaxconn\" = \"found\" }}\n{more}"),
    );
    let factors = format!("host.\"net.core.somaxconn\" = [\"found\", {value}]\n");
    (
        text.replace(r#"server = ["good", "hang", "suspend"]"#, "server = [\"good\", \"hang\"]\n") + &factors,
        value,
    )
}

#[test]
fn settings_of_the_host_are_changed_between_groups_and_a_control_goes_through_the_same() {
    let (text, value) = plan_of_settings("");
    let fake = machine();
    let bed = Bed::new();
    let outcome = bed.run_plan(&fake, ready(&text));
    assert_eq!(outcome.state, RunState::Complete);
    let run = Run::open(&bed.path).unwrap();
    assert_eq!((run.cells.len(), run.controls.len()), (4, 2), "each server is compared with itself");
    assert!(run.cells.iter().chain(&run.controls).all(|c| c.repetitions.len() == 3));
    // Nothing is started while a change is under way, and each server runs under the settings of its cell.
    let mut under = Vec::new();
    let (mut changed, mut changes) = (false, 0);
    for call in fake.calls() {
        match call.strip_prefix("host ") {
            Some(words) => {
                assert!(words.is_empty() || words == format!("net.core.somaxconn={value}"), "{words}");
                (changed, changes) = (!words.is_empty(), changes + 1);
            }
            None if call.starts_with("start Server") => under.push(changed),
            None => {}
        }
    }
    assert_eq!(under.iter().filter(|changed| **changed).count(), 3 * 2);
    assert_eq!(under.len(), 3 * (4 + 2));
    assert!(!changed && changes >= 2, "what was changed is set back at the end");
}

#[test]
fn a_setting_that_the_host_refuses_gives_up_its_cells_alone() {
    let (text, _) = plan_of_settings("");
    let mut fake = machine();
    fake.refuses_host = Some("the kernel refuses the value");
    let bed = Bed::new();
    bed.run_plan(&fake, ready(&text));
    let run = Run::open(&bed.path).unwrap();
    for cell in &run.cells {
        let verdict = &cell.repetitions[0].verdict;
        if cell.label().ends_with("found") {
            assert_eq!(verdict.kind, VerdictKind::Valid, "{}", verdict.reason);
        } else {
            assert_eq!(verdict.reason, "not tried again: the kernel refuses the value");
        }
    }
}
