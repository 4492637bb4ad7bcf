//! `pitot run` in slices with the real program: what it records, what it leaves behind, and what it does when a server, the
//! load generator or the lab itself dies in the middle of a generation.

use std::io::{BufRead, BufReader, Lines};
use std::path::PathBuf;
use std::process::{ChildStderr, Command, Stdio};
use std::time::Duration;

use pitot_needs::needs;
use pitot_plan::Measure;
use pitot_record::{CellRecord, Repetition, Run, RunState};
use pitot_results::VerdictKind;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Bed, PITOT, Running, signal, text, until};

impl Bed {
    /// Starts the plan.
    fn start(&self) -> Lab {
        let mut command = self.command(&["plan.toml", "-o", "run.pitot"]);
        let mut child = Running::start(command.stderr(Stdio::piped()).stdout(Stdio::null()));
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Lab { child, lines, seen: String::new() }
    }

    /// Runs the plan to its end.
    fn run(&self) -> (Option<i32>, String) {
        let mut lab = self.start();
        let code = lab.code();
        self.assert_nothing_is_left(lab.child.id());
        (code, std::mem::take(&mut lab.seen))
    }

    fn resume(&self) -> Run {
        let output = self.command(&["--resume", "run.pitot"]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let run = self.open();
        assert_eq!(run.info.state, RunState::Complete);
        assert!(run.is_complete());
        run
    }

    /// Processes of the run with this word among the arguments of their command line.
    fn processes(&self, word: &str) -> Vec<u32> {
        let place = self.dir.path().to_string_lossy().into_owned();
        let read = |pid: u32, file: &str| {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let has = |pid: &u32| {
            (word.is_empty() || read(*pid, "cmdline").split('\0').any(|w| w == word))
                && read(*pid, "environ").contains(&place)
        };
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).filter(has).collect()
    }

    /// Waits until the load generator of a generation is there, and its servers with it.
    fn wait_for_a_generation(&self) {
        until("no generation began", || !self.processes("--hold").is_empty());
    }

    /// No process, no control group and no private directory of the lab with this id.
    fn assert_nothing_is_left(&self, lab: u32) {
        until("processes are left", || self.processes("").is_empty());
        let prefix = format!("pitot-{lab}-");
        until("control groups are left", || groups(&prefix).is_empty());
        let in_dir = || std::fs::read_dir(self.dir.path()).unwrap().flatten().map(|e| e.file_name());
        until("a private directory is left", || {
            in_dir().all(|name| !name.to_string_lossy().starts_with(&prefix))
        });
    }
}

/// A lab at work. It is killed when dropped.
struct Lab {
    child: Running,
    lines: Lines<BufReader<ChildStderr>>,
    /// What it has printed on standard error.
    seen: String,
}

impl Lab {
    /// Reads until a line begins like this.
    fn read_until(&mut self, start: &str) {
        for line in self.lines.by_ref().map_while(Result::ok) {
            self.seen.push_str(&format!("{line}\n"));
            if line.starts_with(start) {
                return;
            }
        }
        panic!("no line begins with {start}:\n{}", self.seen);
    }

    /// Waits for its end.
    fn code(&mut self) -> Option<i32> {
        for line in self.lines.by_ref().map_while(Result::ok) {
            self.seen.push_str(&format!("{line}\n"));
        }
        self.child.ended().code()
    }

    fn kill(mut self) -> u32 {
        self.child.kill();
        self.child.id()
    }
}

/// Control groups of all hierarchies whose names begin with `prefix`.
fn groups(prefix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left: Vec<PathBuf> = mounts_of_groups().into_iter().map(PathBuf::from).collect();
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name().to_string_lossy().starts_with(prefix) {
                    found.push(entry.path());
                }
                left.push(entry.path());
            }
        }
    }
    found
}

/// Where hierarchies of control groups are mounted.
fn mounts_of_groups() -> Vec<String> {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    let point = |line: &str| {
        let mut fields = line.split(' ').skip(1);
        let (point, kind) = (fields.next()?, fields.next()?);
        ["cgroup", "cgroup2"].contains(&kind).then(|| point.to_owned())
    };
    mounts.lines().filter_map(point).collect()
}

