//! The outcome of a gate, by cell and as a whole.

use crate::outcome::GateOutcome;
use crate::text::s;

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

/// Met if any cell met it, else undecided if any is.
pub(super) fn whole(
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
