//! The counts of a load in words.

use std::fmt::Write as _;

use pitot_meter::units::grouped;
use pitot_record::Unit;

use super::analysis::LoadFigures;
use crate::number::figure;

/// Replies, and errors by kind.
pub(super) fn counts(load: &LoadFigures<'_>) -> String {
    let totals = &load.load.totals;
    let mut line = format!("{} replies ({})", grouped(totals.completed), shown_rate(load.rate()));
    if totals.missed > 0 {
        let _ = write!(line, ", {} missed", grouped(totals.missed));
    }
    let _ = match totals.errors {
        0 => write!(line, ", no error"),
        errors => write!(line, ", {} errors", grouped(errors)),
    };
    let kinds: Vec<String> =
        totals.kinds.iter().map(|k| format!("{} {} {}", k.phase, k.kind, grouped(k.count))).collect();
    if !kinds.is_empty() {
        let _ = write!(line, " ({})", kinds.join(", "));
    }
    line
}

pub(super) fn shown_rate(rate: f64) -> String {
    format!("{} a second", figure(rate, Unit::PerSecond).trim())
}
