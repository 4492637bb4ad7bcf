//! Soaks that are killed and resumed, with servers that die, and against one that was running already.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

use pitot_needs::needs;
use pitot_record::Soak;
use pitot_record::soak::{Endings, Event, EventKind, State};
use pitot_sys::control_group;
use rustix::process::Signal;
use serde_json::Value;

use super::{children, silent, soak};
use crate::support::{PITOT, Running, signal, text, until_some};

/// The soak once this many intervals are saved.
fn with_intervals(path: &Path, count: usize) -> Soak {
    until_some("intervals are saved", || Soak::open(path).ok().filter(|soak| soak.intervals.len() >= count))
}

fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('Z'))
}

/// What happened to servers and to the soak. What kernel, clock and other processes of the machine do meanwhile is nobody's here.
fn events(soak: &Soak) -> Vec<&Event> {
    let of_the_machine = [
        EventKind::Kernel,
        EventKind::KernelUnreadable,
        EventKind::Throttled,
        EventKind::ClockStep,
        EventKind::Neighbours,
    ];
    soak.events.iter().filter(|event| !of_the_machine.contains(&event.kind)).collect()
}

fn completed(soak: &Soak) -> (u64, u64) {
    let counted = soak.loads.iter().map(|load| load.totals.completed).sum();
    (counted, soak.intervals.iter().map(|interval| interval.completed).sum())
}

