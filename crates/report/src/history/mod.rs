//! Many runs: each of their cells as a line over all runs, and where its level changed.
//!
//! Within a run, generations are the sample; over runs, runs are. A run contributes one figure for each cell, and a change is what its
//! neighbours in time do not explain ([`pitot_stats::level_changes`]). Runs of different machines are different lines, unless each holds
//! the same reference: then the line is of ratios to it, in which a machine cancels out.

mod csv;
mod digest;
mod figures;
mod gate;
mod json;
mod line;
mod page;
mod search;
#[cfg(test)]
mod tests;

pub use digest::Digest;
pub use figures::{CellFigure, Ratio, RunFigures};
pub use gate::{Condition, HistoryGate, Outcome};
pub use line::{COMMIT, COMMIT_TIME, Change, Line, Point};
pub use search::{Next, Search};

use std::path::Path;

use pitot_record::{Run, metric};

use crate::compare::differences;
use crate::document::Document;
use crate::format::Format;
use crate::reported::Reported;

/// The history of some runs.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// A line for each cell.
    pub lines: Vec<Line>,
    /// What decides an exit code, if anything does.
    pub gate: Option<HistoryGate>,
    /// Files that are no runs, or cannot be read, with the reason.
    pub left_out: Vec<String>,
}

impl History {
    /// Of the figures of runs, in any order; of each line the last `newest`.
    pub fn of(mut runs: Vec<RunFigures>, newest: Option<usize>) -> History {
        runs.sort_by(|a, b| a.started_at.cmp(&b.started_at));
        // A copy of a run is the same run.
        let mut met = std::collections::HashSet::new();
        runs.retain(|run| met.insert((run.id.clone(), run.metric.clone())));
        History { lines: line::lines(&runs, newest, metric::find), ..History::default() }
    }

    /// Of whole runs.
    pub fn of_runs(runs: &[Run]) -> History {
        let mut history = History::of(runs.iter().map(|run| RunFigures::of(run, None)).collect(), None);
        history.explain(|file| runs.iter().find(|run| run.path == file).cloned());
        history
    }

    /// Notes for each change what else differs between the two runs around it; `open` reads a run.
    pub fn explain(&mut self, open: impl Fn(&Path) -> Option<Run>) {
        for line in &mut self.lines {
            for change in &mut line.changes {
                let around = [&line.points[change.at - 1], &line.points[change.at]];
                let [Some(before), Some(after)] = around.map(|point| open(&point.run.file)) else { continue };
                change.also_changed = differences(&before, &after);
            }
        }
    }
}

impl Reported for History {
    fn page(&self, _: Format) -> Document {
        page::page(self)
    }

    fn data(&self, format: Format) -> Option<String> {
        match format {
            Format::Json => Some(json::render(self)),
            Format::Csv => Some(csv::render(self)),
            _ => None,
        }
    }
}
