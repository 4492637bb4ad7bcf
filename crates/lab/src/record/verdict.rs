//! Whether a repetition can be trusted, in a word and a sentence.

use pitot_results::VerdictKind;
use serde::{Deserialize, Serialize};

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