#[test]
fn a_killed_soak_goes_on_and_the_time_between_is_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    let arguments = [
        "--server",
        "loop+epoll-et",
        "--url",
        "http://{address}/",
        "-R",
        "100",
        "--load",
        "-c 2 -R 20",
        "--for",
        "1h",
        "--interval",
        "1s",
        "-o",
        "a.pitot",
    ];
    let mut lab = silent(soak(dir.path(), &arguments));
    with_intervals(&path, 4);
    let mut started = children(lab.id(), "serve");
    started.extend(children(lab.id(), "load"));
    assert_eq!(started.len(), 3);
    let status = || {
        let output = soak(dir.path(), &["status", "a.pitot"]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        // Wherever its lines end.
        text(&output).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let shown = status();
    assert!(shown.contains("under load, running,") && shown.contains(" left"), "{shown}");
    assert!(shown.contains("a second, p50") && shown.contains("no error"), "{shown}");
    // Nobody else may write it meanwhile, and nothing is started.
    let second = soak(dir.path(), &["--resume", "a.pitot"]).output().unwrap();
    assert_eq!(second.status.code(), Some(2), "{}", text(&second));
    assert!(text(&second).contains("is running"), "{}", text(&second));
    lab.kill();
    assert!(status().contains("under load, killed"), "{}", status());
    until_some("all of it has ended", || started.iter().all(|pid| is_gone(*pid)).then_some(()));
    let killed = Soak::open(&path).unwrap();
    assert_eq!(killed.state, State::Running);
    assert_eq!(completed(&killed).0, completed(&killed).1);

    // From another directory than the one in which it was begun.
    let elsewhere = dir.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let asked_s = UNIX_EPOCH.elapsed().unwrap().as_secs_f64() - killed.info.started_unix_s;
    let again = ["--resume", "../a.pitot", "--events", "told.jsonl"];
    let mut lab = Running::start(&mut soak(&elsewhere, &again));
    with_intervals(&path, killed.intervals.len() + 4);
    signal(lab.id(), Signal::INT);
    assert_eq!(lab.wait().unwrap().code(), Some(1));
    let whole = Soak::open(&path).unwrap();
    assert_eq!(whole.state, State::Stopped);
    follows(&elsewhere.join("told.jsonl"), &killed, &whole);
    // Nobody died.
    let all = events(&whole);
    assert!(matches!(all[..], [gap] if gap.kind == EventKind::Gap), "{all:?}");
    assert_eq!(all[0].at_s, killed.reached_s());
    // It ends when the soak goes on, by the clock of the wall: not before that was asked for, and not after what came then.
    let back_s = all[0].until_s.unwrap();
    assert!(back_s >= asked_s, "{all:?}, asked for at {asked_s} s");
    let first = whole.intervals.iter().filter(|interval| !killed.intervals.contains(interval));
    let first_s = first.map(|interval| interval.start_s).fold(f64::MAX, f64::min);
    assert!(back_s <= first_s + 1e-6, "{all:?} {first_s}");
    // Nothing that was saved is lost, and nothing is counted twice.
    assert!(killed.intervals.iter().all(|interval| whole.intervals.contains(interval)));
    assert_eq!(completed(&whole).0, completed(&whole).1);
    assert_eq!(whole.loads.iter().map(|load| load.totals.errors).sum::<u64>(), 0);
    for (subject, figure) in [(1, "memory-rss"), (1, "server-cpu"), (0, "memory-lab"), (0, "memory-loads")] {
        let is_it =
            |sample: &&pitot_record::soak::Reading| sample.subject == subject && sample.metric == figure;
        assert!(whole.readings.iter().filter(is_it).any(|sample| sample.mean > 0.0), "{figure}");
    }
    for format in ["terminal", "json", "html"] {
        let arguments = ["report", "a.pitot", "--format", format, "-o", "-"];
        let report = Command::new(PITOT).args(arguments).current_dir(dir.path()).output().unwrap();
        assert!(report.status.success() && text(&report).contains("loop+epoll-et"), "{}", text(&report));
    }
    let csv =
        Command::new(PITOT).args(["report", "a.pitot", "--format", "csv"]).current_dir(dir.path()).output();
    assert_eq!(csv.unwrap().status.code(), Some(2));
}

/// Checks that the events of a resumed soak have all that its file has from then on.
fn follows(told: &Path, killed: &Soak, whole: &Soak) {
    let told = std::fs::read_to_string(told).unwrap();
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [started, recorded @ .., finished] = &told[..] else { panic!("{told:?}") };
    assert_eq!((&started["event"], &started["schema"]), (&"started".into(), &"pitot-events/1".into()));
    assert_eq!(started["run"], whole.id.as_str());
    let servers = started["servers"].as_array().unwrap();
    let loads: usize = servers.iter().map(|server| server["loads"].as_array().unwrap().len()).sum();
    assert_eq!((servers.len(), loads), (whole.subjects.len(), whole.loads.len()));
    assert_eq!((&finished["event"], &finished["state"]), (&"finished".into(), &"interrupted".into()));
    assert!(recorded.iter().all(|event| event["event"] == "recorded"), "{recorded:?}");
    let lists =
        |name: &str| recorded.iter().filter_map(|event| event[name].as_array()).flatten().collect::<Vec<_>>();
    let intervals = lists("intervals");
    assert_eq!(intervals.len(), whole.intervals.len() - killed.intervals.len());
    let answered: u64 = intervals.iter().map(|interval| interval["completed"].as_u64().unwrap()).sum();
    assert_eq!(answered, completed(whole).0 - completed(killed).0);
    assert_eq!(lists("readings").len(), whole.readings.len() - killed.readings.len());
}

/// A soak whose server is killed after two intervals, and its end.
fn with_a_killed_server(dir: &Path, more: &[&str]) -> (Output, Soak) {
    let mut arguments = vec![
        "--server",
        "loop+epoll-et",
        "--url",
        "http://{address}/",
        "-R",
        "50",
        "-c",
        "2",
        "--for",
        "8s",
        "--interval",
        "1s",
        "-o",
        "a.pitot",
    ];
    arguments.extend(more);
    let mut lab = Running::start(&mut soak(dir, &arguments));
    let path = dir.join("a.pitot");
    with_intervals(&path, 2);
    signal(children(lab.id(), "serve")[0], Signal::KILL);
    let mut output = Output { status: lab.wait().unwrap(), stdout: Vec::new(), stderr: Vec::new() };
    std::io::Read::read_to_end(lab.stderr.as_mut().unwrap(), &mut output.stderr).unwrap();
    (output, Soak::open(&path).unwrap())
}

#[test]
fn a_server_that_dies_is_started_again_and_counted_if_that_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let (output, soak) = with_a_killed_server(dir.path(), &["--restart"]);
    assert!(output.status.success(), "{}", text(&output));
    let all = events(&soak);
    let kinds: Vec<_> = all.iter().map(|event| event.kind).collect();
    assert!(kinds.starts_with(&[EventKind::ServerEnded, EventKind::ServerRestarted]), "{all:?}");
    let restarted_s = all[1].at_s;
    let after: u64 =
        soak.intervals.iter().filter(|i| i.start_s >= restarted_s).map(|interval| interval.completed).sum();
    assert!(after > 0, "{:?}", soak.intervals);
    let totals = &soak.loads[0].totals;
    assert_eq!(totals.kinds.iter().map(|kind| kind.count).sum::<u64>(), totals.errors, "{totals:?}");
    assert_eq!(completed(&soak).0, completed(&soak).1);
    assert_eq!(soak.subjects[0].endings, Endings { deaths: 1, restarts: 1 });
    let status = super::soak(dir.path(), &["status", "a.pitot"]).output().unwrap();
    assert!(text(&status).contains("exited unexpectedly 1 time, restarted 1 time"), "{}", text(&status));
}