/// A plan of so many generations, each of so many slices, with these levels of the factor `server`; `extra` stands at the
/// end.
fn plan(generations: u32, slices: u32, servers: &str, extra: &str) -> String {
    format!(
        "generations = {generations}\nslices = {slices}\nslice = \"20ms\"\nwarmup = \"20ms\"\nseed = 7\n\
         [server]\nprotocol = \"http\"\n[load]\nconnections = 4\n[factors]\nserver = [{servers}]\n{extra}\n"
    )
}

/// How many slices make a generation long enough to be struck in the middle: it takes about a second.
const MANY: u32 = 12;

fn long(generations: u32) -> String {
    plan(generations, MANY, "\"thread\", \"loop+epoll-et\"", "")
}

fn cells(run: &Run) -> impl Iterator<Item = &CellRecord> {
    run.cells.iter().chain(&run.controls)
}

/// The generations that the file has of a cell.
fn generations(cell: &CellRecord) -> Vec<u32> {
    let mut blocks: Vec<u32> = cell.repetitions.iter().map(|r| r.block).collect();
    blocks.sort_unstable();
    blocks
}

/// What was measured without failing has all its slices, each with requests and with CPU time of both sides.
fn assert_whole(repetition: &Repetition, slices: u32) {
    assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{:?}", repetition.verdict);
    assert_eq!(repetition.slices.len(), slices as usize);
    for slice in &repetition.slices {
        assert!(slice.requests > 0 && slice.duration_ns > 10_000_000, "{slice:?}");
        assert!(slice.server_cpu_ns.is_some_and(|ns| ns > 0) && slice.client_cpu_ns > 0, "{slice:?}");
    }
    assert!(repetition.resources.unwrap().server_cpu_s > 0.0);
}

fn failed(cell: &CellRecord) -> Vec<&str> {
    cell.failures().map(|r| r.verdict.reason.as_str()).collect()
}

#[test]
fn all_cells_have_the_same_slices_with_the_cpu_time_of_every_process_and_a_control() {
    let usable = Command::new(PITOT).args(["list", "pairs"]).output().unwrap();
    let uring =
        text(&usable).lines().any(|line| line.split_whitespace().take(3).eq(["loop", "uring", "usable"]));
    let servers = "\"fork\", \"prefork\", \"thread\", \"loop+epoll-et\", \"tokio\"";
    let servers = if uring { format!("{servers}, \"loop+uring\"") } else { servers.to_owned() };
    let bed = Bed::new(&plan(3, 4, &servers, ""));
    let (code, printed) = bed.run();
    assert_eq!(code, Some(0), "{printed}");
    let run = bed.open();
    assert_eq!(run.info.state, RunState::Complete);
    assert!(run.is_complete());
    assert_eq!(run.cells.len(), 5 + usize::from(uring));
    assert_eq!(run.controls.len(), 1, "a copy of the baseline runs too");
    assert_eq!(run.controls[0].control_of, Some(run.cells[0].id));
    for cell in cells(&run) {
        assert_eq!((cell.measure, generations(cell)), (Measure::Slices, vec![0, 1, 2]), "{}", cell.label());
        for repetition in &cell.repetitions {
            assert_whole(repetition, 4);
            let in_round = |round| repetition.slices.iter().filter(|s| s.round == round).count();
            assert_eq!([in_round(0), in_round(1), in_round(2)], [2, 2, 0], "{}", cell.label());
        }
    }
    for generation in 0..3 {
        let of = |cell: &CellRecord| {
            let repetition = cell.repetitions.iter().find(|r| r.block == generation).unwrap();
            repetition.slices.iter().map(|s| (s.round, s.position)).collect::<Vec<_>>()
        };
        let mut places: Vec<_> = cells(&run).flat_map(of).collect();
        places.sort_unstable();
        let arms = run.cells.len() as u32 + 1;
        let all: Vec<_> = (0..2).flat_map(|round| (0..2 * arms).map(move |at| (round, at))).collect();
        assert_eq!(places, all, "each place of a round is taken once");
    }
}

