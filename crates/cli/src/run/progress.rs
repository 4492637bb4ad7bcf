//! Progress of a run on stderr: one line that changes on a terminal, a line for each step elsewhere.

use std::io::{self, IsTerminal};

use pitot_lab::{Finished, Progress, Repetition, VerdictKind, metric};
use pitot_results::secrets::mask_option;
use pitot_results::{Drawn, stderr};

use super::minutes;

/// Shows the progress of a run.
pub(crate) struct Display {
    terminal: bool,
}

impl Display {
    pub(crate) fn new() -> Display {
        Display { terminal: io::stderr().is_terminal() }
    }

    pub(crate) fn show(&mut self, news: &Progress<'_>) {
        let count = format!("[{:>width$}/{}]", news.number, news.total, width = news.total.to_string().len());
        // Levels may be URLs and headers.
        let levels: Vec<_> = news.label.split(", ").map(|level| mask_option("header", level)).collect();
        let label = levels.join(", ");
        let left = minutes(news.left_s);
        match (news.trial, news.finished) {
            (true, None) if self.terminal => {
                draw(format_args!("trying {count} {label}"));
            }
            (false, None) if self.terminal => {
                draw(format_args!("{count} {label}  {left} left"));
            }
            (_, None) => {}
            (true, Some(Finished::Repetition(tried))) => self.show_given_up(&label, tried),
            (_, Some(finished)) => {
                let (outcome, failed) = outcome(finished);
                let line = format!("{count} {label}{outcome}");
                match (self.terminal, failed) {
                    (true, true) => draw(format_args!("{line}\n")),
                    (true, false) => draw(format_args!("{line}  {left} left")),
                    (false, _) => stderr::line(format_args!("{line}  {left} left")),
                }
            }
        }
    }

    fn show_given_up(&self, label: &str, tried: &Repetition) {
        self.clear();
        stderr::line(format_args!("{label} cannot be measured: {}", tried.verdict.reason));
        if let Some(line) = tried.telling_line() {
            stderr::line(format_args!("  it printed: {line}"));
        }
    }

    pub(crate) fn clear(&self) {
        if self.terminal {
            draw("");
        }
    }
}

/// Draws over the line.
fn draw(text: impl std::fmt::Display) {
    stderr::draw(&Drawn::new(Drawn::ERASE_LINE).text(text));
}

/// How it went, to follow the label, and whether something failed.
fn outcome(finished: Finished<'_>) -> (String, bool) {
    match finished {
        Finished::Repetition(repetition) => {
            let failed = repetition.verdict.kind == VerdictKind::Failed;
            let rate = metric::find("throughput").and_then(|m| m.of(repetition));
            let rate = rate.map_or_else(String::new, |r| format!("  {r:.0}/s"));
            let reason = if failed { format!(": {}", repetition.verdict.reason) } else { String::new() };
            (format!("{rate}  {}{reason}", repetition.verdict.kind.name()), failed)
        }
        Finished::Generation(repetitions) => {
            let verdicts = repetitions.iter().map(|(_, r)| &r.verdict);
            let mut failures = verdicts.filter(|v| v.kind == VerdictKind::Failed);
            match failures.next() {
                None => (String::new(), false),
                // Each generation would say again why a cell was given up.
                Some(first) if first.is_given_up() => {
                    (format!(": {} not tried again", 1 + failures.count()), true)
                }
                Some(first) => (format!(": {} failed: {}", 1 + failures.count(), first.reason), true),
            }
        }
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
            outcome(Finished::Generation(&[(0, repetition)])).0
        };
        assert_eq!(failed("`./new` could not be started"), ": 1 failed: `./new` could not be started");
        assert_eq!(failed("not tried again: `./new` could not be started"), ": 1 not tried again");
    }
}
