//! Collects what the result of a run lists: outcomes by their reasons, and domains.

use std::collections::HashMap;

use pitot_proto::client::smtp::{EnhancedCode, Line};
use pitot_results::mail::{DomainRow, Outcome, OutcomeRow};

use crate::outcome::Settled;
use crate::queues::Domain;

/// Kinds of outcome that are told apart; further ones are summed under code 0.
const OUTCOME_ROWS_MAX: usize = 1000;
const EXAMPLE_BYTES_MAX: usize = 200;

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
                OutcomeRow {
                    outcome: Some(outcome),
                    code,
                    enhanced: enhanced.map(|e| e.to_string()),
                    count,
                    example,
                }
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
