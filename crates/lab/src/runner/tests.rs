//! The runner against a program that obeys the contract of `pitot serve` and `pitot load`, or breaks it on purpose.

use std::cell::Cell as Counter;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pitot_needs::needs;
use pitot_results::VerdictKind;

use super::estimate::OVERHEAD_S;
use super::schedule::schedule;
use super::*;
use pitot_plan::Plan;
use pitot_plan::{Catalog, ImpossiblePair, ModelWord, OptionMeaning, OptionWord, ProgramWord, ProtocolWord};
use pitot_record::{Repetition, Run, RunState};

/// A stand-in for `pitot`. What it does as a server is its `--model`.
const FAKE: &str = r#"#!/bin/sh
command=$1
while [ $# -gt 0 ]; do
    case $1 in
        --model) model=$2 ;;
        --json) json=$2 ;;
        --connections) connections=$2 ;;
    esac
    shift
done
if [ "$command" = load ]; then
    echo "a summary for people"
    sleep 0.2
    [ "$connections" = 7 ] && { echo "cannot connect" >&2; exit 2; }
    ok=1000
    rate=5000.0
    [ "$connections" = 8 ] && { ok=0; rate=0.0; }
    # Replies take so long that all of them were asked for before the measured part.
    [ "$connections" = 9 ] && ok=0
    echo '{"schema": "pitot-load/1", "throughput_rps": '$rate', "duration_s": 0.2,
           "requests": {"attempted": 1000, "completed": '$ok', "ok": '$ok'},
           "errors": [{"phase": "receive", "kind": "ECONNRESET", "count": 3}]}' > "$json"
    exit 0
fi
if [ "$command" = disk ]; then
    echo '{"schema": "pitot-disk/1", "command": "files", "options": {"count": 10},
           "sizes": [{"elapsed_s": 0.1, "phases": [{"phase": "write", "elapsed_s": 0.05}]}]}' > "$json"
    sleep 0.15
    exit 0
fi
[ "$model" = mute ] && { echo "thinking about it" >&2; sleep 60; }
[ "$model" = refuse ] && { echo "no such root" >&2; exit 2; }
echo "ready 127.0.0.1:4321"
case $model in
    crash) sleep 0.1; echo "assertion failed: it holds" >&2; kill -SEGV $$ ;;
    suspend) kill -STOP $$ ;;
    hang) trap '' TERM; while :; do sleep 0.05; done ;;
    litter) sleep 60 & trap 'kill -9 $worker; exit 0' TERM; sleep 60 & worker=$!; wait $worker ;;
    *) trap 'echo "{\"accepted\": 9}"; exit 0' TERM; while :; do sleep 0.02; done ;;
esac
"#;

struct Bed {
    dir: tempfile::TempDir,
    pitot: String,
}

impl Bed {
    fn new() -> Bed {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fake-pitot");
        std::fs::write(&path, FAKE).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        Bed { pitot: path.to_string_lossy().into_owned(), dir }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("run.pitot")
    }

