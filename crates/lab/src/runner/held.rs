//! A held load generator (`pitot load --hold`): connections stay open, and it sends only on request.

use std::time::Duration;

use pitot_meter::Nanos;
use pitot_results::hold::{Answer, Slice};

use crate::runner::executor::{Count, Executor, Line, Role};
use crate::runner::repetition::context::{Abort, nanos};

/// Extra time for a reply, to open connections and drain requests.
const ANSWER_GRACE_S: f64 = 30.0;
/// The same for a command, which has a timeout of its own.
const EXECUTION_GRACE_S: f64 = 86_400.0;
/// Time between checks whether the user wants the run to end.
const WAIT_INTERVAL: Duration = Duration::from_millis(50);

/// A load generator that was started as this role.
pub(in crate::runner) struct Held<'a> {
    executor: &'a mut dyn Executor,
    role: Role,
    stop: &'a dyn Fn() -> bool,
    /// Extra time for a reply, seconds.
    grace_s: f64,
}

impl<'a> Held<'a> {
    /// Takes over a load generator that `executor` has started as `role`.
    pub(super) fn new(executor: &'a mut dyn Executor, role: Role, stop: &'a dyn Fn() -> bool) -> Held<'a> {
        Held { executor, role, stop, grace_s: ANSWER_GRACE_S }
    }

    /// For commands: a slice lasts until an execution ends, and that has a timeout of its own.
    pub(super) fn executing(self) -> Held<'a> {
        Held { grace_s: EXECUTION_GRACE_S, ..self }
    }

    /// Opens the connections of a group to `target` and returns their number. The inner error is why it refuses.
    pub(super) fn open(&mut self, name: &str, target: &str) -> Result<Result<u64, String>, Abort> {
        match self.ask(&format!("open {name} {target}"), 0.0, None, &mut || ())? {
            Answer::Opened(opened) if opened.failed > 0 => {
                Ok(Err(format!("{} of its connections could not be opened", opened.failed)))
            }
            Answer::Opened(opened) => Ok(Ok(opened.connections)),
            Answer::Error(refused) => Ok(Err(refused.what)),
            other => Err(unexpected(&other)),
        }
    }

    /// Runs a slice of a group. The inner error is why it cannot.
    pub(super) fn slice(&mut self, name: &str, seconds: f64) -> Result<Result<Box<Slice>, String>, Abort> {
        self.slice_watched(name, seconds, None, &mut || ())
    }

    /// Runs a slice, and calls `look` during it: from so many seconds on, at that interval, if wanted.
    pub(super) fn slice_watched(
        &mut self,
        name: &str,
        seconds: f64,
        wanted: Option<(f64, f64)>,
        look: &mut dyn FnMut(),
    ) -> Result<Result<Box<Slice>, String>, Abort> {
        match self.ask(&format!("run {name} {}us", (seconds * 1e6).round()), seconds, wanted, look)? {
            Answer::Slice(slice) => Ok(Ok(slice)),
            Answer::Error(refused) => Ok(Err(refused.what)),
            other => Err(unexpected(&other)),
        }
    }

    /// Steal time of all CPUs.
    pub(super) fn steal(&mut self) -> Nanos {
        Nanos(self.executor.count(Count::Steal).unwrap_or_default())
    }

    /// CPU time of all processes.
    pub(super) fn busy(&mut self) -> Option<Nanos> {
        self.executor.count(Count::Busy).map(Nanos)
    }

    /// Its process.
    pub(super) fn pid(&mut self) -> Option<u32> {
        self.executor.pid(self.role)
    }

    /// Asks it to end.
    pub(super) fn quit(&mut self) {
        let _ = self.executor.write_line(self.role, "quit");
    }

    fn ask(
        &mut self,
        line: &str,
        seconds: f64,
        wanted: Option<(f64, f64)>,
        look: &mut dyn FnMut(),
    ) -> Result<Answer, Abort> {
        self.executor.write_line(self.role, line).map_err(|e| self.ended(&e))?;
        let begin = self.executor.now();
        let (deadline, loaded_to) = (begin + nanos(seconds + self.grace_s), begin + nanos(seconds));
        let mut next_look = wanted.map(|(from_s, _)| begin + nanos(from_s));
        loop {
            if (self.stop)() {
                return Err(Abort::Interrupted);
            }
            let now = self.executor.now();
            next_look = next_look.filter(|_| now < loaded_to);
            if let (Some(at), Some((_, apart_s))) = (next_look, wanted)
                && at <= now
            {
                look();
                next_look = Some(self.executor.now() + nanos(apart_s));
            }
            let until_look =
                next_look.map_or(WAIT_INTERVAL, |at| Duration::from(at.since(self.executor.now())));
            match self.executor.wait(WAIT_INTERVAL.min(until_look)) {
                Some(Line { role, text, on_stdout: true }) if role == self.role => {
                    return serde_json::from_str(&text).map_err(|e| {
                        Abort::Failed(format!("a reply of the load generator cannot be read: {e}"))
                    });
                }
                Some(_) => continue,
                None => {}
            }
            if self.executor.ending(self.role).is_some() {
                return Err(self.ended("it has ended"));
            }
            if let Some(lost) = self.executor.lost() {
                return Err(Abort::Failed(lost));
            }
            if self.executor.now() > deadline {
                return Err(Abort::Failed(format!("the load generator did not reply to `{line}`")));
            }
        }
    }

    /// The error that the load generator has ended, with the lost host or its exit if known.
    fn ended(&mut self, otherwise: &str) -> Abort {
        let ending = self.executor.ending(self.role);
        Abort::Failed(match (self.executor.lost(), ending) {
            (Some(lost), _) => lost,
            (None, Some(ending)) => format!("the load generator ended {ending}"),
            (None, None) => format!("the load generator failed: {otherwise}"),
        })
    }
}

fn unexpected(answer: &Answer) -> Abort {
    Abort::Failed(format!("unexpected reply of the load generator: {answer:?}"))
}
