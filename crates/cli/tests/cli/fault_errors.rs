//! The errors that the load counts are those that the server made, kind by kind, while faults are under way.
//!
//! The server is this program once more. It tells of each thing before and after it does it, by a socket on which what was told
//! outlives a SIGKILL (`server.rs`); the ledger adds this up (`ledger.rs`), and `agree.rs` says what the load must have
//! counted. PITOT_ERRORS_FOR sets how long each load runs, in seconds: bench/fault_errors.py does it for an hour.

mod agree;
mod ledger;
mod server;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use pitot_meter::{Nanos, now};
use serde_json::Value;

use crate::support::{PITOT, Running};
use agree::Seen;
use ledger::Sum;
use server::{PAUSE, Server};

const CONNECTIONS: u64 = 8;

/// How long a load is to run if the machine has time for it.
fn length() -> Duration {
    let seconds = std::env::var("PITOT_ERRORS_FOR").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(4))
}

/// A load that ends when so many requests have ended that none is cut off.
fn load(address: &str, engine: &str, timeout: &str) -> Running {
    let requests = length().as_millis() / PAUSE.as_millis() * u128::from(CONNECTIONS) * 3 / 4;
    let mut command = Command::new(PITOT);
    command.args([
        "load",
        &format!("http://{address}/"),
        "-c",
        &CONNECTIONS.to_string(),
        "-t",
        "1",
        "--warmup",
        "0s",
    ]);
    command.args([
        "-n",
        &requests.to_string(),
        "--timeout",
        timeout,
        "--back-off",
        "40ms",
        "--engine",
        engine,
    ]);
    command.args(["--json", "-"]);
    Running::start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()))
}

/// What the load has counted.
fn counted(mut load: Running) -> Seen {
    let out = BufReader::new(load.stdout.take().unwrap());
    let result: Value = serde_json::from_reader(out).unwrap();
    Seen::of(&result)
}

/// Kills and restarts until the load has ended; the socket that listens is the test's, so that no connection waits in vain.
fn with_kills(engine: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut ledgers = Vec::new();
    let mut server = Server::start(&listener, 1);
    let mut load = load(&address, engine, "1m");
    server.is_asked();
    while load.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(400));
        let pid = server.pid().to_string();
        let killed = Command::new(PITOT)
            .args(["fault", "kill", "--process", "all", "--for", "1ms", "--pid", &pid])
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(killed.success());
        ledgers.push(server.ended());
        server = Server::start(&listener, 1 + ledgers.len() as u64);
    }
    let seen = counted(load);
    ledgers.push(server.ended_by_itself(&address));
    assert!(ledgers.len() > 2, "there was no time for kills");
    let kills = ledgers.len() as u64 - 1;
    agree::without_a_way(engine, &seen, &Sum::of(&ledgers, &[]), kills);
}

/// Resets and black holes on the way until the load has ended.
fn with_faults_on_the_way(engine: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::start(&listener, 7);
    let mut proxy = Proxy::start(&listener.local_addr().unwrap().to_string());
    let mut load = load(&proxy.address, engine, "1s");
    let mut holes = Vec::new();
    // A load that loses its first connections gives up.
    server.is_asked();
    for turn in 0.. {
        thread::sleep(Duration::from_millis(300));
        if load.try_wait().unwrap().is_some() {
            break;
        }
        // A hole is a timeout for all, so there are few of them.
        if turn % 8 == 3 {
            let began = now();
            proxy.during("black-hole", Duration::from_millis(1500));
            // Those who have given up are told the server now.
            thread::sleep(Duration::from_millis(1500));
            holes.push(began..now());
        } else {
            proxy.during("reset", Duration::from_millis(60));
        }
    }
    let seen = counted(load);
    let ledger = server.ended_by_itself(&proxy.address);
    let way = proxy.counts();
    agree::with_a_way(engine, &seen, &Sum::of(&[ledger], &holes), &way);
}

struct Proxy {
    running: Running,
    said: BufReader<std::process::ChildStdout>,
    address: String,
}

/// What became of the connections through the proxy.
#[derive(Debug)]
pub struct Way {
    /// Taken.
    pub accepted: u64,
    /// Reset before they led to the server.
    pub refused: u64,
    /// Reset after that, by a fault.
    pub reset: u64,
}

impl Proxy {
    fn start(to: &str) -> Proxy {
        let mut command = Command::new(PITOT);
        command.args(["fault", "proxy", "--to", to]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = Running::start(&mut command);
        let said = BufReader::new(running.stdout.take().unwrap());
        let mut proxy = Proxy { running, said, address: String::new() };
        proxy.address = proxy.answer("ready ");
        proxy
    }

    fn tell(&mut self, command: &str) {
        writeln!(self.running.stdin.as_mut().unwrap(), "{command}").unwrap();
    }

    /// The next line, after its first word.
    fn answer(&mut self, word: &str) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.strip_prefix(word).unwrap_or_else(|| panic!("no {word}: {line}")).trim().to_owned()
    }

    fn during(&mut self, fault: &str, length: Duration) {
        self.tell(&format!("begin 0 {fault}"));
        self.answer("began ");
        thread::sleep(length);
        self.tell("end 0");
        self.answer("ended ");
    }

    fn counts(mut self) -> Way {
        self.tell("quit");
        let line = self.answer("accepted ");
        let count = |name: &str| {
            let mut words = line.split(' ').skip_while(|word| *word != name);
            words.nth(1).and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("no {name}: {line}"))
        };
        let accepted: u64 = line.split(' ').next().unwrap().parse().unwrap();
        // That of the test is not the load's.
        Way { accepted: accepted - 1, refused: count("refused"), reset: count("reset") }
    }
}

/// True if a moment is in one of the stretches.
pub fn is_within(at: Nanos, stretches: &[std::ops::Range<Nanos>]) -> bool {
    stretches.iter().any(|stretch| stretch.contains(&at))
}

#[test]
fn epoll_counts_what_a_server_did_that_is_killed_and_restarted() {
    with_kills("epoll");
}

#[test]
fn epoll_counts_what_a_server_did_behind_resets_and_black_holes() {
    with_faults_on_the_way("epoll");
}
