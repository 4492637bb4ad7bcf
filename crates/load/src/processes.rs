//! Several processes, where one cannot hold enough connections.
//!
//! The load generator starts itself again with the same arguments and a hidden one that says which share is the worker's.
//! A worker prints its messages as lines of JSON and takes orders from its standard input; it ends when that is closed,
//! and dies with its parent in any case.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;

use pitot_meter::Nanos;
use pitot_sys::{process, thread};
use serde::{Deserialize, Serialize};

use crate::prepared::PreparedRun;
use crate::threads::Threads;
use pitot_drive::gate::Gate;
use pitot_drive::message::Message;
use pitot_drive::pace::Pace;
use pitot_drive::pace::constant_at;
use pitot_drive::tally::{Interval, Tally};

/// How to start this program again.
#[derive(Clone, Debug)]
pub struct Respawn {
    /// The program.
    pub program: PathBuf,
    /// All its arguments; the text of a [`WorkerSpec`] is added.
    pub arguments: Vec<OsString>,
}

/// Which part of a run a worker process does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerSpec {
    index: u64,
    count: u64,
    /// The rate of one step of a search.
    rate: Option<f64>,
    parent: u32,
}

impl WorkerSpec {
    /// Reads what the parent wrote.
    ///
    /// # Errors
    /// One line if it is not such a text.
    pub fn parse(text: &str) -> Result<WorkerSpec, String> {
        serde_json::from_str(text).map_err(|e| format!("not the work of a worker process: {e}"))
    }
}

/// A line from a worker.
#[expect(clippy::large_enum_variant, reason = "one at a time, and most of them are the largest")]
#[derive(Serialize, Deserialize)]
enum Line<'a> {
    Ready { opened: u64 },
    Interval(std::borrow::Cow<'a, Interval>),
    Final(Box<Tally>),
    Failed(String),
}

/// A line to a worker.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum Order {
    Start { at_ns: u64 },
    Stop,
}

/// Worker processes, each with its standard input.
pub(crate) struct Processes {
    workers: Vec<(Child, Option<ChildStdin>)>,
}

impl Processes {
    /// Starts all worker processes. They report in `messages`, as sources 0, 1 and so on.
    pub(crate) fn start(
        respawn: &Respawn,
        count: u64,
        rate: Option<f64>,
        messages: &Sender<Message>,
    ) -> Result<Processes, String> {
        let mut processes = Processes { workers: Vec::new() };
        for index in 0..count {
            let spec = WorkerSpec { index, count, rate, parent: process::id() };
            let text = serde_json::to_string(&spec).map_err(|e| e.to_string())?;
            let mut child = Command::new(&respawn.program)
                .args(&respawn.arguments)
                .arg("--worker")
                .arg(text)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .map_err(|e| format!("cannot restart {}: {e}", respawn.program.display()))?;
            let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
                return Err("a worker process has no pipes".into());
            };
            let (messages, source) = (messages.clone(), index as usize);
            processes.workers.push((child, Some(input)));
            start_thread(move || forward(source, BufReader::new(output), &messages))?;
        }
        Ok(processes)
    }

    /// Lets all start at that moment of the clock that processes share.
    pub(crate) fn open(&mut self, at: Nanos) {
        self.order(Order::Start { at_ns: at.0 });
    }

    /// Ends the run now.
    pub(crate) fn stop(&mut self) {
        self.order(Order::Stop);
    }

    fn order(&mut self, order: Order) {
        let Ok(text) = serde_json::to_string(&order) else { return };
        for input in self.workers.iter_mut().filter_map(|(_, input)| input.as_mut()) {
            // A worker that is gone has reported why, or its closed pipe reports that it died.
            let _ = writeln!(input, "{text}").and_then(|()| input.flush());
        }
    }
}

impl Drop for Processes {
    /// No worker outlives the run: closing its input ends it.
    fn drop(&mut self) {
        for (child, input) in &mut self.workers {
            drop(input.take());
            let _ = child.wait();
        }
    }
}

/// Turns the lines of a worker into messages. A worker that ends without its final message has failed.
fn forward(source: usize, output: impl BufRead, messages: &Sender<Message>) {
    let mut ended = false;
    for line in output.lines().map_while(Result::ok) {
        let message = match serde_json::from_str::<Line<'_>>(&line) {
            Ok(Line::Ready { opened }) => Message::Ready { opened },
            Ok(Line::Interval(interval)) => {
                Message::Interval { source, interval: Box::new(interval.into_owned()) }
            }
            Ok(Line::Final(tally)) => Message::Final { source, result: Ok(tally) },
            Ok(Line::Failed(why)) => Message::Final { source, result: Err(why) },
            Err(e) => Message::Final {
                source,
                result: Err(format!("a worker process sent a malformed message: {e}")),
            },
        };
        ended = matches!(message, Message::Final { .. });
        if messages.send(message).is_err() || ended {
            break;
        }
    }
    if !ended {
        let result = Err("a worker process has died".into());
        let _ = messages.send(Message::Final { source, result });
    }
}

