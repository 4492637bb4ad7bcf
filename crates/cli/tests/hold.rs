//! `pitot load --hold` against `pitot serve`: what the client counts is what the server counts.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use pitot_meter::Histogram;
use pitot_results::hold::{Answer, Opened, Slice};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Longer than any of these commands may take, on however slow a machine.
const TIMEOUT: Duration = Duration::from_secs(60);

fn pitot(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pitot"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A child that is killed when the test ends, however it ends.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Guard {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// The exit code; the test fails if there is none in time.
    fn code(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            assert!(start.elapsed() < TIMEOUT, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// `pitot serve`, with what it counted.
struct Server {
    child: Guard,
    address: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Server {
        let command = [&["serve"], arguments, &["--stats", "json"]].concat();
        let mut child = Guard(pitot(&command).stderr(Stdio::inherit()).spawn().unwrap());
        let mut line = String::new();
        // Byte by byte, so that nothing of what follows is lost in a buffer.
        let output = child.0.stdout.as_mut().unwrap();
        while !line.ends_with('\n') {
            let mut byte = [0];
            output.read_exact(&mut byte).expect("the server is ready");
            line.push(byte[0].into());
        }
        let address = line.trim().strip_prefix("ready ").expect("it says its address").to_owned();
        Server { child, address }
    }

    fn http() -> Server {
        Server::start(&["http"])
    }

    fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// What it printed at its end.
    fn stop(mut self) -> Value {
        self.child.signal(Signal::TERM);
        let mut text = String::new();
        self.child.0.stdout.as_mut().unwrap().read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    }
}

/// `pitot load --hold`.
struct Load {
    child: Guard,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Load {
    fn start(arguments: &[&str]) -> Load {
        let command = [&["load", "--hold"], arguments].concat();
        let mut child = Guard(pitot(&command).stderr(Stdio::inherit()).spawn().unwrap());
        let input = child.0.stdin.take();
        let output = BufReader::new(child.0.stdout.take().unwrap());
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
                assert!(!refused.cure.is_empty() && !refused.what.contains('\n'), "{refused:?}");
                refused.what
            }
            other => panic!("{command}: {other:?}"),
        }
    }

    fn quit(mut self) {
        assert_eq!(self.obey("quit"), Answer::Quit);
        assert_eq!(self.child.code(), Some(0));
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
        ("open a", "URL"),
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
    assert_eq!(load.child.code(), Some(0));
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
            assert_eq!(load.child.code(), Some(0));
        } else {
            let Load { mut child, input, output } = load;
            drop((input, output));
            assert_eq!(child.code(), Some(0));
        }
    }
}

#[test]
fn options_without_a_url_are_refused() {
    let output = pitot(&["load", "--hold", "-c", "5"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("URL"));
}
