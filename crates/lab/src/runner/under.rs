//! A plan under several sets of settings of the host, in an order that whoever asks for them decides.

use pitot_results::Failure;

use crate::catalog::Catalog;
use crate::plan::{
    AS_FOUND, Cell, Factor, Levels, Measure, Plan, SETTINGS_FACTOR, SettingSet, Value, changes_host,
};

use super::prepare::{Prepared, prepare};
use super::slices::Group;

/// Makes a plan ready for this machine, with all of its cells under each of these sets: names with keys and values. A set
/// without settings is the host as it is found, and has to have that name ([`AS_FOUND`]). What the plan itself varies of
/// the host is left out. Everything is measured in slices, in as many generations as there are `orders`, each of which has
/// indices of sets: the generations of one set follow each other, and those of the sets follow the order.
///
/// # Errors
/// As [`prepare`]; or if a cell cannot be measured in slices.
pub fn prepare_under(
    mut plan: Plan,
    source: String,
    catalog: &Catalog,
    sets: &[SettingSet],
    orders: Vec<Vec<usize>>,
) -> Result<Prepared, Failure> {
    plan.factors.retain(|factor| !changes_host(&factor.name));
    plan.factors.push(Factor {
        name: SETTINGS_FACTOR.into(),
        levels: sets.iter().map(|set| Value::Text(set.name.clone())).collect(),
    });
    plan.settings = sets.iter().filter(|set| set.name != AS_FOUND).cloned().collect();
    // Sets are compared with each other, so that no two cells are ever side by side.
    let found = sets.iter().find(|set| set.name == AS_FOUND).or(sets.first());
    plan.baseline = found.map(|set| Levels(vec![(SETTINGS_FACTOR.into(), vec![set.name.clone()])]));
    (plan.generations, plan.until_decided_s) = (Some(orders.len() as u32), None);
    let mut prepared = prepare(plan, source, catalog)?;
    let ways = prepared.cells.iter().zip(&prepared.ways.cells);
    if let Some((cell, (_, reason))) = ways.into_iter().find(|(_, (m, _))| *m == Measure::Fresh) {
        let reason = if reason.is_empty() { "the plan asks for fresh runs" } else { reason };
        return Err(Failure::misuse(
            format!("{} is not measured in slices, which small differences need: {reason}", cell.label()),
            "choose a plan with a timed load, and without measure = \"fresh\"",
        ));
    }
    // Whoever orders sets by himself has his own.
    prepared.ways.controls = Vec::new();
    prepared.orders = orders;
    Ok(prepared)
}

/// The groups in an order of sets; those of one set stay in the order that they have.
pub(super) fn in_order(groups: Vec<Group>, order: &[usize], prepared: &Prepared) -> Vec<Group> {
    let levels: &[Value] = prepared
        .plan
        .factors
        .iter()
        .find(|factor| factor.name == SETTINGS_FACTOR)
        .map_or(&[], |factor| &factor.levels);
    let places: Vec<String> =
        order.iter().filter_map(|&set| levels.get(set)).map(ToString::to_string).collect();
    let place = |group: &Group| {
        let level = group.cells.first().and_then(|&cell| level_of(prepared.cells.get(cell)?));
        level.and_then(|level| places.iter().position(|place| place == level)).unwrap_or(usize::MAX)
    };
    let mut groups = groups;
    groups.sort_by_key(place);
    groups
}

fn level_of(cell: &Cell) -> Option<&str> {
    cell.factors.iter().find(|f| f.name == SETTINGS_FACTOR).map(|f| f.level.as_str())
}
