//! The values of a comparison, by how the cells of a pair were measured.

use pitot_record::{CellRecord, Metric, Run, Side};
use pitot_stats::Samples;

/// The values of two cells of one run: by generation if they were measured in slices, else paired by block.
pub(crate) fn within_run(
    run: &Run,
    candidate: &CellRecord,
    baseline: &CellRecord,
    metric: &Metric,
) -> Samples {
    run.side(candidate).samples_against(&run.side(baseline), metric, &run.plan)
}

/// The values of a cell in two runs, which share no blocks: they are not paired.
pub(crate) fn between_runs(candidate: &CellRecord, baseline: &CellRecord, metric: &Metric) -> Samples {
    Samples::Independent(values(candidate, metric), values(baseline, metric))
}

/// The ratios of two cells of one run, generation by generation or block by block; none if they share neither.
pub(crate) fn ratios(
    run: &Run,
    candidate: &CellRecord,
    baseline: &CellRecord,
    metric: &Metric,
) -> Option<Vec<f64>> {
    usable(within_run(run, candidate, baseline, metric))
}

/// The ratios of an A/A control to its cell, likewise.
pub(crate) fn ratios_of_control(
    run: &Run,
    control: &CellRecord,
    cell: &CellRecord,
    metric: &Metric,
) -> Option<Vec<f64>> {
    usable(Side::alone(control).samples_against(&Side::alone(cell), metric, &run.plan))
}

fn usable(samples: Samples) -> Option<Vec<f64>> {
    let ratios: Vec<f64> = match samples {
        Samples::Paired(pairs) => pairs.into_iter().map(|(a, b)| a / b).collect(),
        Samples::Generations(logs) | Samples::UntilDecided(logs) | Samples::TimeOver(logs) => {
            logs.into_iter().map(f64::exp).collect()
        }
        Samples::Independent(..) => return None,
    };
    let usable: Vec<f64> = ratios.into_iter().filter(|ratio| *ratio > 0.0 && ratio.is_finite()).collect();
    (!usable.is_empty()).then_some(usable)
}

/// The values of a cell without their blocks: one for each repetition that did not fail.
pub(crate) fn values(record: &CellRecord, metric: &Metric) -> Vec<f64> {
    record.figures(metric).into_iter().map(|(_, value)| value).collect()
}
