//! What came of a run.

use std::collections::HashMap;

use pitot_proto::client::smtp::{EnhancedCode, Line};
use serde::Serialize;

use crate::dns::DnsCounts;
use crate::outcome::{Outcome, Settled};
use crate::queues::Domain;

/// Kinds of outcome that are told apart; further ones are summed under code 0.
const OUTCOME_ROWS_MAX: usize = 1000;
const EXAMPLE_BYTES_MAX: usize = 200;

/// The result of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The name of this layout.
    pub schema: &'static str,
    /// The program's version.
    pub version: &'static str,
    /// `test` or `send`.
    pub mode: &'static str,
    /// From the first recipient read to the last connection closed.
    pub duration_s: f64,
    /// The list.
    pub recipients: RecipientCounts,
    /// Recipients that got their outcome in this run, by the second.
    pub recipients_per_s: f64,
    /// MAIL commands that were followed through.
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
    /// What this engine has used.
    pub engine: EngineUse,
    /// Why the run ended before all recipients had their outcome.
    pub ended_early: Option<String>,
}

/// What stood in the list and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecipientCounts {
    /// Addresses in the list.
    pub read: u64,
    /// Lines that are no address.
    pub bad_lines: u64,
    /// Addresses that stood in the list before.
    pub duplicates: u64,
    /// Addresses that had their outcome in the journal.
    pub settled_before: u64,
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
    /// Attempts that ended with "try again".
    pub deferrals: u64,
    /// Attempts whose connection broke between the end of the message and the reply: sent again, maybe twice.
    pub in_doubt: u64,
}

/// Connections to hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConnectionCounts {
    /// Established.
    pub opened: u64,
    /// Tried in vain, or broken before the host was ready.
    pub failed: u64,
    /// Broken in the middle of a transaction.
    pub lost: u64,
    /// Made private.
    pub tls: u64,
    /// The most at once.
    pub peak: u64,
}

/// Bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bytes {
    /// To hosts, before encryption.
    pub sent: u64,
    /// From hosts, as they came.
    pub received: u64,
}

/// What the journal did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JournalCounts {
    /// Outcomes that it held at the start.
    pub settled_before: u64,
    /// Damaged lines among them.
    pub damaged: u64,
    /// Outcomes added.
    pub appended: u64,
    /// The most recipients in doubt at once.
    pub in_doubt_peak: u64,
}

/// The engine's own use of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct EngineUse {
    /// CPU time in user mode.
    pub cpu_user_s: f64,
    /// CPU time in the kernel.
    pub cpu_system_s: f64,
    /// The largest resident set.
    pub rss_peak_bytes: u64,
}

/// Recipients with the same outcome for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutcomeRow {
    /// What became of them.
    pub outcome: Outcome,
    /// The code of the reply, 0 if it was none.
    pub code: u16,
    /// The enhanced code of the reply.
    pub enhanced: Option<String>,
    /// How many.
    pub count: u64,
    /// One of the texts.
    pub example: String,
}

/// A domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
}

impl Report {
    /// True if every recipient of the list has been taken, now or before, and every line was one.
    pub fn is_success(&self) -> bool {
        let r = &self.recipients;
        self.ended_early.is_none() && r.unsettled == 0 && r.refused == 0 && r.gave_up == 0 && r.bad_lines == 0
    }

    /// Recipients that got their outcome in this run.
    pub fn settled(&self) -> u64 {
        let r = &self.recipients;
        r.sent + r.accepted + r.refused + r.gave_up
    }
}

/// Outcomes by their reasons, while they come in.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    rows: HashMap<(Outcome, u16, Option<EnhancedCode>), (u64, String)>,
}

impl Tally {
    pub(crate) fn add(&mut self, settled: Settled<'_>) {
        let line = Line { code: settled.code, last: true, text: settled.text };
        let mut key = (settled.outcome, settled.code, EnhancedCode::of(&line));
        if self.rows.len() >= OUTCOME_ROWS_MAX && !self.rows.contains_key(&key) {
            key = (settled.outcome, 0, None);
        }
        let row = self.rows.entry(key).or_insert_with(|| {
            let text = &settled.text[..settled.text.len().min(EXAMPLE_BYTES_MAX)];
            (0, String::from_utf8_lossy(text).replace(char::is_control, " "))
        });
        row.0 += 1;
    }

    pub(crate) fn rows(self) -> Vec<OutcomeRow> {
        let row =
            |((outcome, code, enhanced), (count, example)): ((Outcome, u16, Option<EnhancedCode>), _)| {
                OutcomeRow { outcome, code, enhanced: enhanced.map(|e| e.to_string()), count, example }
            };
        let mut rows: Vec<OutcomeRow> = self.rows.into_iter().map(row).collect();
        rows.sort_by(|a, b| (b.count, a.outcome, a.code).cmp(&(a.count, b.outcome, b.code)));
        rows
    }
}

/// The domains as rows, largest first.
pub(crate) fn domain_rows(domains: &[Domain]) -> Vec<DomainRow> {
    let row = |d: &Domain| {
        let count = |outcome: Outcome| d.outcomes[outcome as usize];
        DomainRow {
            domain: d.name.to_string(),
            recipients: d.recipients,
            taken: count(Outcome::Sent) + count(Outcome::Accepted),
            refused: count(Outcome::Refused),
            gave_up: count(Outcome::GaveUp),
        }
    };
    let mut rows: Vec<DomainRow> = domains.iter().filter(|d| d.recipients > 0).map(row).collect();
    rows.sort_by(|a, b| (b.recipients, &a.domain).cmp(&(a.recipients, &b.domain)));
    rows
}
