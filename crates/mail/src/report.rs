//! What the result of a run lists: domains and hosts.

use pitot_results::mail::{DomainRow, HostRow, Outcome};

use crate::hosts::Host;
use crate::queues::Domain;

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
            reasons: d.reasons.rows(),
        }
    };
    let mut rows: Vec<DomainRow> = domains.iter().filter(|d| d.recipients > 0).map(row).collect();
    rows.sort_by(|a, b| (b.recipients, &a.domain).cmp(&(a.recipients, &b.domain)));
    rows
}

/// The hosts as rows, the one with most recipients first. Hosts that no connection was opened to are left out.
pub(crate) fn host_rows(hosts: &[Host]) -> Vec<HostRow> {
    let row = |h: &Host| {
        let count = |outcome: Outcome| h.outcomes[outcome as usize];
        HostRow {
            host: h.name.to_string(),
            address: h.addr.to_string(),
            taken: count(Outcome::Sent) + count(Outcome::Accepted),
            refused: count(Outcome::Refused),
            gave_up: count(Outcome::GaveUp),
            opened: h.opened,
            failed: h.failed,
            lost: h.lost,
            last_failure: h.last_failure.as_ref().map(ToString::to_string),
            reasons: h.reasons.rows(),
        }
    };
    let mut rows: Vec<HostRow> = hosts.iter().filter(|h| h.opened + h.failed > 0).map(row).collect();
    let recipients = |h: &HostRow| h.taken + h.refused + h.gave_up;
    rows.sort_by(|a, b| (recipients(b), &a.address, &a.host).cmp(&(recipients(a), &b.address, &b.host)));
    rows
}