    /// Carries out some work here, until it is told to stop.
    fn carry_out(
        &self,
        work: Work<'_>,
        stop: &dyn Fn() -> bool,
        watch: &mut dyn FnMut(&Event<'_>),
    ) -> Outcome {
        let caller = Caller { pitot: &self.pitot, ..caller(stop) };
        let place = Place::Here(Guardian::start().unwrap());
        run(Request { work, place, trial: false, caller }, watch).unwrap()
    }

    fn run(&self, plan: &str) -> Run {
        let work = Work::New { prepared: Box::new(ready(plan)), output: &self.file() };
        let outcome = self.carry_out(work, &|| false, &mut |_| {});
        assert_eq!(outcome.state, RunState::Complete);
        Run::open(&self.file()).unwrap()
    }
}

pub(super) fn catalog() -> Catalog {
    let models = ["good", "mute", "refuse", "crash", "hang", "litter", "suspend"];
    let option = |name: &str| OptionWord {
        name: name.into(),
        takes_value: true,
        values: Vec::new(),
        renamed_to: None,
        meaning: OptionMeaning { opens_connections: name == "connections", ..OptionMeaning::default() },
    };
    Catalog {
        protocols: vec![ProtocolWord {
            name: "busy".into(),
            load_url: "busy://{address}".into(),
            tls_scheme: None,
            tls_at_once: false,
            files: false,
        }],
        models: models
            .map(|name| ModelWord {
                name: name.into(),
                default_mechanism: "blocking".into(),
                one_process: false,
            })
            .to_vec(),
        mechanisms: vec!["blocking".into(), "uring".into()],
        impossible: vec![ImpossiblePair {
            model: "good".into(),
            mechanism: "uring".into(),
            reason: "io_uring is switched off".into(),
        }],
        impossible_options: Vec::new(),
        serve_options: vec![option("model"), option("mechanism")],
        load_options: vec![option("connections")],
        programs: vec![ProgramWord {
            name: "disk files".into(),
            options: vec![option("sizes")],
            needs_server: false,
            writes_files: true,
            executes: false,
        }],
        targets: Vec::new(),
        charts: Vec::new(),
        metrics: vec!["throughput".into(), "cpu-per-request".into()],
        renamed_metrics: Vec::new(),
    }
}

/// A plan that is ready for this machine.
pub(super) fn ready(text: &str) -> Prepared {
    prepare(parse(text), text.to_owned(), &catalog(), Where::Here).unwrap()
}

/// Who asks for the runs of tests.
pub(super) fn caller(stop: &dyn Fn() -> bool) -> Caller<'_> {
    Caller {
        pitot: "pitot",
        version: "0.0.0",
        command_line: "pitot run",
        note: &|| None,
        stop,
        decided: &|_, _| None,
    }
}

/// A run on a scripted machine; its cells are not tried before.
pub(super) fn on<'a>(
    machine: &'a fake::Fake,
    prepared: Prepared,
    output: &'a Path,
    stop: &'a dyn Fn() -> bool,
) -> Request<'a, 'a, 'a> {
    let work = Work::New { prepared: Box::new(prepared), output };
    Request { work, place: Place::Scripted(machine), trial: false, caller: caller(stop) }
}

pub(super) fn plan(factors: &str) -> String {
    format!(
        "repetitions = 1\nduration = \"200ms\"\nwarmup = \"0s\"\nready-timeout = \"500ms\"\nstop-timeout = \"500ms\"\n\
         [server]\nprotocol = \"busy\"\n[factors]\n{factors}\n"
    )
}

pub(super) fn parse(text: &str) -> Plan {
    Plan::parse("test.toml", text, &catalog()).unwrap()
}

fn only(run: &Run) -> &Repetition {
    &run.cells[0].repetitions[0]
}

#[test]
fn a_repetition_is_measured_watched_and_recorded() {
    let bed = Bed::new();
    let run = bed.run(&plan("server = [\"good\", \"good+uring\"]"));
    let repetition = only(&run);
    assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{}", repetition.verdict.reason);
    assert_eq!(repetition.address, "127.0.0.1:4321");
    assert_eq!(repetition.load.as_ref().unwrap().requests.ok, 1000);
    assert_eq!(repetition.server_stats.as_ref().unwrap()["accepted"], 9);
    assert!(repetition.samples.len() >= 4, "{}", repetition.samples.len());
    assert!(repetition.samples[0].load.is_none() && repetition.samples[0].server.is_some());
    let used = repetition.resources.unwrap();
    assert!(used.server_processes_max >= 1 && used.server_rss_bytes_max > 0 && used.window_s > 0.1);
    // The fake sleeps fifty times a second, each time in a process of its own that no sample may meet.
    let life = used.server_lifetime.unwrap();
    assert!(life.switches_voluntary > 0 && life.cpu_s > 0.0, "{life:?}");
    assert!(used.server_switches > 0, "{used:?}");
    assert!(repetition.verdict.figures.iter().any(|(name, _)| name == "client_cpu_share"));
    assert_eq!(run.skips[0].reason, "io_uring is switched off");
    assert!(run.host_after.is_some());
    assert!(run.cells[0].server_command.contains("serve busy --listen 127.0.0.1:18080 --model good"));
    let left: Vec<_> = std::fs::read_dir(bed.dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "the fake and the run file: {left:?}");
}

