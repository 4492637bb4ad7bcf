//! Whether a repetition can be trusted, in a word and a sentence.

use pitot_results::VerdictKind;
use serde::{Deserialize, Serialize};

/// How the sentence begins that says that nothing was busy.
pub const NEITHER_BUSY: &str = "neither side was busy";
/// How the sentence begins that says that an earlier failure was final.
pub const NOT_TRIED: &str = "not tried again: ";

impl Verdict {
    /// Whether the figures are the server's although nobody was busy: it waits, or the way to it was not seen.
    pub fn is_waiting(&self) -> bool {
        self.kind == VerdictKind::Valid && self.reason.contains(NEITHER_BUSY)
    }

    /// Whether nothing was tried, since an earlier repetition or the trial has shown that it cannot be measured.
    pub fn is_given_up(&self) -> bool {
        self.kind == VerdictKind::Failed && self.reason.starts_with(NOT_TRIED)
    }
}

/// Whether a measurement can be trusted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The verdict.
    pub kind: VerdictKind,
    /// The sentence behind it; empty for `valid`.
    pub reason: String,
    /// The figures that it was drawn from, all of them whatever the verdict: name with its unit, value.
    pub figures: Vec<(String, f64)>,
}
