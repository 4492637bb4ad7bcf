//! Verdicts as labels.

use pitot_results::VerdictKind;

/// The label of a verdict.
pub(super) fn chip(kind: VerdictKind) -> String {
    format!("<span class=\"chip {0}\">{0}</span>", kind.name())
}

/// The label of a cell's verdict, with the number of repetitions that failed: `2 of 6 failed`, or nothing.
pub(super) fn chips(kind: VerdictKind, failures: &str) -> String {
    if failures.is_empty() {
        chip(kind)
    } else {
        format!("{} <span class=\"chip failed\">{failures}</span>", chip(kind))
    }
}
