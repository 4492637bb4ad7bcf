//! The machine, hosts and versions of a run.

use crate::analysis::Analysis;
use crate::document::{Block, Column, PAGES, Table};
use crate::format::Format;
use crate::hosts;
use pitot_host::{Fingerprint, HostChange};
use pitot_record::HostRecord;

/// More changes than this are counted in a terminal; the other forms have all.
const CHANGES_MAX: usize = 30;

pub(super) fn environment(a: &Analysis<'_>) -> Block {
    let run = a.run;
    let of_run = [
        ("Server CPUs", &run.info.server_cpus),
        ("Load generator CPUs", &run.info.load_cpus),
        ("Pitot", &run.info.version),
    ];
    let servers = run.info.server_versions.iter().filter(|(name, _)| name != "pitot");
    let pairs = of_run.into_iter().map(|(name, value)| (name.to_owned(), value.clone()));
    let pairs = pairs.chain(servers.cloned()).filter(|(_, value)| !value.is_empty());
    let mut blocks = vec![Block::pairs(pairs)];
    if run.host_after.is_some() && run.host_changes.is_empty() {
        blocks.push(Block::paragraph("The machine did not change during the run."));
    }
    if !run.host_changes.is_empty() {
        blocks.push(Block::Heading("Changed during the run".into()));
        blocks.extend(changes(&run.host_changes, "before", "after"));
    }
    blocks.extend(of_hosts(&run.hosts_side_by_side()));
    blocks.extend(machine(&run.host_before));
    Block::section("environment", "Environment", blocks)
}

/// Facts that differ, with the headings of the two sides.
pub(crate) fn changes(changes: &[HostChange], before: &str, after: &str) -> [Block; 2] {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".into());
    let line = |change: &HostChange| {
        let (before, after) = (value(&change.before), value(&change.after));
        format!("{} {}: {before} → {after}", change.group, change.name)
    };
    let more = changes.len().saturating_sub(CHANGES_MAX);
    let more = (more > 0).then(|| format!("and {more} more: see --format html"));
    let lines = changes.iter().take(CHANGES_MAX).map(line).chain(more);
    let rows = changes.iter().map(|change| {
        let name = format!("{} {}", change.group, change.name);
        (name, vec![value(&change.before), value(&change.after)])
    });
    let columns = [before, after].map(Column::of_words).to_vec();
    let table = Table::plain("Facts that differ", "fact", columns, rows);
    [
        Block::Only(&[Format::Terminal], vec![Block::list(lines)]),
        Block::Only(PAGES, vec![Block::Table(table)]),
    ]
}

/// The facts in which hosts differ, and what changed on each during the run.
fn of_hosts(all: &[HostRecord]) -> Vec<Block> {
    if all.is_empty() {
        return Vec::new();
    }
    let columns = all.iter().map(|host| Column::of_words(&*host.name)).collect();
    let table = Table::plain("Facts in which the hosts differ", "fact", columns, hosts::rows(all));
    let mut blocks = vec![Block::Heading("The hosts".into()), Block::Table(table)];
    if hosts::are_alike(all) {
        blocks.push(Block::paragraph("All other facts are the same."));
    }
    for host in all {
        let changed = hosts::changes(host);
        if !changed.is_empty() {
            blocks.push(Block::Heading(format!("Changed on {} during the run", host.name)));
            blocks.extend(changes(&changed, "before", "after"));
        }
    }
    blocks
}

pub(crate) fn machine(facts: &Fingerprint) -> Vec<Block> {
    let groups = facts.groups().map(|(group, facts)| {
        let pairs = Block::pairs(facts.iter().map(|fact| (fact.name.clone(), &*fact.value)));
        Block::folded(&format!("{group} ({})", facts.len()), vec![pairs])
    });
    let blocks = std::iter::once(Block::Heading("The machine".into())).chain(groups);
    vec![Block::Only(&[Format::Html], blocks.collect())]
}

#[cfg(test)]
mod tests {
    use crate::document::Document;

    use super::*;

    #[test]
    fn hosts_stand_side_by_side_where_they_differ() {
        let host = |name: &str, governor: &str, after: &str| {
            let print = |governor: &str| {
                let mut print = Fingerprint::default();
                print.push("cpu", "governor", governor);
                print.push("cpu", "model", "same");
                print
            };
            HostRecord {
                name: name.into(),
                does: "load".into(),
                facts: print(governor),
                facts_after: Some(print(after)),
                ..HostRecord::default()
            }
        };
        assert!(of_hosts(&[]).is_empty());
        let blocks =
            of_hosts(&[host("b", "performance", "performance"), host("c<", "powersave", "ondemand")]);
        let html = Document { blocks, ..Document::default() }.render(Format::Html).unwrap_or_default();
        assert!(html.contains("cpu governor</th><td>performance</td>"), "{html}");
        assert!(!html.contains("same</td>") && html.contains("c&lt;"), "{html}");
        assert!(html.contains("Changed on c&lt;") && !html.contains("Changed on b"), "{html}");
    }
}
