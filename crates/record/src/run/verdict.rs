//! The verdict on a repetition.

use pitot_results::VerdictKind;
use serde::{Deserialize, Serialize};

/// The beginning of the sentence that neither side was busy.
pub const NEITHER_BUSY: &str = "neither side was busy";
/// The beginning of the sentence that an earlier failure was final.
pub const NOT_TRIED: &str = "not tried again: ";

impl Verdict {
    /// Whether the figures are valid although neither side was busy: the server waits, or the network could not be seen.
    pub fn is_waiting(&self) -> bool {
        self.kind == VerdictKind::Valid && self.reason.contains(NEITHER_BUSY)
    }

    /// Whether it was not run, since an earlier repetition or the smoke test failed.
    pub fn is_given_up(&self) -> bool {
        self.kind == VerdictKind::Failed && self.reason.starts_with(NOT_TRIED)
    }
}

/// The verdict on a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The verdict.
    pub kind: VerdictKind,
    /// The reason, a sentence; may be empty for `valid`.
    pub reason: String,
    /// All figures on which verdicts are based: name with its unit, value.
    pub figures: Vec<(String, f64)>,
}
