//! How texts and marks stand out by what they say.

use pitot_results::VerdictKind;

/// How a text stands out by what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// All is well, or has become better.
    Good,
    /// To be looked at.
    Care,
    /// Something is wrong, or has become worse.
    Bad,
}

impl Tone {
    /// What has become of something that changed.
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
