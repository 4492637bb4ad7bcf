//! Progress of a run or a soak on stderr: on a terminal rows that are drawn over, elsewhere a line for each step and event.

mod soak;

use std::io::{self, IsTerminal};
use std::path::Path;

use pitot_lab::{Event, SoakStatus, Step};
use pitot_meter::units::span;
use pitot_record::{Repetition, metric};
use pitot_results::VerdictKind;
use pitot_results::{Rows, stderr};

use crate::events::label;
use soak::Drifts;

/// Shows the progress of a run or a soak.
pub(crate) struct Display {
    /// What is drawn, if it is a terminal.
    rows: Option<Rows>,
    /// What a soak is called, and what is known to drift in it.
    soak: Option<(String, Drifts)>,
}

impl Display {
    pub(crate) fn new() -> Display {
        let rows = io::stderr().is_terminal().then(Rows::default);
        Display { rows, soak: None }
    }

    /// Of a soak with this title into `file`. `pitot` is the path of this program.
    pub(crate) fn of_soak(pitot: &str, title: &str, file: &Path) -> Display {
        let mut display = Display::new();
        display.soak = Some((title.to_owned(), Drifts::new(pitot, file)));
        display
    }

    pub(crate) fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Trying(step) => self.draw(&format!("trying {}", shown(step))),
            Event::Begun(step) => self.draw(&format!("{}  {} left", shown(step), span(step.left_s))),
            Event::GivenUp { step, tried } => {
                self.say(&format!("{} cannot be measured: {}", label(step), tried.verdict.reason));
                if let Some(line) = tried.telling_line() {
                    self.say(&format!("  it printed: {line}"));
                }
            }
            Event::Measured { step, repetitions } => {
                let (outcome, failed) = outcome(repetitions);
                let (line, left) = (format!("{}{outcome}", shown(step)), span(step.left_s));
                match (self.rows.is_some(), failed) {
                    (true, true) => self.say(&line),
                    (true, false) => self.draw(&format!("{line}  {left} left")),
                    (false, _) => self.say(&format!("{line}  {left} left")),
                }
            }
            Event::SoakBegun { .. } => {
                if let Some((title, _)) = &self.soak {
                    stderr::line(title);
                }
            }
            Event::Status(status) => self.show_status(status),
            Event::Finished(_) => self.clear(),
            // Warnings stand in the report, and what comes about in a soak in its status.
            Event::Started { .. } | Event::Warning(_) | Event::Recorded(_) => {}
        }
    }

    /// What is known to drift in a soak, a sentence each.
    pub(crate) fn drifts(&mut self) -> &[String] {
        self.soak.as_mut().map_or(&[], |(_, drifts)| drifts.known())
    }

    /// What happens in a soak, and below it on a terminal how it goes: what `pitot soak status` shows.
    fn show_status(&mut self, status: &SoakStatus) {
        let happened: Vec<String> =
            status.events.iter().map(|sentence| format!("{:>9}  {sentence}\n", span(status.now_s))).collect();
        let happened = happened.concat();
        match (&mut self.rows, &mut self.soak) {
            (Some(rows), Some((_, drifts))) => {
                stderr::draw(&rows.draw(&happened, &soak::screen(status, drifts.known()).join("\n")));
            }
            _ => stderr::text(&happened),
        }
    }

    fn clear(&mut self) {
        self.rows.iter_mut().for_each(|rows| stderr::draw(&rows.clear()));
    }

    /// Draws a line over the one before, on a terminal.
    fn draw(&mut self, line: &str) {
        self.rows.iter_mut().for_each(|rows| stderr::draw(&rows.draw("", line)));
    }

    /// Says something that stays.
    fn say(&mut self, line: &str) {
        match &mut self.rows {
            Some(rows) => stderr::draw(&rows.draw(&format!("{line}\n"), "")),
            None => stderr::line(line),
        }
    }
}

/// A failure is printed below what stays.
impl Drop for Display {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Number and label of a step.
fn shown(step: &Step<'_>) -> String {
    format!("[{:>width$}/{}] {}", step.number, step.total, label(step), width = step.total.to_string().len())
}

/// How it went, to follow the label, and whether something failed.
fn outcome(repetitions: &[(usize, Repetition)]) -> (String, bool) {
    if let [(_, repetition)] = repetitions {
        let failed = repetition.verdict.kind == VerdictKind::Failed;
        let rate = metric::find("throughput").and_then(|m| m.of(repetition));
        let rate = rate.map_or_else(String::new, |r| format!("  {r:.0}/s"));
        let reason = if failed { format!(": {}", repetition.verdict.reason) } else { String::new() };
        return (format!("{rate}  {}{reason}", repetition.verdict.kind.name()), failed);
    }
    let verdicts = repetitions.iter().map(|(_, r)| &r.verdict);
    let mut failures = verdicts.filter(|v| v.kind == VerdictKind::Failed);
    match failures.next() {
        None => (String::new(), false),
        // Each generation would repeat why a cell was given up.
        Some(first) if first.is_given_up() => (format!(": {} not tried again", 1 + failures.count()), true),
        Some(first) => (format!(": {} failed: {}", 1 + failures.count(), first.reason), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_cell_was_given_up_is_not_said_again_in_each_generation() {
        let failed = |reason: &str| {
            let mut repetition = Repetition::default();
            (repetition.verdict.kind, repetition.verdict.reason) = (VerdictKind::Failed, reason.to_owned());
            outcome(&[(0, repetition), (1, Repetition::default())]).0
        };
        assert_eq!(failed("`./new` could not be started"), ": 1 failed: `./new` could not be started");
        assert_eq!(failed("not tried again: `./new` could not be started"), ": 1 not tried again");
    }
}