#[test]
fn a_lab_killed_in_a_generation_leaves_nothing_running_and_loses_that_generation_alone() {
    let bed = Bed::new(&long(5));
    let mut lab = bed.start();
    lab.read_until("[2/5]");
    bed.wait_for_a_generation();
    let id = lab.kill();
    bed.assert_nothing_is_left(id);

    let before = bed.open();
    assert_eq!(before.info.state, RunState::Running);
    let kept = generations(&before.cells[0]);
    assert!(kept == [0, 1] || kept == [0, 1, 2], "{kept:?}");
    assert!(cells(&before).all(|cell| generations(cell) == kept), "a generation is in the file as a whole");

    let after = bed.resume();
    for (old, new) in cells(&before).zip(cells(&after)) {
        assert_eq!(generations(new), [0, 1, 2, 3, 4], "{}", new.label());
        for repetition in &old.repetitions {
            let same = new.repetitions.iter().find(|r| r.id == repetition.id).unwrap();
            assert_eq!((same.block, &same.started_at), (repetition.block, &repetition.started_at));
            assert_eq!(same.slices, repetition.slices);
        }
        new.repetitions.iter().for_each(|r| assert_whole(r, MANY));
    }
}

#[test]
fn control_c_in_a_generation_keeps_those_that_are_finished() {
    let bed = Bed::new(&long(6));
    let mut lab = bed.start();
    lab.read_until("[1/6]");
    bed.wait_for_a_generation();
    signal(lab.child.id(), Signal::INT);
    assert_eq!(lab.code(), Some(1), "{}", lab.seen);
    assert!(lab.seen.contains("--resume run.pitot"), "{}", lab.seen);
    bed.assert_nothing_is_left(lab.child.id());
    let before = bed.open();
    assert_eq!(before.info.state, RunState::Interrupted);
    let kept = generations(&before.cells[0]);
    assert!((1..6).contains(&kept.len()), "{kept:?}");
    assert!(cells(&before).all(|cell| generations(cell) == kept));
    assert!(cells(&bed.resume()).all(|cell| generations(cell) == (0..6).collect::<Vec<_>>()));
}

