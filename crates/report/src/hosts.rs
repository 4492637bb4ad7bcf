//! The hosts of a run, side by side.

use pitot_host::{HostChange, side_by_side};
use pitot_record::HostRecord;

/// Rows of a name and a value for each host: its role, its clock if measured, and the facts that differ.
pub(crate) fn rows(hosts: &[HostRecord]) -> Vec<(String, Vec<String>)> {
    let mut rows = vec![row("role", hosts.iter().map(|host| host.does.clone()))];
    if hosts.iter().any(|host| host.round_trip_ns > 0) {
        rows.push(row("clock offset", hosts.iter().map(clock)));
    }
    let facts: Vec<_> = hosts.iter().map(|host| &host.facts).collect();
    for fact in side_by_side(&facts) {
        let values = fact.values.iter().map(|value| value.clone().unwrap_or_else(|| "–".into()));
        rows.push(row(&format!("{} {}", fact.group, fact.name), values));
    }
    rows
}

fn row(name: &str, values: impl Iterator<Item = String>) -> (String, Vec<String>) {
    (name.to_owned(), values.collect())
}

/// Offset of a clock from the lab's.
fn clock(host: &HostRecord) -> String {
    if host.is_own {
        return "–".into();
    }
    let ms = |ns: f64| ns / 1e6;
    format!("{:+.3} ms ± {:.3}", ms(host.clock_offset_ns as f64), ms(host.clock_error_ns as f64))
}

/// Whether there are several hosts, with the same facts.
pub(crate) fn are_alike(hosts: &[HostRecord]) -> bool {
    let facts: Vec<_> = hosts.iter().map(|host| &host.facts).collect();
    hosts.len() > 1 && side_by_side(&facts).is_empty()
}

/// What changed on a host during the run.
pub(crate) fn changes(host: &HostRecord) -> Vec<HostChange> {
    host.facts_after.as_ref().map(|after| host.facts.changes_to(after)).unwrap_or_default()
}