/// The whole work of a worker process: runs its share and prints its messages.
///
/// # Errors
/// One line if the share could not be run.
pub fn work(run: &PreparedRun, spec: &WorkerSpec) -> Result<(), String> {
    process::die_with_parent(spec.parent);
    let step = spec.rate.map(constant_at);
    let pace: &Pace = step.as_ref().unwrap_or(&run.plan.pace);
    let share = run.plan.share.part(spec.index, spec.count);
    let (sender, receiver) = channel();
    let threads = match Threads::start(run, pace, share, &sender) {
        Ok(threads) => threads,
        Err(why) => return print(&Line::Failed(why)),
    };
    let gate = Arc::clone(&threads.gate);
    start_thread(move || obey(&gate))?;
    let result = relay(run.threads as usize, &threads, &receiver);
    threads.gate.stop();
    threads.join()?;
    result
}

/// Starts a thread that ends by itself.
fn start_thread(work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let started = thread::spawn(Builder::new(), thread::STACK_BYTES, work);
    started.map(drop).map_err(|e| format!("cannot start a thread: {e}"))
}

/// Carries out the orders on standard input; its end is an order to stop.
fn obey(gate: &Gate) {
    for line in std::io::stdin().lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(Order::Start { at_ns }) => gate.open(Nanos(at_ns)),
            Ok(Order::Stop) | Err(_) => break,
        }
    }
    gate.stop();
}

/// Adds up the messages of `count` threads and prints them as those of one source.
fn relay(count: usize, threads: &Threads, receiver: &Receiver<Message>) -> Result<(), String> {
    let (mut ready, mut opened, mut finals) = (0, 0, 0);
    let mut tally = Tally::default();
    let mut seconds: std::collections::BTreeMap<u64, (usize, Interval)> = std::collections::BTreeMap::new();
    while finals < count {
        match receiver.recv().map_err(|e| e.to_string())? {
            Message::Ready { opened: of_thread } => {
                ready += 1;
                opened += of_thread;
                if ready == count {
                    print(&Line::Ready { opened })?;
                }
            }
            Message::Interval { source, interval } => {
                let empty = || (0, Interval { second: interval.second, ..Interval::default() });
                let (reported, sum) = seconds.entry(interval.second).or_insert_with(empty);
                sum.merge(&interval);
                *reported += 1;
                threads.give_back(source, interval);
                while let Some(entry) = seconds.first_entry().filter(|entry| entry.get().0 == count) {
                    print(&Line::Interval(std::borrow::Cow::Owned(entry.remove().1)))?;
                }
            }
            Message::Final { result: Ok(of_thread), .. } => {
                finals += 1;
                tally.merge(&of_thread);
            }
            Message::Final { result: Err(why), .. } => {
                print(&Line::Failed(why))?;
                return Ok(());
            }
        }
    }
    // Threads that end early in a limited run leave seconds that not all of them have seen.
    for (_, interval) in seconds.into_values() {
        print(&Line::Interval(std::borrow::Cow::Owned(interval)))?;
    }
    print(&Line::Final(Box::new(tally)))
}

fn print(line: &Line<'_>) -> Result<(), String> {
    let mut text = serde_json::to_string(line).map_err(|e| e.to_string())?;
    text.push('\n');
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_messages_and_a_missing_final_one_is_a_failure() {
        let (sender, receiver) = channel();
        let interval = Interval { second: 4, completed: 2, ..Interval::default() };
        let mut text = serde_json::to_string(&Line::Ready { opened: 7 }).unwrap() + "\n";
        text +=
            &(serde_json::to_string(&Line::Interval(std::borrow::Cow::Borrowed(&interval))).unwrap() + "\n");
        forward(3, text.as_bytes(), &sender);
        assert!(matches!(receiver.recv(), Ok(Message::Ready { opened: 7 })));
        assert!(matches!(receiver.recv(), Ok(Message::Interval { interval, .. }) if interval.completed == 2));
        assert!(
            matches!(receiver.recv(), Ok(Message::Final { result: Err(why), .. }) if why.contains("died"))
        );
    }

    #[test]
    fn a_spec_survives_the_command_line() {
        let spec = WorkerSpec { index: 1, count: 3, rate: Some(1000.5), parent: 7 };
        assert_eq!(WorkerSpec::parse(&serde_json::to_string(&spec).unwrap()), Ok(spec));
        assert!(WorkerSpec::parse("1/3").is_err());
    }
}