#[test]
fn a_server_that_dies_in_every_generation_fails_alone_and_the_others_are_decided() {
    let slow = "[servers.slow]\nmodel = \"loop\"\nburn = \"50us\"\n";
    let plan = plan(8, 8, "\"loop+epoll-et\", \"thread\", \"slow\"", slow);
    let bed = Bed::new(&format!("metric = \"cpu-per-request\"\n{plan}"));
    let mut lab = bed.start();
    while lab.child.try_wait().unwrap().is_none() {
        if !bed.processes("--hold").is_empty() {
            for pid in bed.processes("thread") {
                // It may have been killed before, and wait to be reaped.
                let _ = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL);
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(lab.code(), Some(1), "{}", lab.seen);
    assert!(lab.seen.contains("1 of 3 cells failed: thread"), "{}", lab.seen);
    bed.assert_nothing_is_left(lab.child.id());
    let run = bed.open();
    assert_eq!(run.info.state, RunState::Complete);
    let thread = &run.cells[1];
    let reasons = failed(thread);
    assert_eq!(reasons.len(), 8);
    for reason in reasons {
        assert!(reason.starts_with("the server ended by signal SIGKILL"), "{reason}");
    }
    for cell in [&run.cells[0], &run.cells[2], &run.controls[0]] {
        assert_eq!(generations(cell), (0..8).collect::<Vec<_>>(), "{}", cell.label());
        cell.repetitions.iter().for_each(|r| assert_whole(r, 8));
    }
    let mut report = Command::new(PITOT);
    report.args(["report", "run.pitot", "--format", "json"]);
    let printed = bed.in_place(report).output().unwrap().stdout;
    let report: serde_json::Value = serde_json::from_slice(&printed).unwrap();
    let standing = |cell: usize| report["cells"][cell]["standing"].as_str().unwrap();
    assert_eq!([standing(0), standing(1), standing(2)], ["best", "unknown", "behind"], "{report:#}");
}

#[test]
fn a_load_generator_that_dies_fails_its_generation_and_the_next_one_works() {
    let bed = Bed::new(&long(4));
    let mut lab = bed.start();
    lab.read_until("[1/4]");
    bed.wait_for_a_generation();
    for pid in bed.processes("--hold") {
        signal(pid, Signal::KILL);
    }
    let code = lab.code();
    bed.assert_nothing_is_left(lab.child.id());
    assert_eq!(code, Some(0), "one generation of four is no cell that failed: {}", lab.seen);
    let run = bed.open();
    assert_eq!(run.info.state, RunState::Complete);
    for cell in cells(&run) {
        assert_eq!(generations(cell), [0, 1, 2, 3]);
        let reasons = failed(cell);
        assert_eq!(reasons.len(), 1, "{reasons:?}");
        assert!(reasons[0].starts_with("the load generator ended by signal SIGKILL"), "{reasons:?}");
        let whole = cell.repetitions.iter().filter(|r| r.verdict.kind != VerdictKind::Failed);
        whole.for_each(|r| assert_whole(r, MANY));
    }
}

/// Cells in fresh runs for the plans below: short ones.
const FRESH: &str = "measure = \"slices\"\nrepetitions = 2\nduration = \"200ms\"\n";

/// The run of a plan of which some cells cannot be measured in slices; the JSON and the report say why.
fn run_with_fresh_cells(plan: &str, is_fresh: impl Fn(&str) -> bool, reason: &str) -> Run {
    let bed = Bed::new(&format!("{FRESH}{plan}"));
    let (code, printed) = bed.run();
    assert_eq!(code, Some(0), "{printed}");
    let run = bed.open();
    assert!(run.is_complete());
    for cell in &run.cells {
        if is_fresh(&cell.label()) {
            assert_eq!(cell.measure, Measure::Fresh);
            assert!(cell.fresh_reason.contains(reason), "{}", cell.fresh_reason);
            assert_eq!(generations(cell), [0, 1]);
            assert!(cell.repetitions.iter().all(|r| r.slices.is_empty() && r.load.is_some()));
        } else {
            assert_eq!(
                (cell.measure, generations(cell)),
                (Measure::Slices, vec![0, 1, 2]),
                "{}",
                cell.label()
            );
        }
    }
    for format in ["json", "md"] {
        let mut report = Command::new(PITOT);
        report.args(["report", "run.pitot", "--format", format]);
        let output = bed.in_place(report).output().unwrap();
        assert!(text(&output).contains(reason), "{}", text(&output));
    }
    run
}

#[test]
fn with_a_server_that_uses_cpu_while_it_is_held_all_beside_it_are_measured_in_fresh_runs() {
    // The shell keeps a CPU busy beside the server, and ends both when it is asked to stop.
    let script = format!(
        "{PITOT} serve http --listen {{address}} & pid=$!; \
         trap 'kill $pid; wait; exit 0' TERM; while :; do :; done"
    );
    let server = format!(
        "[servers.restless]\ncommand = [\"sh\", \"-c\", \"{script}\"]\nurl = \"http://{{address}}/bytes/64\"\n\
         ready = {{ line = \"ready\" }}\n"
    );
    let run = run_with_fresh_cells(
        &plan(3, 4, "\"thread\", \"loop+epoll-et\", \"restless\"", &server),
        |_| true,
        "of a CPU while it is not loaded",
    );
    assert_eq!(run.controls.len(), 1);
}

#[test]
fn a_load_that_cannot_be_held_is_measured_in_fresh_runs() {
    run_with_fresh_cells(
        &plan(3, 4, "\"thread\", \"loop+epoll-et\"", "load.storm = [false, true]\n"),
        |cell| cell.ends_with("true"),
        "its load ends after a number of requests or connections",
    );
    run_with_fresh_cells(
        &plan(3, 4, "\"thread\"", "load.requests-total = [100]\n"),
        |_| true,
        "its load ends after a number of requests or connections",
    );
}

#[test]
fn a_run_whose_baseline_cannot_be_started_is_one_with_a_failed_cell() {
    let gone = "[servers.gone]\ncommand = [\"/no/such/program\", \"{port}\"]\nurl = \"http://{address}/\"";
    let (code, printed) = Bed::new(&plan(2, 4, "\"gone\", \"thread\"", gone)).run();
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("pitot: 1 of 2 cells failed: gone"), "the control is no cell: {printed}");
}

#[test]
fn a_time_that_is_too_short_is_refused_before_anything_runs() {
    let bed = Bed::new(&plan(3, 4, "\"thread\", \"loop+epoll-et\"", ""));
    let output = bed.command(&["plan.toml", "-o", "run.pitot", "--within", "1s"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    let printed = text(&output);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 2, "{printed}");
    assert!(lines[0].contains("1 s are too short"), "{printed}");
    assert!(lines[1].trim_start().starts_with("allow at least"), "{printed}");
    assert!(!bed.file().exists());

    // The time of cells in fresh runs is a part of it.
    let mixed = plan(3, 4, "\"thread\", \"loop+epoll-et\"", "load.storm = [false, true]\n");
    let bed = Bed::new(&format!("{FRESH}{mixed}"));
    let output = bed.command(&["plan.toml", "-o", "run.pitot", "--within", "1s"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    let printed = text(&output);
    assert!(
        printed.contains("1 s are too short") && printed.contains("fresh runs and the smoke test take"),
        "{printed}"
    );
}

#[test]
fn until_decided_is_for_slices_and_ends_in_time() {
    let fresh = "repetitions = 2\nduration = \"200ms\"\n[server]\nprotocol = \"http\"\n\
                 [factors]\nserver = [\"thread\", \"loop+epoll-et\"]\n";
    let bed = Bed::new(fresh);
    let output = bed.command(&["plan.toml", "-o", "run.pitot", "--until-decided"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("measured in fresh runs"), "{}", text(&output));

    // Twins are never different, and the tolerance is so small that they are not alike either.
    let twins = "slices = 4\nslice = \"20ms\"\nwarmup = \"20ms\"\ntolerance = \"0%\"\n\
                 [server]\nprotocol = \"http\"\nmodel = \"thread\"\n[load]\nconnections = 4\n\
                 [factors]\nserver = [\"one\", \"other\"]\n[servers.one]\n[servers.other]\n";
    let bed = Bed::new(twins);
    let output = bed
        .command(&["plan.toml", "-o", "run.pitot", "--until-decided", "--at-most", "5s"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let run = bed.open();
    assert!(run.is_complete());
    // However slow the machine is: the least number of generations, and no other begins after the time is over.
    let starts: Vec<f64> = run.cells[0].repetitions.iter().map(|r| second_of_day(&r.started_at)).collect();
    assert!(starts.len() >= 11, "{starts:?}");
    let after = |start: &f64| (start - starts[0]).rem_euclid(86_400.0);
    assert!(starts[11..].iter().all(|start| after(start) <= 5.0), "{starts:?}");

    // A number on the command line has more to say than a time in the plan.
    let bed = Bed::new(&format!("until-decided = \"10m\"\n{twins}"));
    let output = bed.command(&["plan.toml", "-o", "run.pitot", "--repetitions", "2"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(bed.open().cells.iter().all(|cell| generations(cell) == [0, 1]));
}

/// The time of day of an RFC 3339 moment, in seconds.
fn second_of_day(moment: &str) -> f64 {
    let time = moment.split_once('T').unwrap().1.trim_end_matches('Z');
    time.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().unwrap())
}

#[test]
fn keys_that_contradict_each_other_are_refused_at_their_place() {
    let body = "\n[server]\nprotocol = \"http\"\n[factors]\nserver = [\"thread\"]\n";
    let told = [
        "measure = \"fresh\"\nuntil-decided = \"1m\"",
        "slices = 8\nmeasure = \"fresh\"",
        "measure = \"fresh\"\n  generations = 8",
        "duration = \"1s\"\nslice = \"40ms\"",
        "generations = 9\nuntil-decided = \"1m\"",
    ]
    .map(|head| {
        let bed = Bed::new(&format!("{head}{body}"));
        let said = |arguments: [&str; 2]| {
            let output = bed.command(&arguments).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{head}: {}", text(&output));
            text(&output)
        };
        let said_of_run = said(["plan.toml", "-orun.pitot"]);
        assert_eq!(said(["plan.toml", "--dry-run"]), said_of_run);
        said_of_run
    });
    insta::assert_snapshot!("keys_that_contradict_each_other", told.join("\n"));
}

/// Makes all control groups read-only, says so if that fails, and becomes the program that is named after it.
const WITHOUT_GROUPS: &str = "for mount in $(awk '$3 == \"cgroup\" || $3 == \"cgroup2\" { print $2 }' /proc/mounts); do \
     mount -o remount,bind,ro \"$mount\" && ! mkdir \"$mount/pitot-probe\" 2> /dev/null || exit 77; \
     done; exec \"$0\" \"$@\"";

#[needs("user-namespaces")]
#[test]
fn without_control_groups_the_clocks_of_processes_count() {
    let bed = Bed::new(&plan(3, 4, "\"fork\", \"prefork\", \"loop+epoll-et\"", ""));
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", WITHOUT_GROUPS, PITOT, "run", "plan.toml", "-o", "run.pitot"]);
    let output = bed.in_place(command).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    for cell in cells(&bed.open()) {
        assert_eq!(generations(cell), [0, 1, 2]);
        cell.repetitions.iter().for_each(|r| assert_whole(r, 4));
    }
    until("processes are left", || bed.processes("").is_empty());
}
