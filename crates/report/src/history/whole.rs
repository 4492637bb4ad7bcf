//! The history of some runs: its lines, and what is said of them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use pitot_record::{Run, metric};

use super::figures::RunFigures;
use super::gate::{Condition, HistoryGate};
use super::line::{self, Line};
use crate::compare::differences;

/// The history of some runs.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// A line for each cell.
    pub lines: Vec<Line>,
    /// What decides an exit code, if anything does.
    pub gate: Option<HistoryGate>,
    /// Files that are no runs, or cannot be read, with the reason.
    pub left_out: Vec<String>,
    /// Addresses of the reports of runs, by their file, for a page that has them.
    pub reports: HashMap<PathBuf, String>,
}

impl History {
    /// Of the figures of runs, in any order; of each line the last `newest`.
    pub fn of(mut runs: Vec<RunFigures>, newest: Option<usize>) -> History {
        runs.sort_by(|a, b| a.started_at.cmp(&b.started_at));
        // A copy of a run is the same run.
        let mut met = HashSet::new();
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

    /// Judges a condition. `since` tells the runs that count: a change before the first of them is known.
    pub fn judge(&mut self, condition: Condition, since: Option<&str>) {
        self.gate = Some(HistoryGate::of(&self.lines, condition, since));
    }
}
