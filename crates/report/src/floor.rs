//! Servers compared with the floor of their requests.

use pitot_record::metric::{Metric, named};
use pitot_results::floor::FloorTimes;

use crate::analysis::{Analysis, Cell};
use crate::number::figure_of;

const CPU: &Metric = named("cpu-per-request");
const CELLS_MAX: usize = 12;

/// CPU time per request as a multiple of the floor; none without a floor or figure.
pub(crate) fn times(a: &Analysis<'_>, cell: &Cell<'_>) -> Option<FloorTimes> {
    let floor = a.run.floor.as_ref()?;
    let cost = cell.estimate(CPU).filter(|_| !cell.failed())?;
    Some(floor.cpu_ns.times(cost.value, cost.interval.map(|i| (i.low, i.high))))
}

/// The multiples of all servers, in a sentence.
pub(crate) fn floor_sentence(a: &Analysis<'_>) -> Option<String> {
    let floor = a.run.floor.as_ref()?;
    let mut all: Vec<(String, FloorTimes)> =
        a.cells.iter().filter_map(|cell| Some((a.name_of(cell), times(a, cell)?))).collect();
    all.sort_by(|(_, one), (_, other)| one.ratio.total_cmp(&other.ratio));
    let shown = |(name, times): &(String, FloorTimes)| match (times.low, times.high) {
        (Some(low), Some(high)) => format!("**{name}** {:.2} [{low:.2}, {high:.2}]", times.ratio),
        _ => format!("**{name}** {:.2}", times.ratio),
    };
    let parts: Vec<String> = all.iter().take(CELLS_MAX).map(shown).collect();
    let more = match all.len().saturating_sub(CELLS_MAX) {
        0 => String::new(),
        more => format!(" and {more} others"),
    };
    (!parts.is_empty()).then(|| {
        format!(
            "CPU time per request as a multiple of the floor of this kernel (`{}`, {}): {}{more}.",
            floor.name,
            figure_of(CPU, floor.cpu_ns.median),
            parts.join(", ")
        )
    })
}