#[test]
fn the_process_of_a_running_server_may_end_and_the_load_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    let (_server, address) = super::server::start("nothing");
    // Its process is another one, which a supervisor would start again.
    let mut process = Running::start(Command::new("sleep").arg("600"));
    let (url, pid) = (format!("http://{address}/"), process.id().to_string());
    let arguments =
        [&url, "--pid", &pid, "--for", "1h", "-c", "2", "-R", "50", "--interval", "1s", "-o", "a.pitot"];
    let mut lab = Running::start(soak(dir.path(), &arguments).stdout(Stdio::null()).stderr(Stdio::null()));
    with_intervals(&path, 2);
    process.kill();
    // Nobody has waited for it: it is still in the table of processes.
    let ended = |soak: &Soak| soak.events.iter().find(|e| e.kind == EventKind::ServerEnded).cloned();
    let ended = until_some("its end is recorded", || ended(&Soak::open(&path).ok()?));
    assert!(ended.sentence.contains("has ended; the load continues"), "{ended:?}");
    let after = |soak: &Soak| {
        soak.intervals
            .iter()
            .filter(|i| i.start_s > ended.at_s)
            .map(|interval| interval.completed)
            .sum::<u64>()
    };
    until_some("replies come after it", || (after(&Soak::open(&path).ok()?) > 0).then_some(()));
    signal(lab.id(), Signal::INT);
    assert_eq!(lab.wait().unwrap().code(), Some(1));
    let soak_ = Soak::open(&path).unwrap();
    assert_eq!((soak_.subjects[0].endings.deaths, events(&soak_).len()), (1, 1), "{:?}", soak_.events);

    // With --resume another process may be named; nothing else may be.
    let resumed = soak(dir.path(), &["--resume", "a.pitot"]).output().unwrap();
    assert_eq!(resumed.status.code(), Some(2), "{}", text(&resumed));
    assert!(text(&resumed).contains("no such process"), "{}", text(&resumed));
    for option in [["--fault", "kill"], ["--interval", "2s"], ["--for", "2h"]] {
        let refused = soak(dir.path(), &[&["--resume", "a.pitot"][..], &option].concat()).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
        assert!(text(&refused).contains("cannot be given with --resume"), "{}", text(&refused));
    }
    let own = std::process::id().to_string();
    let mut lab = Running::start(&mut soak(dir.path(), &["--resume", "a.pitot", "--pid", &own]));
    with_intervals(&path, soak_.intervals.len() + 2);
    signal(lab.id(), Signal::INT);
    assert_eq!(lab.wait().unwrap().code(), Some(1));
}

/// A control group of a test, with what it leaves of it.
pub(super) struct Group(PathBuf);

impl Group {
    pub(super) fn new() -> Group {
        let read = |path: &str| std::fs::read_to_string(path).unwrap();
        let (mounts, own) = (read("/proc/self/mountinfo"), read("/proc/self/cgroup"));
        static GROUPS: AtomicUsize = AtomicUsize::new(0);
        let number = GROUPS.fetch_add(1, Ordering::Relaxed);
        let name = format!("pitot-test-unit-{}-{number}", std::process::id());
        let parents = [None, Some("cpuacct")].into_iter();
        let mut parents = parents.filter_map(|kind| control_group::of_process(&mounts, &own, kind));
        let made = parents.find_map(|dir| {
            let dir = dir.join(&name);
            std::fs::create_dir(&dir).is_ok().then_some(dir)
        });
        Group(made.expect("a control group"))
    }