#[test]
fn a_server_that_crashes_fails_with_its_output_tail_and_the_run_goes_on() {
    let bed = Bed::new();
    let run = bed.run(&plan("server = [\"crash\", \"good\"]"));
    let crashed = only(&run);
    assert_eq!(crashed.verdict.kind, VerdictKind::Failed);
    assert!(
        crashed.verdict.reason.starts_with("the server ended by signal SIGSEGV"),
        "{}",
        crashed.verdict.reason
    );
    assert!(crashed.output_tail.contains("assertion failed: it holds"), "{}", crashed.output_tail);
    assert_ne!(run.cells[1].verdict().kind, VerdictKind::Failed);
}

#[test]
fn replies_that_were_asked_for_before_the_measured_part_are_replies() {
    let bed = Bed::new();
    let run = bed.run(&plan("server = [\"good\"]\nload.connections = [9]"));
    assert_ne!(only(&run).verdict.kind, VerdictKind::Failed, "{}", only(&run).verdict.reason);
}

#[test]
fn each_way_to_fail_has_its_reason() {
    let ways = [
        ("server = [\"mute\"]", "the server was not ready within 0.5 s", "thinking about it"),
        ("server = [\"refuse\"]", "the server ended with exit code 2 before it was ready", "no such root"),
        ("server = [\"hang\"]", "the server did not stop within 0.5 s of being asked to", ""),
        ("server = [\"suspend\"]", "the server was suspended by a signal such as SIGSTOP", ""),
        ("server = [\"litter\"]", "a process was left behind: `sleep`", ""),
        (
            "server = [\"good\"]\nload.connections = [7]",
            "the load generator ended with exit code 2 and wrote no result",
            "cannot connect",
        ),
        (
            "server = [\"good\"]\nload.connections = [8]",
            "no reply was right, but 3 errors, most of them receive ECONNRESET",
            "",
        ),
    ];
    // Each waits for a timeout of its own, so they wait together.
    std::thread::scope(|scope| {
        for (factors, reason, words) in ways {
            scope.spawn(move || {
                let run = Bed::new().run(&plan(factors));
                let Repetition { verdict, output_tail, .. } = only(&run);
                assert_eq!(verdict.kind, VerdictKind::Failed, "{factors}");
                assert!(verdict.reason.starts_with(reason), "{factors}: {}", verdict.reason);
                assert!(output_tail.contains(words), "{factors}: {output_tail}");
            });
        }
    });
}

#[test]
fn a_program_that_does_not_exist_fails_its_cell_only() {
    let bed = Bed::new();
    let text = plan("server = [\"absent\", \"good\"]")
        + "[servers.absent]\ncommand = [\"/no/such/program\"]\nurl = \"http://{address}/\"\n";
    let run = bed.run(&text);
    assert!(only(&run).verdict.reason.contains("`/no/such/program` could not be started"));
    assert_ne!(run.cells[1].verdict().kind, VerdictKind::Failed);
}

#[test]
fn a_cell_whose_program_cannot_be_started_is_tried_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.pitot");
    let text = plan("server = [\"good\"]").replace("repetitions = 1", "repetitions = 5");
    let mut fake = fake::Fake::new();
    fake.server.start_error = Some("`./gosrv` could not be started: No such file or directory");
    let outcome = run(on(&fake, ready(&text), &path, &|| false), &mut |_| {}).unwrap();
    assert_eq!((outcome.state, outcome.failed), (RunState::Complete, 5));
    assert_eq!(fake.calls().iter().filter(|call| call.starts_with("begin")).count(), 1, "{:?}", fake.calls());
    let run = Run::open(&path).unwrap();
    assert!(run.is_complete());
    let reasons: Vec<&str> = run.cells[0].repetitions.iter().map(|r| r.verdict.reason.as_str()).collect();
    assert_eq!(reasons[0], "`./gosrv` could not be started: No such file or directory");
    assert!(reasons[1..].iter().all(|r| r.starts_with("not tried again: `./gosrv`")), "{reasons:?}");
}

