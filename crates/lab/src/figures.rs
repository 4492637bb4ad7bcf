//! The figures of a cell in a metric.

use pitot_results::VerdictKind;

use crate::metric::Metric;
use crate::record::CellRecord;

impl CellRecord {
    /// The figures of a metric (see [`METRICS`](crate::METRICS)) with their blocks, from all repetitions that did
    /// not fail and have one.
    pub fn figures(&self, metric: &Metric) -> Vec<(u32, f64)> {
        self.repetitions
            .iter()
            .filter(|r| r.verdict.kind != VerdictKind::Failed)
            .filter_map(|r| Some((r.block, (metric.read)(r)?)))
            .collect()
    }
}