    pub(super) fn dir(&self) -> &str {
        self.0.to_str().unwrap()
    }

    pub(super) fn enter(&self, process: &Running) {
        std::fs::write(self.0.join("cgroup.procs"), process.id().to_string()).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[needs("control-groups")]
#[test]
fn the_processes_of_a_unit_are_watched_and_found_again_when_somebody_starts_it_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    let (_server, address) = super::server::start("nothing");
    let (group, url) = (Group::new(), format!("http://{address}/"));
    let sleeper = || Running::start(Command::new("sleep").arg("600"));
    let start = |unit: &str| {
        let rest = ["--for", "1h", "-c", "2", "-R", "50", "--interval", "1s", "-o", "a.pitot"];
        soak(dir.path(), &[&[&url, "--unit", unit][..], &rest].concat())
    };
    for (unit, why) in [
        ("no-such-unit", "no such control group"),
        ("/tmp", "no such control group"),
        (group.0.to_str().unwrap(), "it has no process"),
    ] {
        let refused = start(unit).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
        assert!(text(&refused).contains(why), "{}", text(&refused));
    }
    // None is a child of another, as of a container.
    let (mut first, second) = (sleeper(), sleeper());
    group.enter(&first);
    group.enter(&second);
    let mut lab =
        Running::start(start(group.0.to_str().unwrap()).stdout(Stdio::null()).stderr(Stdio::null()));
    with_intervals(&path, 2);
    let processes = |soak: &Soak| soak.readings.iter().rfind(|s| s.metric == "processes").map(|s| s.mean);
    assert_eq!(processes(&Soak::open(&path).unwrap()), Some(2.0));
    drop(second);
    first.kill();
    let told = |kind| move |soak: &Soak| soak.events.iter().find(|e| e.kind == kind).cloned();
    until_some("its end is recorded", || told(EventKind::ServerEnded)(&Soak::open(&path).ok()?));
    let again = sleeper();
    group.enter(&again);
    let restarted = until_some("its new start is recorded", || {
        told(EventKind::ServerRestarted)(&Soak::open(&path).ok()?)
    });
    let sentence = format!("was restarted, as process {}", again.id());
    assert!(restarted.sentence.contains(&sentence), "{restarted:?}");
    signal(lab.id(), Signal::INT);
    assert_eq!(lab.wait().unwrap().code(), Some(1));
    let soak = Soak::open(&path).unwrap();
    assert_eq!(soak.subjects[0].endings, Endings { deaths: 1, restarts: 1 }, "{:?}", soak.events);
    drop(again);
}

#[test]
fn a_server_that_goes_away_is_loaded_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (mut server, address) = super::server::start("nothing");
    let url = format!("http://{address}/");
    let arguments = [&url, "--for", "10s", "-c", "2", "-R", "50", "--interval", "1s", "-o", "a.pitot"];
    let lab = soak(dir.path(), &arguments).spawn().unwrap();
    with_intervals(&dir.path().join("a.pitot"), 2);
    server.kill();
    let output = lab.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let soak = Soak::open(&dir.path().join("a.pitot")).unwrap();
    let kinds = &soak.loads[0].totals.kinds;
    assert!(kinds.iter().any(|kind| kind.kind == "ECONNREFUSED" && kind.count > 0), "{kinds:?}");
    let all = events(&soak);
    assert!(matches!(all[..], [hang] if hang.kind == EventKind::HangNoReplies), "{all:?}");
}

#[test]
fn without_that_the_soak_ends_with_its_server_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let (output, soak) = with_a_killed_server(dir.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("loop+epoll-et ended"), "{}", text(&output));
    assert_eq!((soak.state, events(&soak)[0].kind), (State::Stopped, EventKind::ServerEnded));
}

