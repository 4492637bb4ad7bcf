//! Which cells are measured together.

use pitot_plan::{
    Cell, FactorLevel, KERNEL_FACTOR, Levels, Measure, REPLICATE_FACTOR, SERVER_FACTOR, changes_host,
};

/// Cells that are measured together, as indices into the cells of the run, controls included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::runner) struct Group {
    pub(in crate::runner) cells: Vec<usize>,
}

/// A cell of the run, for grouping.
#[derive(Clone, Copy, Debug)]
pub(in crate::runner) struct Member<'a> {
    pub(in crate::runner) cell: &'a Cell,
    pub(in crate::runner) measure: Measure,
}

/// The groups of a run, in the order of their first cells: cells that are compared with each other ([`families`]) and have
/// the same settings of the host.
pub(in crate::runner) fn groups(members: &[Member<'_>], baseline: Option<&Levels>) -> Vec<Group> {
    by_levels(members, |name| !changes_host(name) && is_compared(name, baseline))
}

/// Cells that are compared with each other, in the order of the first: cells with the same levels of all factors that
/// `baseline` does not name. Without a baseline, servers with the same load are compared.
pub(in crate::runner) fn families(members: &[Member<'_>], baseline: Option<&Levels>) -> Vec<Group> {
    by_levels(members, |name| is_compared(name, baseline))
}

fn is_compared(factor: &str, baseline: Option<&Levels>) -> bool {
    match baseline {
        Some(levels) => levels.0.iter().any(|(varied, _)| varied == factor),
        None => factor == SERVER_FACTOR || factor.starts_with("server."),
    }
}

/// Sliced cells that differ only in factors that `is_varied`.
fn by_levels(members: &[Member<'_>], is_varied: impl Fn(&str) -> bool) -> Vec<Group> {
    let key = |cell: &Cell| -> Vec<FactorLevel> {
        // Replicates are separate by design, and each kernel has its own guest.
        let is_apart = |name: &str| [REPLICATE_FACTOR, KERNEL_FACTOR].contains(&name) || !is_varied(name);
        cell.factors.iter().filter(|f| is_apart(&f.name)).cloned().collect()
    };
    let mut groups: Vec<(Vec<FactorLevel>, Group)> = Vec::new();
    for (index, member) in members.iter().enumerate().filter(|(_, m)| m.measure == Measure::Slices) {
        let key = key(member.cell);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.cells.push(index),
            None => groups.push((key, Group { cells: vec![index] })),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}
