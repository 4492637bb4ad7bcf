//! Progress of a run on stderr: one line that changes on a terminal, a line for each step elsewhere.

use std::io::{self, IsTerminal};

use pitot_lab::{Event, Step};
use pitot_meter::units::span;
use pitot_record::{Repetition, metric};
use pitot_results::VerdictKind;
use pitot_results::secrets::mask_option;
use pitot_results::{Drawn, stderr};

/// Shows the progress of a run.
pub(crate) struct Display {
    terminal: bool,
}

impl Display {
    pub(crate) fn new() -> Display {
        Display { terminal: io::stderr().is_terminal() }
    }

    pub(crate) fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Trying(step) if self.terminal => draw(format_args!("trying {}", shown(step))),
            Event::Begun(step) if self.terminal => {
                draw(format_args!("{}  {} left", shown(step), span(step.left_s)));
            }
            Event::GivenUp { step, tried } => self.show_given_up(&label(step), tried),
            Event::Measured { step, repetitions } => {
                let (outcome, failed) = outcome(repetitions);
                let (line, left) = (format!("{}{outcome}", shown(step)), span(step.left_s));
                match (self.terminal, failed) {
                    (true, true) => draw(format_args!("{line}\n")),
                    (true, false) => draw(format_args!("{line}  {left} left")),
                    (false, _) => stderr::line(format_args!("{line}  {left} left")),
                }
            }
            Event::Finished(_) => self.clear(),
            // Warnings stand in the report.
            Event::Trying(_) | Event::Begun(_) | Event::Started { .. } | Event::Warning(_) => {}
            // Of soaks, which have a view of their own.
            Event::Standing { .. } | Event::Recorded(_) | Event::Status(_) => {}
        }
    }

    fn show_given_up(&self, label: &str, tried: &Repetition) {
        self.clear();
        stderr::line(format_args!("{label} cannot be measured: {}", tried.verdict.reason));
        if let Some(line) = tried.telling_line() {
            stderr::line(format_args!("  it printed: {line}"));
        }
    }

    fn clear(&self) {
        if self.terminal {
            draw("");
        }
    }
}

/// Draws over the line.
fn draw(text: impl std::fmt::Display) {
    stderr::draw(&Drawn::new(Drawn::ERASE_LINE).text(text));
}

/// Number and label of a step.
fn shown(step: &Step<'_>) -> String {
    format!("[{:>width$}/{}] {}", step.number, step.total, label(step), width = step.total.to_string().len())
}

/// A label whose levels may be URLs and headers.
pub(crate) fn label(step: &Step<'_>) -> String {
    let levels: Vec<_> = step.label.split(", ").map(|level| mask_option("header", level)).collect();
    levels.join(", ")
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
        // Each generation would say again why a cell was given up.
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
