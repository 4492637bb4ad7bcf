//! Generations under several sets of settings of the host, in a given order.

use pitot_results::Failure;

use pitot_plan::{Cell, Measure, SETTINGS_FACTOR, Value};

use super::prepare::Prepared;
use super::slices::Group;

impl Prepared {
    /// Measures one generation for each order, which has indices of the sets of
    /// [`Plan::under`](pitot_plan::Plan::under).
    ///
    /// # Errors
    /// If a cell cannot be measured in slices.
    pub fn in_orders(&mut self, orders: Vec<Vec<usize>>) -> Result<(), Failure> {
        let ways = self.cells.iter().zip(&self.ways.cells);
        if let Some((cell, (_, reason))) = ways.into_iter().find(|(_, (m, _))| *m == Measure::Fresh) {
            let reason = if reason.is_empty() { "the plan asks for fresh runs" } else { reason };
            return Err(Failure::misuse(
                format!("{} is not measured in slices, which small differences need: {reason}", cell.label()),
                "use a plan with a timed load and without measure = \"fresh\"",
            ));
        }
        self.plan.generations = Some(orders.len() as u32);
        // The caller's baseline is kept.
        self.ways.controls = Vec::new();
        self.orders = orders;
        Ok(())
    }
}

/// The groups in an order of sets; groups of one set keep their order.
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
