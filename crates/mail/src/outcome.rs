//! What can become of a recipient.

use serde::Serialize;

/// A final outcome. Each recipient has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The message was taken for it.
    Sent,
    /// In test mode: it would have been.
    Accepted,
    /// It never will be: a reply of 5xx, a domain that does not exist or takes no mail.
    Refused,
    /// It was tried as often as allowed: replies of 4xx, hosts that do not answer.
    GaveUp,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 4] = [Outcome::Sent, Outcome::Accepted, Outcome::Refused, Outcome::GaveUp];

    /// Its name in journals and reports.
    pub const fn word(self) -> &'static str {
        match self {
            Outcome::Sent => "sent",
            Outcome::Accepted => "accepted",
            Outcome::Refused => "refused",
            Outcome::GaveUp => "gave-up",
        }
    }

    /// The outcome of that name.
    pub(crate) fn find(word: &str) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|outcome| outcome.word() == word)
    }
}

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
