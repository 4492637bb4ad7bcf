//! The result for people: a summary and a line of progress.

use std::cmp::Reverse;
use std::fmt::Write;

use pitot_meter::units::{counted, grouped};
use pitot_results::mail::{DomainRow, HostRow, MailResult, Outcome, OutcomeRow, RecipientCounts};

use crate::engine::Progress;
use crate::plan::MailPlan;

/// Reasons, domains and hosts that a summary shows.
const ROWS_SHOWN: usize = 10;
/// Reasons of one domain or host.
const REASONS_SHOWN: usize = 3;

/// One line about the last second, which overwrites the one before.
pub fn progress_line(p: &Progress) -> String {
    format!(
        "{} recipients done  {}/s  taken {}  waiting {}{}  deferred {}  connections {}",
        grouped(p.settled),
        grouped(p.per_second),
        grouped(p.taken),
        grouped(p.open),
        if p.all_read { "" } else { "+" },
        grouped(p.deferred),
        grouped(p.connections)
    )
}

/// The result as a table.
pub fn summary(report: &MailResult) -> String {
    let r = &report.recipients;
    let mut text = String::new();
    let mut row = |name: &str, n: u64, note: &str| {
        if n > 0 {
            let _ = writeln!(text, "  {name:24}{:>14}{note}", grouped(n));
        }
    };
    row("recipients in the list", r.read, "");
    row("lines without an address", r.bad_lines, "");
    row("duplicates", r.duplicates, "  skipped");
    row("settled before", r.settled_before, &settled_before(r));
    row("sent", r.sent, "");
    row("accepted", r.accepted, "  test mode: nothing was sent");
    row("refused", r.refused, "");
    row("given up", r.gave_up, "");
    let resume = match report.journal {
        Some(_) => "  run again with the same journal to continue",
        None => "  cannot be continued: use --journal FILE from the start",
    };
    row("without an outcome", r.unsettled, resume);
    row("attempts deferred", r.deferrals, "");
    row("in doubt", r.in_doubt, "  the connection was lost before the reply: sent again, possibly twice");
    let c = &report.connections;
    let _ = writeln!(
        text,
        "\n  {:.3} s, {} per second; {} on {}, at most {} at once{}",
        report.duration_s,
        counted(report.recipients_per_s.round() as u64, "recipient", "recipients"),
        counted(report.transactions, "transaction", "transactions"),
        counted(c.opened, "connection", "connections"),
        grouped(c.peak),
        if c.tls > 0 { format!(", {} with TLS", grouped(c.tls)) } else { String::new() }
    );
    if c.failed + c.lost > 0 {
        let _ = writeln!(
            text,
            "  failed connections: {}, connections lost in a transaction: {}",
            grouped(c.failed),
            grouped(c.lost)
        );
    }
    if report.dns.questions > 0 {
        let d = &report.dns;
        let _ = writeln!(
            text,
            "  DNS: {}, {} answered, {} failed, {} without answer",
            counted(d.questions, "question", "questions"),
            grouped(d.answered),
            grouped(d.failed),
            counted(d.unanswered_attempts, "attempt", "attempts")
        );
    }
    let troubled = |row: &&OutcomeRow| matches!(row.outcome, Some(Outcome::Refused | Outcome::GaveUp));
    let mut rows: Vec<&OutcomeRow> = report.outcomes.iter().filter(troubled).collect();
    if !rows.is_empty() {
        text.push('\n');
    }
    reasons(&mut text, &rows, ROWS_SHOWN, "");
    let mut domains: Vec<&DomainRow> = report.domains.iter().filter(|d| d.refused + d.gave_up > 0).collect();
    domains.sort_by_key(|d| Reverse(d.refused + d.gave_up));
    if !domains.is_empty() {
        text.push_str("\n  domains, by refused and given up recipients\n");
    }
    for d in domains.iter().take(ROWS_SHOWN) {
        let _ = writeln!(
            text,
            "  {:32}  {}, {} taken, {} refused, {} given up",
            d.domain,
            counted(d.recipients, "recipient", "recipients"),
            grouped(d.taken),
            grouped(d.refused),
            grouped(d.gave_up)
        );
        // The only domain has the reasons that are listed above.
        if report.domains.len() > 1 {
            rows = d.reasons.iter().collect();
            reasons(&mut text, &rows, REASONS_SHOWN, "  ");
        }
    }
    text.push_str(&further(domains.len(), ROWS_SHOWN, "domains"));
    hosts(&mut text, report);
    if let Some(why) = &report.ended_early {
        let _ = writeln!(text, "\n  ended early: {why}");
    }
    text
}

/// The note about recipients with an outcome of an earlier run.
fn settled_before(r: &RecipientCounts) -> String {
    match r.failed_before {
        0 => "  by an earlier run, skipped".to_owned(),
        n => format!("  by an earlier run, skipped; {} of them refused or given up", grouped(n)),
    }
}

