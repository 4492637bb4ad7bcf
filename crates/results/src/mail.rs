//! What `pitot mail --json` prints.

use serde::{Deserialize, Serialize};

use crate::lenient::known_word;

/// The schema of [`MailResult`].
pub const SCHEMA: &str = "pitot-mail/1";

/// The result of a mailing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MailResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of the program that printed it.
    pub version: String,
    /// `test`, `send`, or `dry-run`: what a run would do, where recipients without an outcome are those to write to.
    pub mode: String,
    /// From the first recipient read to the last connection closed, seconds.
    pub duration_s: f64,
    /// The recipients by what became of them.
    pub recipients: RecipientCounts,
    /// Recipients that got their outcome in this run, per second.
    pub recipients_per_s: f64,
    /// Transactions that were completed.
    pub transactions: u64,
    /// Connections.
    pub connections: ConnectionCounts,
    /// Bytes over all connections.
    pub bytes: Bytes,
    /// Questions to the DNS.
    pub dns: DnsCounts,
    /// The journal, if there is one.
    pub journal: Option<JournalCounts>,
    /// Outcomes by their reasons, most frequent first.
    pub outcomes: Vec<OutcomeRow>,
    /// Every domain of the list, largest first.
    pub domains: Vec<DomainRow>,
    /// Every host that was connected to, the one with most recipients first.
    pub hosts: Vec<HostRow>,
    /// The engine's own resources.
    pub engine: EngineUse,
    /// Why the run ended before all recipients had their outcome.
    pub ended_early: Option<String>,
}

impl MailResult {
    /// True if every recipient of the list was accepted, now or before, and every line was an address.
    pub fn is_success(&self) -> bool {
        let r = &self.recipients;
        let not_taken = r.unsettled + r.refused + r.gave_up + r.failed_before;
        self.ended_early.is_none() && not_taken == 0 && r.bad_lines == 0
    }
}

/// The recipients of a list by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecipientCounts {
    /// Addresses in the list.
    pub read: u64,
    /// Lines that are no address.
    pub bad_lines: u64,
    /// Addresses that the list has more than once; the later ones are left out.
    pub duplicates: u64,
    /// Addresses that had their outcome in the journal.
    pub settled_before: u64,
    /// Those of them that were refused or given up.
    pub failed_before: u64,
    /// Sent, in this run.
    pub sent: u64,
    /// Accepted in test mode.
    pub accepted: u64,
    /// Refused for good.
    pub refused: u64,
    /// Given up after the last attempt.
    pub gave_up: u64,
    /// Without an outcome at the end of the run.
    pub unsettled: u64,
    /// Attempts that ended with a temporary refusal.
    pub deferrals: u64,
    /// Attempts whose connection broke between the end of the message and the reply: sent again, maybe twice.
    pub in_doubt: u64,
}

impl RecipientCounts {
    /// Recipients that got their outcome in this run.
    pub fn settled(&self) -> u64 {
        self.sent + self.accepted + self.refused + self.gave_up
    }
}

/// Connections to mail hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionCounts {
    /// Established.
    pub opened: u64,
    /// Not established, or broken before the host was ready.
    pub failed: u64,
    /// Broken in the middle of a transaction.
    pub lost: u64,
    /// Encrypted with TLS.
    pub tls: u64,
    /// The most at once.
    pub peak: u64,
}

/// Bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bytes {
    /// To hosts, before encryption.
    pub sent: u64,
    /// From hosts, as they came.
    pub received: u64,
}

/// Questions to the DNS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DnsCounts {
    /// Questions, each counted once.
    pub questions: u64,
    /// Questions that were answered, with "no such name" too.
    pub answered: u64,
    /// Questions that the server answered with a failure.
    pub failed: u64,
    /// Attempts without an answer in time, or refused.
    pub unanswered_attempts: u64,
    /// Questions repeated over TCP.
    pub over_tcp: u64,
}

/// What the journal did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JournalCounts {
    /// Outcomes that it held at the start.
    pub settled_before: u64,
    /// Damaged lines among them.
    pub damaged: u64,
    /// Outcomes added.
    pub appended: u64,
    /// The most recipients at once whose message was sent and not yet acknowledged.
    pub in_doubt_peak: u64,
}

/// The engine's own resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineUse {
    /// CPU time in user mode, seconds.
    pub cpu_user_s: f64,
    /// CPU time in the kernel, seconds.
    pub cpu_system_s: f64,
    /// The largest resident set, bytes.
    pub rss_peak_bytes: u64,
}

/// Recipients with the same outcome for the same reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutcomeRow {
    /// What became of them; `None` for a word of a newer program.
    #[serde(deserialize_with = "known_word")]
    pub outcome: Option<Outcome>,
    /// The code of the reply; 0 if there was none, for a reason that `example` has in words.
    pub code: u16,
    /// The enhanced code of the reply (RFC 3463).
    pub enhanced: Option<String>,
    /// How many.
    pub count: u64,
    /// The text of one of the replies.
    pub example: String,
}

/// A final outcome. Each recipient has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A host accepted the message for it.
    Sent,
    /// In test mode: a host would have.
    Accepted,
    /// Refused for good: a reply of 5xx, a domain that does not exist or accepts no mail.
    Refused,
    /// Tried as often as allowed: replies of 4xx, hosts that do not answer.
    GaveUp,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 4] = [Outcome::Sent, Outcome::Accepted, Outcome::Refused, Outcome::GaveUp];

    /// Its word in journals and results.
    pub const fn word(self) -> &'static str {
        match self {
            Outcome::Sent => "sent",
            Outcome::Accepted => "accepted",
            Outcome::Refused => "refused",
            Outcome::GaveUp => "gave-up",
        }
    }

    /// The outcome with that word.
    pub fn find(word: &str) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|outcome| outcome.word() == word)
    }
}

/// The recipients of one domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DomainRow {
    /// Its name.
    pub domain: String,
    /// Its addresses in the list that had no outcome before.
    pub recipients: u64,
    /// Sent or accepted.
    pub taken: u64,
    /// Refused.
    pub refused: u64,
    /// Given up.
    pub gave_up: u64,
    /// Why recipients were refused or given up, most frequent first.
    pub reasons: Vec<OutcomeRow>,
}

/// One address that takes mail, and the recipients whose last attempt was there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostRow {
    /// The name under which it was found first.
    pub host: String,
    /// Its IP address and port.
    pub address: String,
    /// Sent or accepted.
    pub taken: u64,
    /// Refused.
    pub refused: u64,
    /// Given up.
    pub gave_up: u64,
    /// Connections that were established.
    pub opened: u64,
    /// Connections that were not established, or broke before the host was ready.
    pub failed: u64,
    /// Connections that broke in the middle of a transaction.
    pub lost: u64,
    /// Why a connection failed or was lost last, if any was.
    pub last_failure: Option<String>,
    /// Why recipients were refused or given up, most frequent first.
    pub reasons: Vec<OutcomeRow>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_the_same_in_json_and_in_journals() {
        for outcome in Outcome::ALL {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.word());
            assert_eq!(Outcome::find(outcome.word()), Some(outcome));
        }
    }
}
