//! The figures of a cell in a metric, and those of two cells that are compared.

use pitot_results::VerdictKind;

use crate::metric::Metric;
use crate::run::{CellRecord, Repetition, Run, Slice};
use pitot_plan::{Measure, Plan};
use pitot_stats::{Samples, Undisturbed, apart_log_ratio, generation_log_ratio, round_log_ratios};

impl CellRecord {
    /// The figures of a metric (see [`METRICS`](crate::METRICS)) with their blocks, from all repetitions that did
    /// not fail and have one.
    pub fn figures(&self, metric: &Metric) -> Vec<(u32, f64)> {
        self.good().filter_map(|r| Some((r.block, metric.of(r)?))).collect()
    }

    fn good(&self) -> impl Iterator<Item = &Repetition> {
        self.repetitions.iter().filter(|r| r.verdict.kind != VerdictKind::Failed)
    }

    /// The repetition of a block, or generation, unless it failed.
    fn good_in(&self, block: u32) -> Option<&Repetition> {
        // Usually none is missing.
        let usual = self.repetitions.get(block as usize).filter(|r| r.block == block);
        let found = usual.or_else(|| self.repetitions.iter().find(|r| r.block == block))?;
        (found.verdict.kind != VerdictKind::Failed).then_some(found)
    }
}

impl Run {
    /// A cell as a side of a comparison.
    pub fn side<'r>(&'r self, cell: &'r CellRecord) -> Side<'r> {
        Side::with(cell, self.control_of(cell))
    }
}

/// A side of a comparison: a cell and, if it has an A/A control, that.
///
/// The control is the same server once more, so its slices tell as much of the server as the cell's own. With both, the
/// ratio to a baseline varies less by a quarter of the variance, if all of it is that of slices. What the control is for, the
/// ratio of the two copies, is not correlated with that of a candidate to their mean if they vary alike.
#[derive(Clone, Copy, Debug)]
pub struct Side<'r> {
    cell: &'r CellRecord,
    control: Option<&'r CellRecord>,
}

impl<'r> Side<'r> {
    /// A cell alone.
    pub fn alone(cell: &'r CellRecord) -> Side<'r> {
        Side { cell, control: None }
    }

    /// A cell with its control, if it has one.
    pub fn with(cell: &'r CellRecord, control: Option<&'r CellRecord>) -> Side<'r> {
        Side { cell, control }
    }

    /// The data of a comparison with `baseline` in a metric: one log ratio for each common generation, if both are measured
    /// in slices; figures paired by block, if neither is; unpaired figures if only one is. `plan` says whether the run was
    /// sequential.
    pub fn samples_against(&self, baseline: &Side<'_>, metric: &Metric, plan: &Plan) -> Samples {
        let (a, b) = (self.cell.figures(metric), baseline.cell.figures(metric));
        match (self.cell.measure, baseline.cell.measure) {
            (Measure::Slices, Measure::Slices) => {}
            (Measure::Fresh, Measure::Fresh) => return Samples::by_block(&a, &b),
            _ => {
                let values = |figures: Vec<(u32, f64)>| figures.into_iter().map(|(_, value)| value).collect();
                return Samples::Independent(values(a), values(b));
            }
        }
        let ratios = self.log_ratios(baseline, metric);
        match plan.until_decided_s {
            Some(_) if plan.time_was_over => Samples::TimeOver(ratios),
            Some(_) => Samples::UntilDecided(ratios),
            None => Samples::Generations(ratios),
        }
    }

    /// The log ratio to `baseline` in each common generation: of their slices, if slices have the metric; else of the
    /// figures of the cells. Slices that were taken in turn are compared round by round; others, as with host settings, all
    /// with all.
    pub fn log_ratios(&self, baseline: &Side<'_>, metric: &Metric) -> Vec<f64> {
        let mut undisturbed = Undisturbed::default();
        let ratio = |candidate: &Repetition| {
            let other = baseline.cell.good_in(candidate.block)?;
            let Some(read) = metric.in_slice else {
                let ratio = (metric.of(candidate)? / metric.of(other)?).ln();
                return ratio.is_finite().then_some(ratio);
            };
            if are_side_by_side(&candidate.slices, &other.slices) {
                return generation_log_ratio(&self.rounds(baseline, candidate.block, read, &mut undisturbed));
            }
            let figures = |side: &Side<'_>| side.by_round(candidate.block, read);
            apart_log_ratio(&figures(self), &figures(baseline))
        };
        self.cell.good().filter_map(ratio).collect()
    }

    /// The log ratios to `baseline` in the rounds of each generation, if slices have the metric.
    pub fn round_log_ratios(&self, baseline: &Side<'_>, metric: &Metric) -> Vec<Vec<f64>> {
        let Some(read) = metric.in_slice else { return Vec::new() };
        let mut undisturbed = Undisturbed::default();
        self.cell
            .good()
            .map(|candidate| self.rounds(baseline, candidate.block, read, &mut undisturbed))
            .collect()
    }