/// What a run of the plan would do, by the report of its dry run.
pub fn dry_run(plan: &MailPlan, report: &MailResult) -> String {
    let r = &report.recipients;
    let mut text = String::from("dry run: no connection was opened and nothing was sent\n\n");
    let message = &plan.message;
    let _ = writeln!(
        text,
        "  message                 {:>14} bytes{}",
        grouped(message.bytes()),
        if message.eight_bit { ", for hosts with 8BITMIME" } else { "" }
    );
    let mut row = |name: &str, n: u64, note: &str| {
        if n > 0 {
            let _ = writeln!(text, "  {name:24}{:>14}{note}", grouped(n));
        }
    };
    row("recipients in the list", r.read, "");
    row("lines without an address", r.bad_lines, "  a run skips them");
    row("duplicates", r.duplicates, "  a run skips them");
    row("settled before", r.settled_before, &settled_before(r));
    let _ = writeln!(text, "  {:24}{:>14}", "recipients of a run", grouped(r.unsettled));
    let most = plan.recipients_per_transaction as u64;
    let transactions = match plan.relay {
        Some(_) => r.unsettled.div_ceil(most),
        None => report.domains.iter().map(|d| d.recipients.div_ceil(most)).sum(),
    };
    let _ = writeln!(
        text,
        "\n  {}, {}; at least {} of up to {}, on up to {}",
        counted(report.domains.len() as u64, "domain", "domains"),
        match &plan.relay {
            Some(relay) => format!("through the relay {}", relay.name()),
            None => "by MX records".to_owned(),
        },
        counted(transactions, "transaction", "transactions"),
        counted(most, "recipient", "recipients"),
        counted(plan.connections as u64, "connection", "connections")
    );
    if !report.domains.is_empty() {
        text.push_str("\n  the largest domains\n");
    }
    for d in report.domains.iter().take(ROWS_SHOWN) {
        let _ = writeln!(text, "  {:>14}  {}", grouped(d.recipients), d.domain);
    }
    text.push_str(&further(report.domains.len(), ROWS_SHOWN, "domains"));
    text
}

/// Reasons, a line each.
fn reasons(text: &mut String, rows: &[&OutcomeRow], most: usize, indent: &str) {
    for o in rows.iter().take(most) {
        let outcome = o.outcome.map_or("", Outcome::word);
        let code = if o.code == 0 { String::new() } else { format!("{} ", o.code) };
        let _ = writeln!(text, "{indent}  {:>10}  {outcome}: {code}{}", grouped(o.count), o.example);
    }
    let note = further(rows.len(), most, "reasons");
    if !note.is_empty() {
        text.push_str(indent);
        text.push_str(&note);
    }
}

/// What a table leaves out.
fn further(rows: usize, shown: usize, what: &str) -> String {
    match rows.saturating_sub(shown) {
        0 => String::new(),
        n => format!("  ... and {} more {what}; --json has them all\n", grouped(n as u64)),
    }
}

/// The hosts that refused recipients, or to which connections failed.
fn hosts(text: &mut String, report: &MailResult) {
    let trouble = |h: &HostRow| h.refused + h.gave_up + h.failed + h.lost;
    let mut hosts: Vec<&HostRow> = report.hosts.iter().filter(|h| trouble(h) > 0).collect();
    hosts.sort_by_key(|h| Reverse(trouble(h)));
    if !hosts.is_empty() {
        text.push_str("\n  hosts, by refused and given up recipients and failed connections\n");
    }
    for h in hosts.iter().take(ROWS_SHOWN) {
        let name = if h.address.contains(&h.host) {
            h.address.clone()
        } else {
            format!("{} at {}", h.host, h.address)
        };
        let _ = writeln!(
            text,
            "  {name:32}  {} taken, {} refused, {} given up; connections: {} established, {} failed, {} lost",
            grouped(h.taken),
            grouped(h.refused),
            grouped(h.gave_up),
            grouped(h.opened),
            grouped(h.failed),
            grouped(h.lost)
        );
        if let Some(why) = &h.last_failure {
            let _ = writeln!(text, "                last failure: {why}");
        }
        // The only host has the reasons that are listed above.
        if report.hosts.len() > 1 {
            reasons(text, &h.reasons.iter().collect::<Vec<_>>(), REASONS_SHOWN, "  ");
        }
    }
    text.push_str(&further(hosts.len(), ROWS_SHOWN, "hosts"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_agree_with_their_counts() {
        let mut report = MailResult { transactions: 1, ..MailResult::default() };
        report.connections.opened = 1;
        report.dns.questions = 1;
        report.domains = vec![DomainRow { recipients: 1, refused: 1, ..DomainRow::default() }];
        let text = summary(&report);
        for part in
            ["1 transaction on 1 connection,", "DNS: 1 question,", "  1 recipient, 0 taken, 1 refused"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
