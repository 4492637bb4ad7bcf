//! How much of the cheapest server's CPU time is spent in the kernel.

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
    let share = |part: f64| percent((part / whole * 100.0).round() / 100.0);
    (whole > 0.0).then(|| {
        format!(
            "Of the CPU time of **{}**{}, {} was spent in the kernel and {} in user mode.",
            a.series_of(cell),
            a.at_load(level),
            share(system),
            share(user),
        )
    })
}
