//! `pitot load --hold` against `pitot serve`: what the client counts is what the server counts.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use pitot_meter::Histogram;
use pitot_results::hold::{Answer, Opened, Slice};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{PITOT, Running, TIMEOUT, stderr, until};

fn pitot(arguments: &[&str]) -> Command {
    let mut command = Command::new(PITOT);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// `pitot serve`, with what it counted.
struct Server {
    child: Running,
    address: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Server {
        let command = [&["serve"], arguments, &["--stats", "json"]].concat();
        let mut child = Running::start(pitot(&command).stderr(Stdio::inherit()));
        let address = child.ready();
        Server { child, address }
    }

    fn http() -> Server {
        Server::start(&["http"])
    }

    fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    /// CPU time of all its threads, nanoseconds: exact once they sleep.
    fn cpu_ns(&self) -> u64 {
        self.scheduled(0)
    }

    /// The sum over its threads of a field of /proc/PID/task/TID/schedstat.
    fn scheduled(&self, field: usize) -> u64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let of = |path: std::path::PathBuf| -> u64 {
            let text = std::fs::read_to_string(path.join("schedstat")).unwrap_or_default();
            text.split_ascii_whitespace().nth(field).map_or(0, |n| n.parse().unwrap())
        };
        tasks.map(|task| of(task.unwrap().path())).sum()
    }

    /// How often any of its threads was given a CPU.
    fn turns(&self) -> u64 {
        self.scheduled(2)
    }

    /// Whether all its threads sleep.
    fn sleeps(&self) -> bool {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        tasks.flatten().all(|task| {
            let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
        })
    }

    fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }

    /// What it printed at its end.
    fn stop(mut self) -> Value {
        self.child.signal(Signal::TERM);
        let text = self.child.printed();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    }
}

/// `pitot load --hold`.
struct Load {
    child: Running,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Load {
    fn start(arguments: &[&str]) -> Load {
        let command = [&["load", "--hold"], arguments].concat();
        let mut child = Running::start(pitot(&command).stderr(Stdio::inherit()));
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Load { child, input, output }
    }

    fn send(&mut self, command: &str) {
        writeln!(self.input.as_mut().unwrap(), "{command}").unwrap();
    }

    fn answer(&mut self) -> Answer {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"))
    }

    fn obey(&mut self, command: &str) -> Answer {
        self.send(command);
        self.answer()
    }

    fn open(&mut self, command: &str) -> Opened {
        match self.obey(&format!("open {command}")) {
            Answer::Opened(opened) => opened,
            other => panic!("{command}: {other:?}"),
        }
    }

    fn run(&mut self, command: &str) -> Slice {
        match self.obey(&format!("run {command}")) {
            Answer::Slice(slice) => *slice,
            other => panic!("{command}: {other:?}"),
        }
    }

    fn error(&mut self, command: &str) -> String {
        match self.obey(command) {
            Answer::Error(refused) => {
                assert!(!refused.fix.is_empty() && !refused.what.contains('\n'), "{refused:?}");
                refused.what
            }
            other => panic!("{command}: {other:?}"),
        }
    }

    fn quit(mut self) {
        assert_eq!(self.obey("quit"), Answer::Quit);
        assert_eq!(self.child.ended().code(), Some(0));
    }
}

/// The engines that this kernel has.
fn engines() -> Vec<&'static str> {
    let usable = |engine: &&str| {
        let probe = pitot(&["load", "http://127.0.0.1:1/", "--engine", engine, "-n", "1"]).output().unwrap();
        !stderr(&probe).contains("io_uring")
    };
    ["epoll", "uring"].into_iter().filter(usable).collect()
}

