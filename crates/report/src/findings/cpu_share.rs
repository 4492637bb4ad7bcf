//! The kernel's share in the CPU time of the cheapest server.

use crate::analysis::Analysis;
use crate::number::percent;
use pitot_record::Metric;
use pitot_record::metric::named;

const CPU: &Metric = named("cpu-per-request");
const USER: &Metric = named("user-per-request");
const SYSTEM: &Metric = named("system-per-request");

/// The sentence, if the run has the figures.
pub(super) fn cpu_share(a: &Analysis<'_>, level: usize) -> Option<String> {
    let cell = a.best_at(level, CPU)?;
    let (system, user) = (cell.estimate(SYSTEM)?.value, cell.estimate(USER)?.value);
    let whole = user + system;
    (whole > 0.0).then(|| {
        format!(
            "**{}** spent {} of its CPU time in the kernel{}.",
            a.series_of(cell),
            percent((system / whole * 100.0).round() / 100.0),
            a.at_load(level),
        )
    })
}
