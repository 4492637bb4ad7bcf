//! The result for people: a summary and a line of progress.

use std::fmt::Write;

use pitot_meter::units::grouped;
use pitot_results::mail::{MailResult, Outcome};

use crate::engine::Progress;

/// Reasons, and domains, that a summary shows.
const ROWS_SHOWN: usize = 10;

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
    row("settled before", r.settled_before, "  by an earlier run, skipped");
    row("sent", r.sent, "");
    row("accepted", r.accepted, "  test mode: nothing was sent");
    row("refused", r.refused, "");
    row("given up", r.gave_up, "");
    let resume = match report.journal {
        Some(_) => "  run it again with the same journal to continue",
        None => "  not continued by a next run, which needs --journal FILE from the start",
    };
    row("without an outcome", r.unsettled, resume);
    row("attempts deferred", r.deferrals, "");
    row("in doubt", r.in_doubt, "  the connection was lost before the reply: sent again, possibly twice");
    let c = &report.connections;
    let _ = writeln!(
        text,
        "\n  {:.3} s, {} recipients a second; {} transactions on {} connections, at most {} at once{}",
        report.duration_s,
        grouped(report.recipients_per_s.round() as u64),
        grouped(report.transactions),
        grouped(c.opened),
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
            "  DNS: {} questions, {} answered, {} failed, {} attempts without an answer",
            grouped(d.questions),
            grouped(d.answered),
            grouped(d.failed),
            grouped(d.unanswered_attempts)
        );
    }
    let reasons = report.outcomes.iter().filter_map(|row| match row.outcome {
        Some(outcome @ (Outcome::Refused | Outcome::GaveUp)) => Some((outcome, row)),
        _ => None,
    });
    for (i, (outcome, o)) in reasons.clone().take(ROWS_SHOWN).enumerate() {
        let code = if o.code == 0 { String::new() } else { format!("{} ", o.code) };
        let title = if i == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{title}  {:>10}  {}: {code}{}", grouped(o.count), outcome.word(), o.example);
    }
    let further = |rows: usize, what: &str| match rows.saturating_sub(ROWS_SHOWN) {
        0 => String::new(),
        n => format!("  ... and {n} more {what}; --json has them all\n"),
    };
    text.push_str(&further(reasons.clone().count(), "reasons"));
    let troubled = report.domains.iter().filter(|d| d.refused + d.gave_up > 0);
    for (i, d) in troubled.clone().take(ROWS_SHOWN).enumerate() {
        let title = if i == 0 { "\n" } else { "" };
        let _ = writeln!(
            text,
            "{title}  {:32} {} recipients, {} taken, {} refused, {} given up",
            d.domain,
            grouped(d.recipients),
            grouped(d.taken),
            grouped(d.refused),
            grouped(d.gave_up)
        );
    }
    text.push_str(&further(troubled.count(), "domains with such recipients"));
    if let Some(why) = &report.ended_early {
        let _ = writeln!(text, "\n  ended early: {why}");
    }
    text
}
