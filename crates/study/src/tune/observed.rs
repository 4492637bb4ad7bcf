//! The figures of combinations in a run file.

use pitot_plan::SETTINGS_FACTOR;
use pitot_record::metric::{Better, Metric};
use pitot_record::{CellRecord, Repetition, Run};
use pitot_results::VerdictKind;
use pitot_stats::trimmed_mean;

/// The logarithm of the figure of a set of settings in a generation, with the sign that makes more better: the mean over
/// the plan's cells, so that an effect is the geometric mean over them. None if a cell has no figure.
pub fn log_figure(run: &Run, metric: &Metric, set: &str, generation: u32) -> Option<f64> {
    let cells =
        run.cells.iter().filter(|cell| cell.level(SETTINGS_FACTOR).is_some_and(|level| level.level == set));
    let (mut sum, mut count) = (0.0, 0);
    for cell in cells {
        sum += of_cell(cell, metric, generation)?;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

/// Why a set lacks figures: the reason of the first repetition that failed, or why it was not measured in slices.
pub fn why_lost<'a>(run: &'a Run, set: &str) -> Option<&'a str> {
    let of_set = |cell: &&CellRecord| cell.level(SETTINGS_FACTOR).is_some_and(|level| level.level == set);
    let cells = || run.cells.iter().filter(of_set);
    let failed = cells().flat_map(CellRecord::failures).map(|repetition| repetition.verdict.reason.as_str());
    let fresh = cells().map(|cell| cell.fresh_reason.as_str()).filter(|reason| !reason.is_empty());
    failed.chain(fresh).next()
}

fn of_cell(cell: &CellRecord, metric: &Metric, generation: u32) -> Option<f64> {
    let good = |r: &&Repetition| r.block == generation && r.verdict.kind != VerdictKind::Failed;
    let repetition = cell.repetitions.iter().find(good)?;
    let log = match metric.in_slice {
        // Trimmed, so that a burst of noise over a quarter of the slices has no effect, as in comparisons.
        Some(read) => {
            let figures: Vec<f64> = repetition.slices.iter().filter_map(read).collect();
            trimmed_mean(&figures, figures.len() as u32 / 4)?.ln()
        }
        None => metric.of(repetition)?.ln(),
    };
    let turned = match metric.better {
        Better::Higher => log,
        Better::Lower => -log,
    };
    turned.is_finite().then_some(turned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_plan::SETTINGS_FACTOR;
    use pitot_plan::{FactorLevel, Measure};
    use pitot_record::Slice;
    use pitot_record::metric;

    #[test]
    fn a_generation_is_the_middle_of_its_slices_and_less_is_better_where_the_metric_says_so() {
        let slice = |requests| Slice { requests, duration_ns: 1_000_000_000, ..Slice::default() };
        let cell = CellRecord {
            id: 1,
            factors: vec![FactorLevel::new(SETTINGS_FACTOR, "2 5")],
            server_command: String::new(),
            load_command: String::new(),
            measure: Measure::Slices,
            fresh_reason: String::new(),
            control_of: None,
            repetitions: vec![Repetition {
                block: 3,
                slices: [100, 100, 100, 1].map(slice).to_vec(),
                ..Repetition::default()
            }],
        };
        let throughput = metric::find("throughput").unwrap();
        assert!((of_cell(&cell, throughput, 3).unwrap() - 100f64.ln()).abs() < 1e-9);
        assert_eq!(of_cell(&cell, throughput, 2), None);
    }
}
