//! The executor on another host: every call is a request to its agent.

use std::time::Duration;

use pitot_agent::{Ask, Reply, Request, Signal, WAIT_MAX};
use pitot_meter::Nanos;
use pitot_sys::spawn::Stop;

use super::link::Link;
use super::wire;
use crate::runner::executor::{
    AddressChoice, Command, Count, Ending, Executor, Extent, Line, Observed, Output, Place, Question, Role,
};
use pitot_plan::PlanFile;

/// An executor of an agent. A lost host is connected to again when the next repetition begins.
pub(super) struct Remote<'m> {
    link: &'m Link,
    number: u32,
    /// The connection of the running repetition.
    connection: Option<u32>,
    /// The path of `pitot` on this machine.
    pitot: &'m str,
}

impl<'m> Remote<'m> {
    pub(super) fn new(link: &'m Link, pitot: &'m str) -> Remote<'m> {
        Remote { link, number: link.executor(), connection: None, pitot }
    }

    fn ask(&self, ask: Ask) -> Result<Reply, String> {
        let connection = self.connection.ok_or("no repetition has begun")?;
        self.link.ask(connection, self.number, ask)
    }

    fn done(&self, ask: Ask) -> Result<(), String> {
        self.ask(ask).map(|_| ())
    }
}

impl Executor for Remote<'_> {
    fn now(&mut self) -> Nanos {
        pitot_meter::now()
    }

    fn begin(&mut self, number: usize, address: AddressChoice) -> Result<Place, String> {
        self.connection = None;
        self.connection = Some(self.link.connect()?);
        // Clocks drift apart by some microseconds a second, which is negligible in a repetition.
        self.link.measure_clock()?;
        match self.ask(Ask::Begin { number, address })? {
            Reply::Place(place) => Ok(place),
            _ => Err(format!("the host `{}` did not begin the repetition", self.link.name)),
        }
    }

    fn write_files(&mut self, files: &[PlanFile]) -> Result<(), String> {
        self.done(Ask::WriteFiles { files: serde_json::json!(files) })
    }

    fn start(&mut self, command: &Command) -> Result<(), String> {
        let own = command.argv.first().is_some_and(|program| program == self.pitot);
        self.done(Ask::Start { command: command.clone(), own })
    }

    fn write_line(&mut self, role: Role, line: &str) -> Result<(), String> {
        self.done(Ask::WriteLine { role, line: line.to_owned() })
    }

    fn count(&mut self, what: Count) -> Option<u64> {
        match self.ask(Ask::Count(what)) {
            Ok(Reply::Count(count)) => count,
            _ => None,
        }
    }

    fn wait(&mut self, timeout: Duration) -> Option<Line> {
        let timeout_us = timeout.min(WAIT_MAX).as_micros() as u64;
        match self.ask(Ask::Wait { timeout_us }) {
            Ok(Reply::Line(line)) => line,
            _ => None,
        }
    }

    fn ending(&mut self, role: Role) -> Option<Ending> {
        match self.ask(Ask::Ending(role)) {
            Ok(Reply::Ending(ending)) => ending,
            _ => None,
        }
    }

    fn is_suspended(&mut self, role: Role) -> bool {
        matches!(self.ask(Ask::IsSuspended(role)), Ok(Reply::Flag(true)))
    }

    fn answers(&mut self, address: &str, question: &Question) -> bool {
        let ask = Ask::Answers { address: address.to_owned(), question: question.clone() };
        matches!(self.ask(ask), Ok(Reply::Flag(true)))
    }

    fn sample(&mut self, extent: Extent) {
        let _ = self.ask(Ask::Sample(extent));
    }

    fn stop(&mut self, role: Role, signal: Stop) {
        let signal = match signal {
            Stop::Terminate => Signal::Terminate,
            Stop::Interrupt => Signal::Interrupt,
            Stop::Quit => Signal::Quit,
            Stop::Kill => Signal::Kill,
        };
        let _ = self.ask(Ask::Stop { role, signal });
    }

    fn output(&mut self, role: Role) -> Output {
        match self.ask(Ask::Output(role)) {
            Ok(Reply::Output(output)) => output,
            _ => Output::default(),
        }
    }

    fn read_file(&mut self, path: &str) -> Option<String> {
        match self.ask(Ask::ReadFile(path.to_owned())) {
            Ok(Reply::Text(text)) => text,
            _ => None,
        }
    }

    fn lost(&mut self) -> Option<String> {
        self.link.lost(self.connection?)
    }

    fn finish(&mut self) -> Observed {
        self.ask(Ask::Finish).ok().and_then(wire::from_reply).unwrap_or_default()
    }
}

impl Drop for Remote<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection {
            let _ = self.link.call(connection, &Request::Drop { executor: self.number });
        }
    }
}
