//! A run without a network: the list is read to its end and counted, and no socket is opened.

use std::collections::HashMap;
use std::path::Path;

use pitot_results::mail::{DomainRow, JournalCounts, MailResult, SCHEMA};

use crate::engine::{Observer, RunError};
use crate::journal::{self, JournalError};
use crate::list;
use crate::plan::MailPlan;
use crate::seen::{Occurrence, Seen};

/// Lines between two checks for a stop request.
const LINES_PER_TURN: u64 = 4096;

/// Reads the list and the journal of a plan. Its recipients that a run would write to are those without an outcome.
///
/// # Errors
/// The list is empty or cannot be read; the journal is another run's, or in use.
pub fn dry_run(plan: &MailPlan, observer: &mut dyn Observer) -> Result<MailResult, RunError> {
    let mut report = MailResult {
        schema: SCHEMA.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        mode: "dry-run".into(),
        ..MailResult::default()
    };
    let mut seen = Seen::default();
    if let Some(path) = &plan.journal {
        report.journal = Some(settled_in(path, plan, &mut seen)?);
    }
    for field in &plan.lacks {
        observer.note(&format!("the message has no {field} field, which RFC 5322 requires"));
    }
    let unreadable = |error| RunError::List { path: plan.list.clone(), error };
    let mut list = list::open(&plan.list).map_err(unreadable)?;
    let (mut domains, mut name) = (HashMap::<Box<str>, u64>::new(), String::new());
    let recipients = &mut report.recipients;
    while let Some(entry) = list.next_entry().map_err(unreadable)? {
        if entry.line % LINES_PER_TURN == 0 && observer.stop_requests() > 0 {
            report.ended_early = Some("interrupted".into());
            break;
        }
        let address = match entry.address {
            Ok(address) => address,
            Err(why) => {
                recipients.bad_lines += 1;
                observer.bad_line(entry.line, why);
                continue;
            }
        };
        recipients.read += 1;
        name.clear();
        name.push_str(address.domain);
        name.make_ascii_lowercase();
        match seen.add_listed(address.local, &name) {
            Occurrence::Duplicate => recipients.duplicates += 1,
            Occurrence::Settled => recipients.settled_before += 1,
            Occurrence::Failed => {
                recipients.settled_before += 1;
                recipients.failed_before += 1;
            }
            Occurrence::New => {
                recipients.unsettled += 1;
                match domains.get_mut(&*name) {
                    Some(count) => *count += 1,
                    None => drop(domains.insert(name.as_str().into(), 1)),
                }
            }
        }
    }
    if recipients.read + recipients.bad_lines == 0 {
        return Err(RunError::EmptyList(plan.list.clone()));
    }
    report.domains = domains
        .into_iter()
        .map(|(domain, recipients)| DomainRow { domain: domain.into(), recipients, ..DomainRow::default() })
        .collect();
    report.domains.sort_by(|a, b| (b.recipients, &a.domain).cmp(&(a.recipients, &b.domain)));
    Ok(report)
}

/// Notes who has an outcome in the journal. Where no mode was chosen it may be one of either mode.
fn settled_in(path: &Path, plan: &MailPlan, seen: &mut Seen) -> Result<JournalCounts, JournalError> {
    let mut read =
        |header| journal::inspect(path, header, |address, outcome| seen.add_settled(address, outcome));
    let found = match read(&plan.header) {
        Err(JournalError::Foreign(_)) if plan.any_mode => {
            read(&journal::Header { mode: "test", ..plan.header.clone() })
        }
        found => found,
    }?;
    Ok(JournalCounts { settled_before: found.settled, damaged: found.damaged, ..JournalCounts::default() })
}