#[test]
fn every_engine_pace_and_life_of_connections_counts_what_the_server_counts() {
    let paces = ["", "--think 2ms", "-R 3000", "-R 3000 --pace poisson"];
    let lives = [
        "-c 6",
        "-c 6 -t 3",
        "-c 6 --pipeline 4",
        "-c 6 --requests-per-connection 1",
        "-c 6 -t 2 --requests-per-connection 3",
        "-c 6 --idle 5 --path /a.txt --path /b.txt=3 --expect-status 404",
        "-c 6 --churn 200",
    ];
    for engine in engines() {
        let server = Server::http();
        let mut load = Load::start(&[]);
        let mut groups = Vec::new();
        let (mut requests, mut connections, mut sent) = (0, 0, 0);
        for pace in paces {
            for life in lives.iter().filter(|life| !(pace.contains("think") && life.contains("pipeline"))) {
                let group = format!("'{pace} {life}'");
                let opened = load.open(&format!("{group} {} --engine {engine} {life} {pace}", server.url()));
                assert_eq!(opened.failed, 0, "{group}");
                connections += opened.connections;
                groups.push(group);
            }
        }
        // A machine that stands still for a whole slice begins nothing in it.
        let mut answered = vec![0; groups.len()];
        for _ in 0..4 {
            for (group, answered) in groups.iter().zip(&mut answered) {
                let slice = load.run(&format!("{group} 12ms"));
                assert_eq!(slice.error_count(), 0, "{engine} {slice:?}");
                *answered += slice.requests;
                assert_eq!((slice.requests, slice.failed), (slice.attempted, 0), "{engine} {slice:?}");
                assert_eq!(Histogram::decode(&slice.histogram).unwrap().count(), slice.requests, "{slice:?}");
                assert_eq!(slice.reconnects, 0, "{engine} {slice:?}");
                requests += slice.requests;
                connections += slice.connects;
                sent += slice.bytes_sent;
            }
        }
        assert!(!answered.contains(&0), "{engine} {answered:?}");
        load.quit();
        let stats = server.stop();
        assert_eq!(stats["requests"], requests, "{engine}");
        assert_eq!(stats["connections"]["accepted"], connections, "{engine}");
        assert_eq!(stats["bytes"]["received"], sent, "{engine}");
    }
}

#[test]
fn each_group_runs_on_its_own_cpus() {
    let server = Server::http();
    let mut load = Load::start(&[]);
    let threads = |load: &Load| -> Vec<String> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", load.child.id())).unwrap();
        let allowed = |status: String| -> String {
            let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list:")).unwrap();
            line.split_ascii_whitespace().nth(1).unwrap().to_owned()
        };
        tasks
            .flatten()
            .map(|task| allowed(std::fs::read_to_string(task.path().join("status")).unwrap()))
            .collect()
    };
    let everywhere = threads(&load).remove(0);
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let own = own.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned();
    let last = own.rsplit([',', '-']).next().unwrap().to_owned();
    load.open(&format!("pinned {} -t 2 --cpus {last}", server.url()));
    load.open(&format!("free {} -t 2", server.url()));
    for _ in 0..3 {
        assert!(load.run("pinned 5ms").requests > 0);
        assert!(threads(&load).iter().filter(|cpus| **cpus == last).count() >= 2);
        assert!(load.run("free 5ms").requests > 0);
        assert!(threads(&load).iter().all(|cpus| *cpus == everywhere), "{:?}", threads(&load));
    }
    load.quit();
}

#[test]
fn other_protocols_are_held_too() {
    for (protocol, path) in [("echo", "100"), ("busy", ""), ("blob", "5000"), ("memcache", "")] {
        let server = Server::start(&[protocol]);
        let mut load = Load::start(&[]);
        let path = if path.is_empty() { String::new() } else { format!("/{path}") };
        load.open(&format!("a {protocol}://{}{path} -c 3", server.address));
        let requests: u64 = (0..5)
            .map(|_| load.run("a 10ms"))
            .map(|slice| {
                assert!(slice.error_count() == 0 && slice.requests > 0, "{protocol} {slice:?}");
                slice.requests
            })
            .sum();
        load.quit();
        // To fill a cache takes requests too.
        let counted = server.stop()["requests"].as_u64().unwrap();
        assert!(
            counted == requests || protocol == "memcache" && counted > requests,
            "{protocol}: {counted}, {requests}"
        );
    }
}

#[test]
fn an_open_pace_asks_in_many_slices_for_as_much_as_in_one_run() {
    let server = Server::http();
    let mut load = Load::start(&[]);
    // An arrival every 33 ms, in slices of 20 ms.
    load.open(&format!("a {} -R 30", server.url()));
    let asked: u64 = (0..50).map(|_| load.run("a 20ms")).map(|slice| slice.attempted + slice.missed).sum();
    assert_eq!(asked, 30);
    load.quit();
}

/// How often timers of its own wake an idle server in 100 ms.
const TIMERS_MAX: u64 = 5;

