//! Soaks that are killed and resumed, with servers that die, and against one that was running already.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use pitot_soak::Soak;
use pitot_soak::record::{Event, EventKind, State};

use super::{PITOT, Running, children, said, signal, soak, until};

/// The soak once this many intervals are saved.
fn with_intervals(path: &Path, count: usize) -> Soak {
    until("intervals are saved", || Soak::open(path).ok().filter(|soak| soak.intervals.len() >= count))
}

fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('Z'))
}

/// What happened to servers and to the soak. What kernel, clock and other processes of the machine do meanwhile is nobody's here.
fn events(soak: &Soak) -> Vec<&Event> {
    let of_the_machine = [EventKind::Kernel, EventKind::ClockStep, EventKind::Neighbours];
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
    let mut lab =
        Running(soak(dir.path(), &arguments).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    with_intervals(&path, 4);
    let mut started = children(lab.0.id(), "serve");
    started.extend(children(lab.0.id(), "load"));
    assert_eq!(started.len(), 3);
    lab.0.kill().unwrap();
    lab.0.wait().unwrap();
    until("all of it has ended", || started.iter().all(|pid| is_gone(*pid)).then_some(()));
    let killed = Soak::open(&path).unwrap();
    assert_eq!(killed.state, State::Running);
    assert_eq!(completed(&killed).0, completed(&killed).1);

    // From another directory than the one in which it was begun.
    let elsewhere = dir.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let mut lab = Running(soak(&elsewhere, &["--resume", "../a.pitot"]).spawn().unwrap());
    with_intervals(&path, killed.intervals.len() + 4);
    signal(lab.0.id(), "-INT");
    assert_eq!(lab.0.wait().unwrap().code(), Some(1));
    let whole = Soak::open(&path).unwrap();
    assert_eq!(whole.state, State::Stopped);
    // Nobody died.
    let all = events(&whole);
    assert!(matches!(all[..], [gap] if gap.kind == EventKind::Gap), "{all:?}");
    assert_eq!(all[0].at_s, killed.reached_s());
    // Nothing that was saved is lost, and nothing is counted twice.
    assert!(killed.intervals.iter().all(|interval| whole.intervals.contains(interval)));
    assert_eq!(completed(&whole).0, completed(&whole).1);
    assert_eq!(whole.loads.iter().map(|load| load.totals.errors).sum::<u64>(), 0);
    assert!(whole.samples.iter().any(|sample| sample.figure == "memory-rss" && sample.mean > 0.0));
    for format in ["terminal", "json", "html"] {
        let arguments = ["report", "a.pitot", "--format", format, "-o", "-"];
        let report = Command::new(PITOT).args(arguments).current_dir(dir.path()).output().unwrap();
        assert!(report.status.success() && said(&report).contains("loop+epoll-et"), "{}", said(&report));
    }
    let csv =
        Command::new(PITOT).args(["report", "a.pitot", "--format", "csv"]).current_dir(dir.path()).output();
    assert_eq!(csv.unwrap().status.code(), Some(2));
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
    let mut lab = Running(soak(dir, &arguments).spawn().unwrap());
    let path = dir.join("a.pitot");
    with_intervals(&path, 2);
    signal(children(lab.0.id(), "serve")[0], "-9");
    let mut output = Output { status: lab.0.wait().unwrap(), stdout: Vec::new(), stderr: Vec::new() };
    std::io::Read::read_to_end(lab.0.stderr.as_mut().unwrap(), &mut output.stderr).unwrap();
    (output, Soak::open(&path).unwrap())
}

#[test]
fn a_server_that_dies_is_started_again_and_counted_if_that_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let (output, soak) = with_a_killed_server(dir.path(), &["--restart"]);
    assert!(output.status.success(), "{}", said(&output));
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
}

#[test]
fn without_that_the_soak_ends_with_its_server_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let (output, soak) = with_a_killed_server(dir.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("loop+epoll-et ended"), "{}", said(&output));
    assert_eq!((soak.state, events(&soak)[0].kind), (State::Stopped, EventKind::ServerEnded));
}

#[test]
fn a_server_that_is_running_is_loaded_and_watched_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["serve", "http", "--listen", "127.0.0.1:0", "--model", "prefork", "--workers", "2"];
    let mut server = Running(Command::new(PITOT).args(arguments).stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let url = format!("http://{}/", line.trim().strip_prefix("ready ").unwrap());
    let pid = server.0.id().to_string();
    let arguments = [&url, "--pid", &pid, "--for", "2s", "-c", "2", "--interval", "1s", "-o", "a.pitot"];
    let output = soak(dir.path(), &arguments).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let soak_ = Soak::open(&dir.path().join("a.pitot")).unwrap();
    let last =
        |figure: &str| soak_.samples.iter().rfind(|s| s.subject == 1 && s.figure == figure).map(|s| s.mean);
    assert_eq!(last("processes"), Some(3.0));
    assert_eq!(last("sockets-established"), Some(2.0));
    assert!(last("descriptors").is_some_and(|count| count > 3.0) && last("cpu-per-request").is_some());
    assert!(!is_gone(server.0.id()));
    let status =
        Command::new(PITOT).args(["soak", "status", "a.pitot"]).current_dir(dir.path()).output().unwrap();
    assert!(
        status.status.success() && said(&status).contains(" of 2 s under load, complete"),
        "{}",
        said(&status)
    );
}

#[test]
fn mistakes_are_told_with_their_cure() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("text"), "no soak").unwrap();
    let file: PathBuf = dir.path().join("text");
    for (arguments, part) in [
        (vec!["--server", "loop+epoll-et"], "--for 24h"),
        (vec!["--server", "loop+epoll-et", "--for", "5"], "--for"),
        (vec!["nothing.toml", "--for", "5s"], "nothing.toml"),
        (vec!["quick", "--for", "5s"], "at the same time"),
        (vec!["--server", "loop+epoll-et", "--pid", "1", "--for", "5s"], "is running"),
        (vec!["http://127.0.0.1:1/", "--url", "http://x/", "--for", "5s"], "two URLs"),
        (vec!["http://127.0.0.1:1/", "--load", "-c '2", "--for", "5s"], "is not closed"),
        (vec!["http://127.0.0.1:1/", "--fault", "stop", "--for", "5s"], "is running"),
        (
            vec!["--server", "loop+epoll-et", "--fault", "stpo", "--for", "5s"],
            "--fault 'stpo': `stpo` is not a fault",
        ),
        (vec!["--server", "loop+epoll-et", "--fault", "stop now", "--for", "5s"], "`now` is no option"),
        (vec!["--resume", "text"], "not the file of a soak"),
        (vec!["status", "text"], "not the file of a soak"),
        (vec!["http://127.0.0.1:1/", "--for", "5s", "-o", "text"], "there is a file"),
    ] {
        let output = soak(dir.path(), &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(part), "{arguments:?}: {}", said(&output));
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "no soak");
}
