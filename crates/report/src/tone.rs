//! The colours of texts and marks by their meaning.

use pitot_results::VerdictKind;
use serde::{Deserialize, Serialize};

/// What a text says of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// Good, or better.
    Good,
    /// Doubtful.
    Care,
    /// Bad, or worse.
    Bad,
}

impl Tone {
    pub(crate) fn change(self) -> &'static str {
        match self {
            Tone::Good => "better",
            Tone::Care => "other",
            Tone::Bad => "worse",
        }
    }
}

impl From<VerdictKind> for Tone {
    fn from(kind: VerdictKind) -> Tone {
        match kind {
            VerdictKind::Valid => Tone::Good,
            VerdictKind::Failed => Tone::Bad,
            _ => Tone::Care,
        }
    }
}
