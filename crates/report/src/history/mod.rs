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
mod whole;
mod words;

pub use digest::Digest;
pub use figures::{CellFigure, Ratio, RunFigures};
pub use gate::{Condition, HistoryGate};
pub use line::{COMMIT, COMMIT_TIME, Change, Line, Point, shortened};
pub use search::{Next, Search};
pub use whole::History;

use crate::document::Document;
use crate::format::Format;
use crate::reported::Reported;

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
