//! The figures of a cell in a metric, and those of two cells that are compared.

use pitot_results::VerdictKind;

use crate::metric::Metric;
use crate::plan::{Measure, Plan};
use crate::record::{CellRecord, Repetition};
use crate::statistics::{Samples, generation_log_ratio};

impl CellRecord {
    /// The figures of a metric (see [`METRICS`](crate::METRICS)) with their blocks, from all repetitions that did
    /// not fail and have one.
    pub fn figures(&self, metric: &Metric) -> Vec<(u32, f64)> {
        self.good().filter_map(|r| Some((r.block, (metric.read)(r)?))).collect()
    }

    /// What a comparison of this cell with `baseline` in a metric is drawn from: one log ratio for each generation that
    /// both have, if both are measured in slices; else their figures, paired by block. `plan` says whether the run
    /// looked at them while it went on.
    pub fn samples_against(&self, baseline: &CellRecord, metric: &Metric, plan: &Plan) -> Samples {
        if self.measure == Measure::Fresh || baseline.measure == Measure::Fresh {
            return Samples::by_block(&self.figures(metric), &baseline.figures(metric));
        }
        let ratios = self.log_ratios(baseline, metric).into_iter().map(|(_, ratio)| ratio).collect();
        match plan.until_decided_s {
            Some(_) => Samples::UntilDecided(ratios),
            None => Samples::Generations(ratios),
        }
    }

    /// The log ratio of this cell to `baseline` in each generation that both have: of their slices, round by round, in a
    /// metric that slices have; else of their figures.
    pub fn log_ratios(&self, baseline: &CellRecord, metric: &Metric) -> Vec<(u32, f64)> {
        let ratio = |candidate: &Repetition| {
            let other = baseline.good().find(|r| r.block == candidate.block)?;
            let ratio = match metric.in_slice {
                Some(read) => {
                    let figures = |r: &Repetition| -> Vec<(u32, f64)> {
                        r.slices.iter().filter_map(|s| Some((s.round, read(s)?))).collect()
                    };
                    generation_log_ratio(&figures(candidate), &figures(other))?
                }
                None => {
                    let ratio = ((metric.read)(candidate)? / (metric.read)(other)?).ln();
                    ratio.is_finite().then_some(ratio)?
                }
            };
            Some((candidate.block, ratio))
        };
        self.good().filter_map(ratio).collect()
    }

    fn good(&self) -> impl Iterator<Item = &Repetition> {
        self.repetitions.iter().filter(|r| r.verdict.kind != VerdictKind::Failed)
    }
}