#[test]
fn a_server_whose_slice_is_drained_uses_no_more_cpu_time() {
    for engine in engines() {
        for life in ["", "--requests-per-connection 1"] {
            let server = Server::http();
            let mut load = Load::start(&[]);
            load.open(&format!("a {} -c 8 --engine {engine} {life}", server.url()));
            for _ in 0..3 {
                let before = server.turns();
                load.run("a 50ms");
                until("the server sleeps", || server.sleeps());
                let drained = server.turns();
                std::thread::sleep(Duration::from_millis(100));
                let (worked, later) = (drained - before, server.turns() - drained);
                // Requests wake it thousands of times; timers a few times, on however busy a machine.
                assert!(worked > 0 && later <= TIMERS_MAX, "{engine} {life}: {worked} turns, then {later}");
            }
            load.quit();
        }
    }
}

#[test]
fn a_server_that_dies_in_a_slice_makes_errors_and_no_other_group_suffers() {
    for engine in engines() {
        // At an address of its own: nobody else gets its port once it is dead.
        let (mut dying, other) = (Server::start(&["http", "--listen", "127.6.0.1:0"]), Server::http());
        let mut load = Load::start(&[]);
        load.open(&format!("a {} -c 4 --engine {engine}", dying.url()));
        load.open(&format!("b {} -c 4 --engine {engine}", other.url()));
        let before = dying.cpu_ns();
        load.send("run a 300ms");
        until("the slice runs", || dying.cpu_ns() > before + 1_000_000);
        dying.child.kill();
        let Answer::Slice(slice) = load.answer() else { panic!("{engine}") };
        assert!(slice.requests > 0 && slice.failed > 0, "{engine} {slice:?}");
        assert!(slice.errors.contains_key("connect ECONNREFUSED"), "{engine} {slice:?}");
        assert_eq!(slice.attempted, slice.completed + slice.failed, "{engine} {slice:?}");
        for _ in 0..3 {
            let slice = load.run("a 20ms");
            assert_eq!((slice.requests, slice.reconnects), (0, 0), "{engine} {slice:?}");
            assert!(slice.errors["connect ECONNREFUSED"] >= 4, "{engine} {slice:?}");
            let slice = load.run("b 20ms");
            assert!(slice.requests > 0 && slice.error_count() == 0, "{engine} {slice:?}");
        }
        assert!(
            matches!(load.obey("close a"), Answer::Closed(closed) if closed.connections == 0),
            "{engine}"
        );
        load.quit();
    }
}

#[test]
fn a_server_that_answers_nothing_is_waited_for_until_the_timeout() {
    // The kernel accepts, and nobody reads.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    for engine in engines() {
        for life in ["", "--requests-per-connection 1", "-R 1000"] {
            let mut load = Load::start(&[]);
            load.open(&format!("a {url} -c 3 --timeout 400ms --engine {engine} {life}"));
            for n in 0..2 {
                let began = Instant::now();
                // Long enough for a load on a busy machine to begin, and over before the timeout.
                let slice = load.run("a 100ms");
                assert!(began.elapsed() < TIMEOUT / 10, "{engine} {slice:?}");
                assert_eq!((slice.requests, slice.failed), (0, slice.attempted), "{engine} {slice:?}");
                assert_eq!(slice.errors, [("timeout reply".to_owned(), 3)].into(), "{engine} {slice:?}");
                assert!((100e3..TIMEOUT.as_micros() as f64).contains(&slice.drain_us), "{engine} {slice:?}");
                let lost = if n == 1 && life != "--requests-per-connection 1" { 3 } else { 0 };
                assert_eq!(slice.reconnects, lost, "{engine} {life} {slice:?}");
            }
            load.quit();
        }
    }
}

#[test]
fn connections_that_the_server_closes_in_between_are_opened_again_and_are_no_errors() {
    for engine in engines() {
        let server = Server::start(&["http", "--idle-timeout", "100ms"]);
        let before = server.descriptors();
        let mut load = Load::start(&[]);
        load.open(&format!("a {} -c 5 --engine {engine} -t 2", server.url()));
        for n in 0..2 {
            let slice = load.run("a 20ms");
            assert!(slice.requests > 0 && slice.error_count() == 0, "{engine} {slice:?}");
            assert_eq!(
                (slice.connects, slice.reconnects),
                (0, if n == 0 { slice.reconnects } else { 5 }),
                "{engine}"
            );
            until("the server closes idle connections", || server.descriptors() <= before);
        }
        load.quit();
    }
}

