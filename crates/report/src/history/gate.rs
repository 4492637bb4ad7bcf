//! What decides an exit code.

use std::fmt;

use super::line::{Change, Line, Point};
use super::words::sentence_of;
use crate::outcome::GateOutcome;
use crate::tone::Tone;

/// The fewest runs in which a change of the level can be seen at all: [`pitot_stats::level_changes`].
pub(super) const RUNS_MIN: usize = 10;

/// What is not to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A change of a level.
    Change,
    /// A change for the worse.
    Worse,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Condition::Change => "change",
            Condition::Worse => "worse",
        })
    }
}

/// A condition with what it says of a history.
#[derive(Clone, Debug)]
pub struct HistoryGate {
    /// The condition.
    pub condition: Condition,
    /// Whether it is met.
    pub outcome: GateOutcome,
}

impl HistoryGate {
    /// The outcome in a sentence.
    pub fn sentence(&self) -> String {
        self.outcome.sentence(&self.condition)
    }

    /// Judges a condition by the changes of lines: those from the first run on that `since` tells.
    pub(super) fn of(lines: &[Line], condition: Condition, since: Option<&str>) -> HistoryGate {
        let is_meant = |line: &Line, change: &Change| {
            (condition == Condition::Change || line.tone(change) == Tone::Bad)
                && since.is_none_or(|since| change.at >= first_since(line, since))
        };
        let met: Vec<String> = lines
            .iter()
            .flat_map(|line| line.changes.iter().map(move |change| (line, change)))
            .filter(|(line, change)| is_meant(line, change))
            .map(|(line, change)| sentence_of(line, change))
            .collect();
        let outcome = if !met.is_empty() {
            GateOutcome::Met(met)
        } else if lines.iter().all(|line| line.points.len() < RUNS_MIN) {
            let few = format!("no cell has the {RUNS_MIN} runs in which a change could be seen");
            GateOutcome::Undecided(vec![few])
        } else {
            GateOutcome::Passed
        };
        HistoryGate { condition, outcome }
    }
}

/// The first point with a label that begins so, or that began at that time or later.
fn first_since(line: &Line, since: &str) -> usize {
    let is_it = |point: &Point| {
        point.run.labels.iter().any(|(_, value)| value.starts_with(since))
            || (since.as_bytes().get(4) == Some(&b'-') && point.run.started_at.as_str() >= since)
    };
    line.points.iter().position(is_it).unwrap_or(line.points.len())
}
