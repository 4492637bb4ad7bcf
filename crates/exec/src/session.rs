//! Commands that are executed in slices.

use std::io;
use std::time::SystemTime;

use pitot_meter::{Histogram, Nanos, now};
use pitot_results::Failure;
use pitot_results::hold::{Closed, Opened, Slice, SliceLatency};
use pitot_results::load::{Executions, Window};
use pitot_sys::usage::ThreadCpu;

use crate::execution::{Output, Recipe, Start};

/// Commands by name. They are executed one after the other, never two at once.
#[derive(Debug)]
pub struct Session {
    commands: Vec<Command>,
    stdout: Output,
    stderr: Output,
}

#[derive(Debug)]
struct Command {
    name: String,
    recipe: Recipe,
    /// The time of its last execution.
    took: Option<Nanos>,
}

/// From this time on, how an execution is started matters little, and every execution is started so that its memory is known. Shorter
/// ones are quick enough for one more after each slice.
const LONG: Nanos = Nanos::from_millis(10);

impl Session {
    /// Without a command.
    ///
    /// # Errors
    /// If there is no memory for what commands print.
    pub fn new() -> Result<Session, Failure> {
        let output = || {
            Output::new().map_err(|e: io::Error| {
                Failure::run(format!("no file in memory can be made: {e}"), "check the limits with ulimit -a")
            })
        };
        Ok(Session { commands: Vec::new(), stdout: output()?, stderr: output()? })
    }

    /// Takes a command.
    ///
    /// # Errors
    /// If another has that name.
    pub fn open(&mut self, name: &str, recipe: Recipe, read_at: Nanos) -> Result<Opened, Failure> {
        if self.commands.iter().any(|other| other.name == name) {
            return Err(Failure::misuse(
                format!("a command `{name}` is open already"),
                format!("write `close {name}` first, or choose another name"),
            ));
        }
        self.commands.push(Command { name: name.to_owned(), recipe, took: None });
        let connect_ms = now().since(read_at).0 as f64 / 1e6;
        Ok(Opened { group: name.to_owned(), connections: 1, failed: 0, connect_ms })
    }

    /// Executes a command for as long as `length`, and at least once. An execution that has begun is completed.
    ///
    /// # Errors
    /// If there is no such command, or it cannot be executed.
    pub fn run(&mut self, name: &str, length: Nanos, read_at: Nanos) -> Result<Slice, Failure> {
        let found = self.find(name)?;
        let command = &mut self.commands[found];
        let start = match command.took {
            Some(took) if took >= LONG => Start::WithItsMemory,
            _ => Start::Quickly,
        };
        let (began, begin, cpu) = (SystemTime::now(), now(), ThreadCpu::now());
        let mut sum = Executions::default();
        let (mut times, mut wall, mut bytes, mut count) = (Histogram::new(), Nanos::ZERO, 0, 0);
        // What comes before and after an execution is no part of the slice.
        while count == 0 || wall < length {
            let executed = command.recipe.execute(start, &mut self.stdout, &mut self.stderr)?;
            command.took = Some(executed.wall);
            times.record(executed.wall);
            wall += executed.wall;
            bytes += executed.output_bytes;
            count += 1;
            let used = executed.used;
            sum.user_s += used.cpu_user.as_secs_f64();
            sum.system_s += used.cpu_system.as_secs_f64();
            sum.memory_bytes += executed.memory_bytes.unwrap_or(0);
            sum.faults_minor += used.faults_minor;
            sum.faults_major += used.faults_major;
            sum.switches_voluntary += used.switches_voluntary;
            sum.switches_involuntary += used.switches_involuntary;
            *sum.outcomes.entry(executed.outcome).or_default() += 1;
        }
        if start == Start::Quickly {
            let more = command.recipe.execute(Start::WithItsMemory, &mut self.stdout, &mut self.stderr)?;
            sum.memory_bytes = more.memory_bytes.unwrap_or(0) * count;
        }
        let own = ThreadCpu::now().since(cpu);
        let unix = began.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok(Slice {
            group: name.to_owned(),
            began_unix_ns: unix.as_nanos() as u64,
            clock_ns: Window { start: begin.0, end: now().0 },
            late_us: begin.since(read_at).0 as f64 / 1e3,
            duration_us: wall.0 as f64 / 1e3,
            requests: count,
            attempted: count,
            completed: count,
            bytes_received: bytes,
            bytes_content: Some(bytes),
            latency_us: SliceLatency::of(&times),
            histogram: times.encode(),
            client_user_us: own.user.as_secs_f64() * 1e6,
            client_system_us: own.system.as_secs_f64() * 1e6,
            executions: Some(sum),
            ..Slice::default()
        })
    }

    /// Forgets a command.
    ///
    /// # Errors
    /// If there is no such command.
    pub fn close(&mut self, name: &str) -> Result<Closed, Failure> {
        let found = self.find(name)?;
        let command = self.commands.remove(found);
        Ok(Closed { group: command.name, connections: 0 })
    }

    fn find(&self, name: &str) -> Result<usize, Failure> {
        self.commands.iter().position(|other| other.name == name).ok_or_else(|| {
            Failure::misuse(
                format!("there is no command `{name}`"),
                "open it first: open NAME --command LINE",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(line: &str) -> Recipe {
        let command = ["sh", "-c", line].map(str::to_owned).to_vec();
        Recipe { command, timeout: Nanos::from_secs(60), ..Recipe::default() }
    }

    #[test]
    fn a_slice_has_as_many_executions_as_begin_in_it_and_at_least_one() {
        let mut session = Session::new().unwrap();
        session.open("a", recipe("echo a"), now()).unwrap();
        session.open("b", recipe("echo bb; exit 1"), now()).unwrap();
        let one = session.run("a", Nanos(1), now()).unwrap();
        assert_eq!((one.requests, one.bytes_content), (1, Some(2)));
        let many = session.run("a", Nanos::from_millis(30), now()).unwrap();
        assert!(many.requests > 1 && many.duration_us >= 30_000.0, "{many:?}");
        let sum = many.executions.unwrap();
        assert_eq!(sum.outcomes.values().sum::<u64>(), many.requests);
        assert!(sum.faults_minor > many.requests);
        let other = session.run("b", Nanos(1), now()).unwrap().executions.unwrap();
        assert!(other.outcomes.keys().all(|outcome| outcome.starts_with("exited with 1")), "{other:?}");
    }

    #[test]
    fn a_name_belongs_to_one_command() {
        let mut session = Session::new().unwrap();
        session.open("a", recipe("true"), now()).unwrap();
        assert_eq!(session.open("a", recipe("true"), now()).unwrap_err().exit_code(), 2);
        session.close("a").unwrap();
        assert!(session.run("a", Nanos(1), now()).unwrap_err().what.contains("no command `a`"));
        let missing = Recipe { command: vec!["/no/such".into()], ..Recipe::default() };
        session.open("b", missing, now()).unwrap();
        assert!(session.run("b", Nanos(1), now()).unwrap_err().what.contains("/no/such"));
    }
}