#[test]
fn a_server_that_is_running_is_loaded_and_watched_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["serve", "http", "--listen", "127.0.0.1:0", "--model", "prefork", "--workers", "2"];
    let mut server = Running::start(Command::new(PITOT).args(arguments).stdout(Stdio::piped()));
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let url = format!("http://{}/", line.trim().strip_prefix("ready ").unwrap());
    let pid = server.id().to_string();
    let arguments = [&url, "--pid", &pid, "--for", "2s", "-c", "2", "--interval", "1s", "-o", "a.pitot"];
    let output = soak(dir.path(), &arguments).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let soak_ = Soak::open(&dir.path().join("a.pitot")).unwrap();
    let last =
        |figure: &str| soak_.readings.iter().rfind(|s| s.subject == 1 && s.metric == figure).map(|s| s.mean);
    assert_eq!(last("processes"), Some(3.0));
    assert_eq!(last("sockets-established"), Some(2.0));
    assert!(last("descriptors").is_some_and(|count| count > 3.0) && last("cpu-per-request").is_some());
    assert!(!is_gone(server.id()));
    let status =
        Command::new(PITOT).args(["soak", "status", "a.pitot"]).current_dir(dir.path()).output().unwrap();
    assert!(
        status.status.success() && text(&status).contains(" of 2 s under load, complete"),
        "{}",
        text(&status)
    );
}

#[test]
fn the_processes_of_another_server_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let (server, address) = super::server::start("nothing");
    let (other, other_address) = super::server::start("nothing");
    let url = format!("http://{address}/");
    let said_of = |server: &Running, file: &str| {
        let pid = server.id().to_string();
        let output = soak(dir.path(), &[&url, "--pid", &pid, "--for", "1s", "-c", "1", "-o", file]).output();
        text(&output.unwrap())
    };
    let wrong = said_of(&other, "a.pitot");
    assert!(wrong.contains(&format!("listens at {other_address}, and not at the port ")), "{wrong}");
    let right = said_of(&server, "b.pitot");
    assert!(!right.contains("and not at the port"), "{right}");
}

#[test]
fn mistakes_are_told_with_their_fix() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("text"), "no soak").unwrap();
    let file: PathBuf = dir.path().join("text");
    let mistakes: &[&[&str]] = &[
        &["--server", "loop+epoll-et"],
        &["--server", "loop+epoll-et", "--for", "5"],
        &["nothing.toml", "--for", "5s"],
        &["--server", "loop+epoll-et", "--pid", "1", "--for", "5s"],
        &["--server", "loop+epoll-et", "--unit", "nginx", "--for", "5s"],
        &["http://127.0.0.1:1/", "--url", "http://x/", "--for", "5s"],
        &["http://127.0.0.1:1/", "--load", "-c '2", "--for", "5s"],
        &["--server", "loop+epoll-et", "--fault", "stpo", "--for", "5s"],
        &["--server", "loop+epoll-et", "--fault", "stop now", "--for", "5s"],
        &["http://127.0.0.1:1/", "--pid", "99999999", "--for", "5s"],
        &["http://127.0.0.1:1/", "--load", "--no-such 1", "--for", "5s"],
        &["http://127.0.0.1:1/", "--load", "-n 5 -d 1s", "--for", "5s"],
        &["http://127.0.0.1:1/", "-R", "abc", "--for", "5s"],
        &["--server", "loop", "-R", "abc", "--for", "5s"],
        &["http://127.0.0.1:port/", "--for", "5s"],
        &["--server", "loop", "--load", "http://{adress}/ -c 2", "--for", "5s"],
        &["http://127.0.0.1:1/", "--interval", "500ms", "--for", "5s"],
        &["http://127.0.0.1:1/", "--seed", "3", "--for", "5s"],
        &["--resume", "text"],
        &["status", "text"],
        &["http://127.0.0.1:1/", "--for", "5s", "-o", "text"],
    ];
    let told = |arguments: &[&str]| {
        let output = soak(dir.path(), arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output));
        text(&output).replace(dir.path().to_str().unwrap(), "DIR")
    };
    let all: Vec<String> = mistakes.iter().map(|arguments| told(arguments)).collect();
    insta::assert_snapshot!("mistakes", all.join("\n"));
    // How many cells it has depends on the kernel.
    let many = told(&["quick", "--for", "5s"]);
    assert!(many.contains("at the same time"), "{many}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "no soak");
    let names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().flatten().map(|e| e.file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().ends_with(".pitot")), "{names:?}");
}