#[needs("python3")]
#[test]
fn an_external_server_is_a_cell_like_any_other() {
    let bed = Bed::new();
    let text = plan("server = [\"other\", \"knocked\"]").replace("500ms", "10s")
        + r#"
[load]
url = "http://{address}/"

[servers.other]
command = ["sh", "{dir}/conf/run.sh", "{port}"]
ready = { line = "up and running" }
stop = "INT"
version = ["echo", "other/1.2"]
files."conf/run.sh" = "echo \"up and running on $1, {port}\" >&2; trap 'exit 3' INT; while :; do sleep 0.02; done"

[servers.knocked]
command = "python3 -m http.server --bind 127.0.0.1 {port}"
"#;
    let run = bed.run(&text);
    let repetition = only(&run);
    assert_ne!(
        repetition.verdict.kind,
        VerdictKind::Failed,
        "{:?} {}",
        repetition.verdict,
        repetition.output_tail
    );
    assert!(repetition.server_stats.is_none());
    assert_eq!(run.info.server_versions[1], ("other".into(), "other/1.2".into()));
    assert!(run.cells[0].server_command.contains("cat > "), "{}", run.cells[0].server_command);
    let knocked = &run.cells[1].repetitions[0];
    assert_ne!(knocked.verdict.kind, VerdictKind::Failed, "{:?} {}", knocked.verdict, knocked.output_tail);
}

#[test]
fn a_program_without_a_server_is_measured_as_one() {
    let bed = Bed::new();
    let text =
        "repetitions = 1\n[load]\nprogram = \"disk files\"\n[factors]\nload.sizes = [\"4KiB\", \"8KiB\"]\n";
    let run = bed.run(text);
    let repetition = only(&run);
    assert_ne!(
        repetition.verdict.kind,
        VerdictKind::Failed,
        "{:?} {}",
        repetition.verdict,
        repetition.output_tail
    );
    let of = |name: &str| pitot_record::metric::find(name).unwrap().of(repetition);
    assert_eq!((of("throughput"), of("files-time"), of("write-time")), (Some(100.0), Some(0.1), Some(0.05)));
    assert!(repetition.samples.iter().any(|s| s.server.is_some()));
    assert_eq!(run.cells[0].server_command, "");
    assert!(run.cells[1].load_command.contains("disk files --sizes 8KiB"));
}

#[test]
fn a_helper_of_the_load_is_started_named_and_stopped() {
    let bed = Bed::new();
    let text = plan("server = [\"good\"]\nload.connections = [1]")
        + "[helpers.names]\nprotocol = \"busy\"\nmodel = \"MODEL\"\n";
    let run = bed.run(&text.replace("MODEL", "good"));
    let repetition = only(&run);
    assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{:?}", repetition.verdict);
    assert!(run.cells[0].load_command.contains("serve busy --listen 127.0.0.1:18081 --model good &"));
    let bed = Bed::new();
    let run = bed.run(&text.replace("MODEL", "refuse"));
    let failed = only(&run);
    assert!(
        failed.verdict.reason.starts_with("the helper `names` ended with exit code 2"),
        "{:?}",
        failed.verdict
    );
    assert!(failed.output_tail.contains("names:\nno such root"), "{}", failed.output_tail);
}

/// Counts what is measured.
fn count(finished: &Counter<usize>, event: &Event<'_>) {
    finished.set(finished.get() + usize::from(matches!(event, Event::Measured { .. })));
}

#[test]
fn a_run_records_every_repetition_whatever_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.pitot");
    let text = plan(&format!("server = [\"good\"]\nreplicate = {:?}", (0..5).collect::<Vec<_>>()));
    let finished = Counter::new(0);
    let stop = || finished.get() == 3;
    let mut fake = fake::Fake::new();
    fake.server.stops = Some(executor::Ending::Code(1));
    let outcome = run(on(&fake, ready(&text), &path, &stop), &mut |event| count(&finished, event)).unwrap();
    assert_eq!((outcome.state, outcome.failed), (RunState::Interrupted, 3));
    let run = Run::open(&path).unwrap();
    assert_eq!(run.cells.iter().map(|c| c.repetitions.len()).sum::<usize>(), 3);
    assert!(run.host_after.is_some());
    assert_eq!(fake.calls().iter().filter(|c| *c == "finish").count(), 4, "the one that was interrupted too");
}

