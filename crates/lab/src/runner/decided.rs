//! Whether the comparisons of a running run are decided.

use pitot_record::{CellRecord, Side, metric};
use pitot_stats::{Samples, judge};

use super::prepare::Prepared;
use super::slices::families;
use super::way::members;

/// The number of comparisons in the plan's metric that are not decided yet: neither a difference nor a tie.
///
/// `records` are the cells of the run with the repetitions so far. A cell without a figure, such as one that failed, is in
/// no comparison.
pub(super) fn undecided(prepared: &Prepared, records: &[CellRecord]) -> usize {
    let plan = &prepared.plan;
    let Some(metric) = metric::find(&plan.metric) else { return 0 };
    let families = families(&members(&prepared.cells, &prepared.ways.cells), plan.baseline.as_ref());
    let mut family: Vec<Samples> = Vec::new();
    for group in families {
        let controls = &prepared.ways.controls;
        let control_of = |&cell: &usize| controls.iter().position(|&twin| twin == cell);
        let with_control = group.cells.iter().find_map(|cell| Some((*cell, control_of(cell)?)));
        let Some((twin, control)) = with_control else { continue };
        let baseline = Side::with(&records[twin], records.get(prepared.cells.len() + control));
        let is_asked =
            |cell: usize| cell < prepared.cells.len() && !plan.is_reference(&prepared.cells[cell].factors);
        let others = group.cells.iter().filter(|&&cell| cell != twin && is_asked(cell));
        family
            .extend(others.map(|&cell| Side::alone(&records[cell]).samples_against(&baseline, metric, plan)));
    }
    judge(&family, plan.tolerance).iter().flatten().filter(|c| !c.decision.is_decided()).count()
}
