//! What can become of a recipient.

use pitot_results::mail::Outcome;

/// An outcome with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled<'a> {
    /// What became of the recipient.
    pub outcome: Outcome,
    /// The code of the reply that decided; zero if it was none.
    pub code: u16,
    /// The text of that reply, or the reason in words.
    pub text: &'a [u8],
}