#[test]
fn a_stopped_run_keeps_what_it_has_and_is_resumed_in_the_same_order() {
    let bed = Bed::new();
    let text = plan("server = [\"good\"]\nreplicate = [1, 2]")
        .replace("repetitions = 1", "repetitions = 2\nseed = 5");
    let finished = Counter::new(0);
    let work = Work::New { prepared: Box::new(ready(&text)), output: &bed.file() };
    let outcome = bed.carry_out(work, &|| finished.get() == 1, &mut |event| count(&finished, event));
    assert_eq!(outcome.state, RunState::Interrupted);
    let run = Run::open(&bed.file()).unwrap();
    assert_eq!(run.info.state, RunState::Interrupted);
    assert_eq!(run.cells.iter().map(|c| c.repetitions.len()).sum::<usize>(), 1);

    let mut order = Vec::new();
    let mut note = |event: &Event<'_>| {
        if let Event::Measured { step, repetitions: [(_, repetition)] } = event {
            order.push((repetition.position, repetition.block, step.label.to_owned()));
        }
    };
    let catalog = catalog();
    let work = Work::Resume { path: &bed.file(), catalog: &catalog };
    let outcome = bed.carry_out(work, &|| false, &mut note);
    assert_eq!(outcome.state, RunState::Complete);
    let run = Run::open(&bed.file()).unwrap();
    assert!(run.is_complete());
    let turns = schedule(&[1, 2], 2, pitot_plan::Order::Interleaved, 5);
    let expected: Vec<_> = (0u32..)
        .zip(&turns)
        .skip(1)
        .map(|(position, t)| (position, t.block, format!("good, {}", t.cell + 1)))
        .collect();
    assert_eq!(order, expected);
}

#[test]
fn a_plan_of_which_nothing_can_run_is_refused() {
    let text = plan("server = [\"good+uring\"]");
    let error = prepare(parse(&text), text, &catalog(), Where::Here).unwrap_err();
    assert!(error.to_string().contains("io_uring is switched off"), "{error}");
}

#[test]
fn the_estimate_counts_every_repetition_and_its_overhead() {
    let text =
        plan("server = [\"good\"]\nreplicate = [1, 2, 3]").replace("repetitions = 1", "repetitions = 10");
    let prepared = ready(&text);
    assert!((prepared.estimate_s() - 30.0 * (0.2 + OVERHEAD_S)).abs() < 1e-9);
}

#[test]
fn slices_with_many_connections_are_expected_to_take_longer() {
    let estimate_s = |connections: u64| {
        let text = format!(
            "measure = \"slices\"\ngenerations = 10\nslices = 4\n[server]\nprotocol = \"busy\"\n[load]\n\
             connections = {connections}\n[factors]\nserver = [\"good\"]\n"
        );
        ready(&text).estimate_s()
    };
    // A generation has four slices, and one that does not count before each of the two rounds.
    let longer_s = 6.0 * (3.0 * 4000.0 / 40e3 - 0.045) + 3000.0 * 40e-6;
    let (few_s, many_s) = (estimate_s(100), estimate_s(4000));
    assert!((many_s - few_s - 10.0 * longer_s).abs() < 1e-6, "{few_s} {many_s}");
}

#[test]
fn fresh_runs_are_fitted_to_a_time_and_end_with_it() {
    let text = plan("server = [\"good\", \"mute\"]");
    let prepared = || ready(&text);
    let mut fitted = prepared();
    fitted.fit(60.0).unwrap();
    let takes_s = fitted.estimate_s();
    assert!(takes_s <= 60.0 && takes_s > 50.0, "{takes_s}: {}", fitted.plan.repetitions);
    let short = prepared().fit(3.0).unwrap_err();
    let least_s = prepared().least_s().ceil();
    assert!(
        short.what.starts_with("3 s are too short: 6 repetitions of 2 cells in fresh runs"),
        "{}",
        short.what
    );
    assert!(short.fix.contains(&format!("allow at least {least_s:.0} s")), "{}", short.fix);
    prepared().fit(least_s).unwrap();

    // A machine that is slower than foreseen: the run ends with the block that is under way.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.pitot");
    let mut late = prepared();
    late.plan.repetitions = 5;
    late.within_s = Some(0.0);
    let fake = fake::Fake::new();
    let outcome = run(on(&fake, late, &path, &|| false), &mut |_| {}).unwrap();
    assert_eq!(outcome.state, RunState::Complete);
    let run = Run::open(&path).unwrap();
    assert!(run.is_complete() && run.plan.repetitions == 1);
    assert!(run.cells.iter().all(|cell| cell.repetitions.len() == 1));
    let warning = run.info.warnings.last().unwrap();
    assert!(
        warning.contains("Only 1 repetition fitted into") && warning.contains("6 repetitions take"),
        "{warning}"
    );
}