#[test]
fn groups_take_turns_and_count_what_their_servers_count() {
    let (a, b) = (Server::http(), Server::http());
    let mut load = Load::start(&[]);
    let opened = load.open(&format!("a {} -c 8", a.url()));
    assert_eq!((opened.group.as_str(), opened.connections, opened.failed), ("a", 8, 0));
    load.open(&format!("b {} -c 3", b.url()));
    let mut counted = [0, 0];
    for _ in 0..5 {
        for (group, count) in ["a", "b"].iter().zip(&mut counted) {
            let slice = load.run(&format!("{group} 20ms"));
            assert_eq!(slice.group, *group);
            assert!(slice.requests > 0 && slice.requests == slice.attempted, "{slice:?}");
            assert_eq!((slice.error_count(), slice.connects, slice.reconnects), (0, 0, 0), "{slice:?}");
            assert_eq!(Histogram::decode(&slice.histogram).unwrap().count(), slice.requests);
            assert!(slice.duration_us <= 20_000.0 && slice.client_user_us + slice.client_system_us > 0.0);
            *count += slice.requests;
        }
    }
    load.quit();
    for (server, (counted, connections)) in [a, b].into_iter().zip(counted.into_iter().zip([8, 3])) {
        let stats = server.stop();
        assert_eq!(
            (&stats["requests"], &stats["connections"]["accepted"]),
            (&counted.into(), &connections.into())
        );
    }
}

#[test]
fn a_wrong_command_is_answered_and_the_next_is_carried_out() {
    let server = Server::http();
    let mut load = Load::start(&[&server.url(), "-c", "2"]);
    assert!(matches!(load.answer(), Answer::Opened(opened) if opened.group == "default"));
    for (command, word) in [
        ("fly", "fly"),
        ("run", "time"),
        ("run other 5ms", "other"),
        ("run 0s", "slice"),
        ("run 2h", "slice"),
        ("close other", "other"),
        ("open default http://127.0.0.1:9/", "already"),
        ("open a", "what to open"),
        ("open a 127.0.0.1:9", "scheme"),
        ("open a http://127.0.0.1:9/ -d 1s", "-d"),
        ("open a http://127.0.0.1:9/ --json -", "--json"),
        ("open a http://127.0.0.1:9/ --hold", "--hold"),
        ("open a http://127.0.0.1:9/ --help", "--help"),
        ("open a http://127.0.0.1:9/ -c ten", "ten"),
        ("open a http://127.0.0.1:9/ 'half", "quote"),
        ("open a http://127.0.0.1:9/ --fly", "--fly"),
        ("open a http://127.0.0.1:1/", "ECONNREFUSED"),
    ] {
        let what = load.error(command);
        assert!(what.contains(word), "{command}: {what}");
    }
    load.send("");
    load.send("# not a command");
    assert!(load.run("5ms").requests > 0);
    assert!(matches!(load.obey("close default"), Answer::Closed(closed) if closed.connections == 2));
    assert!(load.error("run 5ms").contains("default"));
    load.quit();
}

#[test]
fn the_end_of_input_ends_it_after_the_last_command() {
    let server = Server::http();
    let mut load = Load::start(&[]);
    load.send(&format!("open a {}", server.url()));
    load.send("run a 5ms");
    load.input = None;
    assert!(matches!(load.answer(), Answer::Opened(_)));
    assert!(matches!(load.answer(), Answer::Slice(_)));
    assert_eq!(load.child.ended().code(), Some(0));
}

#[test]
fn a_signal_or_a_reader_that_is_gone_ends_it_in_the_middle_of_a_slice() {
    for by_signal in [true, false] {
        let server = Server::http();
        let mut load = Load::start(&[]);
        load.open(&format!("a {}", server.url()));
        load.send("run a 1h");
        if by_signal {
            load.child.signal(Signal::TERM);
            assert_eq!(load.child.ended().code(), Some(0));
        } else {
            let Load { mut child, input, output } = load;
            drop((input, output));
            assert_eq!(child.ended().code(), Some(0));
        }
    }
}

#[test]
fn options_without_a_url_are_refused() {
    let output = pitot(&["load", "--hold", "-c", "5"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("URL"));
}
