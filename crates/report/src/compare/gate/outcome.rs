//! The outcome of a gate, by cell and as a whole.

use super::condition::Gate;
use crate::text::s;

/// More cells than this are counted in a sentence.
const LISTED_MAX: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateCell {
    pub label: String,
    pub outcome: CellOutcome,
}

/// The outcome of a gate in one cell; sentences do not repeat its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellOutcome {
    /// Its whole interval is on the right side of the limit.
    Passed,
    /// It is on the wrong side, or failed: a sentence.
    Met(String),
    /// Neither: a sentence.
    Undecided(String),
    /// Neither, since so few repetitions cannot decide it.
    TooFewRepetitions { have: usize, needed: usize },
}

/// The outcome of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateOutcome {
    /// Every cell passed.
    Passed,
    /// Some cells met it: a sentence for each.
    Met(Vec<String>),
    /// Some cells cannot be decided: a sentence for each reason.
    Undecided(Vec<String>),
}

impl GateOutcome {
    /// In JSON.
    pub(in crate::compare) fn word(&self) -> &'static str {
        match self {
            GateOutcome::Passed => "passed",
            GateOutcome::Met(_) => "met",
            GateOutcome::Undecided(_) => "undecided",
        }
    }

    /// Met if any cell met it, else undecided if any is.
    pub(super) fn of(
        cells: &[GateCell],
        nothing: String,
        option_for: &dyn Fn(usize) -> String,
    ) -> GateOutcome {
        let mut met = Vec::new();
        let mut undecided = Vec::new();
        let mut few = Vec::new();
        for cell in cells {
            match &cell.outcome {
                CellOutcome::Passed => {}
                CellOutcome::Met(why) => met.push(format!("{} {why}", cell.label)),
                CellOutcome::Undecided(why) => undecided.push(format!("{} {why}", cell.label)),
                CellOutcome::TooFewRepetitions { have, needed } => few.push((*have, *needed)),
            }
        }
        if let Some(&(have, needed)) = few.iter().max_by_key(|(_, needed)| needed) {
            let is = if have == 1 { "is" } else { "are" };
            let cells = few.len();
            undecided.push(format!(
                "{have} repetition{} {is} too few to decide {cells} cell{}: run with {}",
                s(have),
                s(cells),
                option_for(needed)
            ));
        }
        if cells.is_empty() {
            undecided.push(nothing);
        }
        if !met.is_empty() {
            GateOutcome::Met(met)
        } else if !undecided.is_empty() {
            GateOutcome::Undecided(undecided)
        } else {
            GateOutcome::Passed
        }
    }

    /// The outcome in a sentence.
    pub fn sentence(&self, gate: &Gate) -> String {
        match self {
            GateOutcome::Passed => format!("gate '{gate}': passed"),
            GateOutcome::Met(cells) => format!("gate '{gate}': met: {}", listed(cells)),
            GateOutcome::Undecided(reasons) => format!("gate '{gate}': undecided, {}", listed(reasons)),
        }
    }
}

fn listed(cells: &[String]) -> String {
    let listed = &cells[..cells.len().min(LISTED_MAX)];
    let more = cells.len() - listed.len();
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", listed.join("; "))
}
