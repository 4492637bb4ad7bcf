//! A running server, which ends with the test.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pitot_results::serve::ServeResult;
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use serde_json::Value;

use super::pairs::Pair;
use super::procfs::{self, Process};
use crate::support::{PITOT, TIMEOUT, until};

/// A `pitot serve` with all its processes. When it is dropped they are ended, whatever state they are in.
pub(crate) struct Server {
    child: Child,
    pub(crate) addr: SocketAddr,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    ended: bool,
}

/// How a server ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// What it counted.
    pub(crate) stats: Value,
    /// What it warned of: connections that it did not take.
    pub(crate) warnings: Vec<String>,
}

impl Ended {
    /// A number in the counters, by its JSON pointer.
    pub(crate) fn count(&self, pointer: &str) -> u64 {
        let value = self.stats.pointer(pointer).and_then(Value::as_u64);
        value.unwrap_or_else(|| panic!("no {pointer} in {}", self.stats))
    }

    /// Every connection that was accepted has been closed.
    pub(crate) fn check_connections(&self) {
        assert_eq!(
            (self.count("/connections/closed"), self.count("/connections/open")),
            (self.count("/connections/accepted"), 0),
            "{}",
            self.stats
        );
    }
}

impl Server {
    /// Starts a server of the pair on a free port.
    pub(crate) fn start(pair: &Pair, protocol: &str, args: &[&str]) -> Server {
        Server::run(serve(pair, protocol, args))
    }

    /// The same with at most so many descriptors in each process.
    pub(crate) fn start_with_descriptors(
        pair: &Pair,
        protocol: &str,
        descriptors: u32,
        args: &[&str],
    ) -> Server {
        Server::run(with_descriptors(descriptors, &serve(pair, protocol, args)))
    }

    /// Starts a server by a command.
    pub(crate) fn run(command: Command) -> Server {
        Server::run_with_stderr(command, Stdio::piped())
    }

    /// The same where nobody reads what the server says on stderr.
    pub(crate) fn run_unheard(command: Command) -> Server {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        Server::run_with_stderr(command, writer.into())
    }

    fn run_with_stderr(mut command: Command, stderr: Stdio) -> Server {
        raise_descriptors();
        let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr).spawn();
        let mut child = started.expect("the server starts");
        let stdout = lines(child.stdout.take().expect("a pipe"));
        let stderr = child.stderr.take().map_or_else(|| channel().1, lines);
        let mut server = Server { child, addr: ([127, 0, 0, 1], 0).into(), stdout, stderr, ended: false };
        let first = server.stdout.recv_timeout(TIMEOUT);
        let ready = first.as_deref().ok().and_then(|line| line.strip_prefix("ready "));
        // One that listens on a file has no other address.
        let addr = match ready {
            Some(unix) if unix.starts_with("unix:") => Some(server.addr),
            other => other.and_then(|addr| addr.parse().ok()),
        };
        server.addr = addr.unwrap_or_else(|| {
            let why: Vec<String> = server.stderr.try_iter().collect();
            panic!("the server is not ready: {first:?} {why:?}")
        });
        server
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// All its processes.
    pub(crate) fn processes(&self) -> Vec<Process> {
        procfs::tree(self.pid())
    }

    /// CPU time of all its processes so far, but those that have ended.
    pub(crate) fn cpu(&self) -> Duration {
        self.processes().iter().map(|process| process.cpu).sum()
    }

    /// Resident memory of all its processes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.processes().iter().map(Process::memory_bytes).sum()
    }

    /// Signals the process that was started.
    pub(crate) fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Stops all processes while `work` is done, so that they find everything at once.
    pub(crate) fn while_frozen<T>(&self, work: impl FnOnce() -> T) -> T {
        let processes = self.processes();
        processes.iter().for_each(|process| send(process.pid, Signal::STOP));
        until("the server is stopped", || {
            processes.iter().all(|process| Process::read(process.pid).is_none_or(|now| now.state == 'T'))
        });
        let result = work();
        processes.iter().for_each(|process| send(process.pid, Signal::CONT));
        result
    }

    /// Asks it to stop and checks how it does: exit code 0, its counters, no complaint on stderr, no process left.
    pub(crate) fn stop(self) -> Ended {
        self.signal(Signal::TERM);
        self.end()
    }

    /// Waits for the end that was asked for.
    pub(crate) fn end(mut self) -> Ended {
        let processes = self.processes();
        let mut last = None;
        // The pipes end when no process has them any more.
        read_to_end(&self.stdout, |line| last = Some(line));
        let (mut warnings, mut complaints) = (Vec::new(), Vec::new());
        read_to_end(&self.stderr, |line| {
            let is_warning = [
                "pitot: closing connections",
                "pitot: connections are served",
                "pitot: not accepting connections",
            ]
            .iter()
            .any(|start| line.starts_with(start))
                || line.starts_with("  raise the ");
            if is_warning { warnings.push(line) } else { complaints.push(line) }
        });
        let status = self.child.wait().expect("an exit code");
        self.ended = true;
        assert_eq!((status.code(), &complaints[..]), (Some(0), &[][..]), "{last:?}");
        let left: Vec<_> = processes.iter().filter(|process| !process.has_ended()).collect();
        assert!(left.is_empty(), "processes left: {left:?}");
        let last = last.expect("counters on the last line");
        let stats: Value = serde_json::from_str(&last).unwrap_or_else(|e| panic!("{e}: {last}"));
        let read: ServeResult =
            serde_json::from_value(stats.clone()).expect("the counters follow their schema");
        assert_eq!(serde_json::to_value(read).expect("it is JSON"), stats, "the schema has every counter");
        Ended { stats, warnings }
    }

    /// Waits until no process of it is left, and returns what they said on stderr.
    pub(crate) fn until_gone(mut self) -> Vec<String> {
        let mut said = Vec::new();
        read_to_end(&self.stderr, |line| said.push(line));
        self.child.wait().expect("an exit code");
        self.ended = true;
        said
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.ended {
            for process in self.processes() {
                send(process.pid, Signal::KILL);
            }
            let status = self.child.wait();
            if thread::panicking() {
                eprintln!(
                    "the server ended by {status:?} and had said: {:?}",
                    self.stderr.iter().collect::<Vec<_>>()
                );
            }
        }
    }
}

/// The command line of a server on a free port.
pub(crate) fn serve(pair: &Pair, protocol: &str, args: &[&str]) -> Command {
    let mut command = Command::new(PITOT);
    command.args(["serve", protocol, "--stats", "json"]);
    command.args(["--model", &pair.model, "--mechanism", &pair.mechanism]);
    command.args(args);
    command
}

/// The same command with at most so many descriptors.
pub(crate) fn with_descriptors(descriptors: u32, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -n {descriptors} && exec \"$@\""), "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}

/// The command in a process that may map at most so many KiB.
pub(crate) fn with_address_space(kib: u32, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -v {kib} && exec \"$@\""), "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}

/// Sends a signal to a process, which may be gone.
pub(crate) fn send(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).expect("a process number"), signal);
}

/// Several cells with some hundred connections each need more than the usual soft limit.
fn raise_descriptors() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("the hard limit is allowed");
}

/// The lines of a pipe as they come; the channel ends with the pipe.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        BufReader::new(pipe).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    receiver
}

fn read_to_end(lines: &Receiver<String>, mut take: impl FnMut(String)) {
    loop {
        match lines.recv_timeout(TIMEOUT) {
            Ok(line) => take(line),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => panic!("the server does not end"),
        }
    }
}