    /// The log ratios to `baseline` in the rounds of a generation that count.
    fn rounds(
        &self,
        baseline: &Side<'_>,
        block: u32,
        read: fn(&Slice) -> Option<f64>,
        undisturbed: &mut Undisturbed,
    ) -> Vec<f64> {
        let ratios = round_log_ratios(&self.by_round(block, read), &baseline.by_round(block, read));
        let pace = |slice: &Slice| slice.pace_ns.map(|ns| ns as f64);
        undisturbed.of_generation(&ratios, &self.by_round(block, pace), &baseline.by_round(block, pace))
    }

    /// The figures of the slices of a generation, with their rounds.
    fn by_round(&self, block: u32, read: fn(&Slice) -> Option<f64>) -> Vec<(u32, f64)> {
        self.slices(block).filter_map(|slice| Some((slice.round, read(slice)?))).collect()
    }

    /// The slices of all copies in a generation.
    fn slices(&self, block: u32) -> impl Iterator<Item = &'r Slice> {
        let copies = std::iter::once(self.cell).chain(self.control);
        copies.filter_map(move |cell| cell.good_in(block)).flat_map(|r| &r.slices)
    }
}

/// Whether slices of two cells were taken in turn, so that their times overlap.
fn are_side_by_side(a: &[Slice], b: &[Slice]) -> bool {
    let span = |slices: &[Slice]| {
        let times = || slices.iter().map(|slice| slice.began_unix_ns);
        times().min().zip(times().max())
    };
    match (span(a), span(b)) {
        (Some(a), Some(b)) => a.0 <= b.1 && b.0 <= a.1,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric;

    /// A cell with a repetition for each list of requests of its slices, one in a round.
    fn cell(id: i64, measure: Measure, repetitions: &[&[u64]]) -> CellRecord {
        let repetition = |(block, requests): (u32, &&[u64])| Repetition {
            block,
            load: Some(pitot_results::load::LoadResult {
                throughput_rps: requests.iter().sum::<u64>() as f64 / requests.len() as f64,
                ..pitot_results::load::LoadResult::default()
            }),
            slices: (0..)
                .zip(*requests)
                .map(|(round, &requests)| Slice {
                    round,
                    requests,
                    duration_ns: 1_000_000_000,
                    ..Slice::default()
                })
                .collect(),
            ..Repetition::default()
        };
        CellRecord {
            id,
            factors: Vec::new(),
            server_command: String::new(),
            load_command: String::new(),
            measure,
            fresh_reason: String::new(),
            control_of: None,
            repetitions: (0..).zip(repetitions).map(repetition).collect(),
        }
    }

    #[test]
    fn cells_are_compared_by_what_they_have_in_common() {
        let throughput = metric::find("throughput").unwrap();
        // Each round has half as many requests again; a burst in the second generation met both.
        let one = |measure| cell(1, measure, &[&[150, 300], &[15, 150]]);
        let other = |measure| cell(2, measure, &[&[100, 200], &[10, 100]]);
        let of = |a: Measure, b: Measure, plan: &Plan| {
            Side::alone(&one(a)).samples_against(&Side::alone(&other(b)), throughput, plan)
        };
        let plan = Plan::default();
        let Samples::Generations(ratios) = of(Measure::Slices, Measure::Slices, &plan) else { panic!() };
        assert!(ratios.len() == 2 && ratios.iter().all(|r| (r - 1.5f64.ln()).abs() < 1e-12), "{ratios:?}");
        let until = Plan { until_decided_s: Some(60.0), ..Plan::default() };
        assert_eq!(of(Measure::Slices, Measure::Slices, &until), Samples::UntilDecided(ratios));
        let paired = Samples::Paired(vec![(225.0, 150.0), (82.5, 55.0)]);
        assert_eq!(of(Measure::Fresh, Measure::Fresh, &plan), paired);
        let independent = Samples::Independent(vec![225.0, 82.5], vec![150.0, 55.0]);
        assert_eq!(of(Measure::Slices, Measure::Fresh, &plan), independent);
        assert_eq!(of(Measure::Fresh, Measure::Slices, &plan), independent);
    }

    #[test]
    fn the_slices_of_a_control_count_as_the_cells_own() {
        let throughput = metric::find("throughput").unwrap();
        let candidate = cell(1, Measure::Slices, &[&[300, 300], &[300, 300]]);
        let baseline = cell(2, Measure::Slices, &[&[100, 120], &[100, 100]]);
        // It failed in the second generation.
        let control = cell(3, Measure::Slices, &[&[200, 180]]);
        let ratios = |a: Side<'_>, b: Side<'_>| a.log_ratios(&b, throughput);
        let baselines = Side::with(&baseline, Some(&control));
        let both = ratios(Side::alone(&candidate), baselines);
        assert!((both[0] - 2f64.ln()).abs() < 1e-12 && (both[1] - 3f64.ln()).abs() < 1e-12, "{both:?}");
        let turned = ratios(baselines, Side::alone(&candidate));
        assert!(both.iter().zip(turned).all(|(a, b)| (a + b).abs() < 1e-12));
        assert_eq!(ratios(Side::alone(&control), Side::alone(&baseline)).len(), 1);
    }
}
