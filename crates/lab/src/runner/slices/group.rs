//! Which cells are measured together.

use crate::plan::{Cell, FactorLevel, Levels, Measure, REPLICATE_FACTOR, SERVER_FACTOR};

/// Cells that are measured together, as indices into the cells of the run, controls included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::runner) struct Group {
    pub(in crate::runner) cells: Vec<usize>,
}

/// A cell of the run as the grouping sees it.
#[derive(Clone, Copy, Debug)]
pub(in crate::runner) struct Member<'a> {
    pub(in crate::runner) cell: &'a Cell,
    pub(in crate::runner) measure: Measure,
}

/// The groups of a run, in the order of their first cells: cells that agree in every factor that `baseline` does not
/// name, since those are compared with the same baseline. Without a baseline the servers under the same load are.
pub(in crate::runner) fn groups(members: &[Member<'_>], baseline: Option<&Levels>) -> Vec<Group> {
    let is_varied = |name: &str| match baseline {
        Some(levels) => levels.0.iter().any(|(varied, _)| varied == name),
        None => name == SERVER_FACTOR || name.starts_with("server."),
    };
    let key = |cell: &Cell| -> Vec<FactorLevel> {
        cell.factors.iter().filter(|f| f.name == REPLICATE_FACTOR || !is_varied(&f.name)).cloned().collect()
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
