//! Two runs side by side: what differs around them, and what differs in them.
//!
//! The runs may come from different hosts, kernels or versions. They share no blocks, so their cells are compared as
//! independent samples (Mann-Whitney), with Holm's correction over the cells of each metric. What an unpaired comparison
//! cannot know is said first: the ratios include any other change between the two runs.

use super::differences::{differences, same_levels};
use crate::analysis::{between_runs, headline, values};
use pitot_host::HostChange;
use pitot_lab::metric::Section;
use pitot_lab::statistics::{Comparison, Estimate, Samples, judge};
use pitot_lab::{CellRecord, METRICS, Metric, Run, VerdictKind};

/// Two runs, compared.
#[derive(Debug)]
pub struct RunComparison<'r> {
    /// The first run: the baseline.
    pub a: &'r Run,
    /// The second run: the candidate.
    pub b: &'r Run,
    /// Differences up to this share do not count: the larger one of the two plans.
    pub tolerance: f64,
    /// What differs between the machines and the versions.
    pub differences: Vec<HostChange>,
    /// The cells that both runs have, in the order of the first.
    pub pairs: Vec<CellPair<'r>>,
    /// The figures compared.
    pub metrics: Vec<MetricTable>,
    /// Cells of the first run without a match.
    pub only_a: Vec<String>,
    /// Cells of the second run without a match.
    pub only_b: Vec<String>,
}

/// A cell of both runs.
#[derive(Debug)]
pub struct CellPair<'r> {
    /// The levels joined.
    pub label: String,
    /// In the first run.
    pub a: &'r CellRecord,
    /// In the second run.
    pub b: &'r CellRecord,
    /// Whether the first can be trusted.
    pub verdict_a: VerdictKind,
    /// Whether the second can be trusted.
    pub verdict_b: VerdictKind,
}

/// One figure of all pairs.
#[derive(Debug)]
pub struct MetricTable {
    /// Which.
    pub metric: &'static Metric,
    /// In the order of [`RunComparison::pairs`].
    pub rows: Vec<MetricRow>,
}

/// One figure of a pair.
#[derive(Debug)]
pub struct MetricRow {
    /// The first run's figure.
    pub a: Option<Estimate>,
    /// The second run's figure.
    pub b: Option<Estimate>,
    /// The second over the first; none if either has no positive figure.
    pub comparison: Option<Comparison>,
}

/// Compares `b` with `a`, in the metrics that comparisons show, those of the plans, and `others`.
pub(super) fn compare_in<'r>(a: &'r Run, b: &'r Run, others: &[&'static Metric]) -> RunComparison<'r> {
    let tolerance = a.plan.tolerance.max(b.plan.tolerance);
    let partner = |cell: &CellRecord, run: &'r Run| run.cells.iter().find(|other| same_levels(cell, other));
    let pairs: Vec<CellPair<'r>> = a
        .cells
        .iter()
        .filter_map(|cell| {
            let other = partner(cell, b)?;
            Some(CellPair {
                label: cell.label(),
                a: cell,
                b: other,
                verdict_a: cell.verdict().kind,
                verdict_b: other.verdict().kind,
            })
        })
        .collect();
    let unmatched = |cells: &[CellRecord], run: &'r Run| -> Vec<String> {
        cells.iter().filter(|c| partner(c, run).is_none()).map(CellRecord::label).collect()
    };
    let metrics = metrics(a, b, others)
        .into_iter()
        .map(|metric| table(metric, &pairs, (a, b), tolerance))
        .filter(|t| t.rows.iter().any(|r| r.a.is_some() || r.b.is_some()))
        .collect();
    RunComparison {
        a,
        b,
        tolerance,
        differences: differences(a, b),
        only_a: unmatched(&a.cells, b),
        only_b: unmatched(&b.cells, a),
        pairs,
        metrics,
    }
}

/// The metrics to compare, each once.
fn metrics(a: &Run, b: &Run, others: &[&'static Metric]) -> Vec<&'static Metric> {
    let usual = METRICS.iter().filter(|m| m.is_shown_in(Section::Comparison));
    let mut metrics: Vec<&'static Metric> = Vec::new();
    for metric in [headline(a), headline(b)].into_iter().chain(usual).chain(others.iter().copied()) {
        if metrics.iter().all(|m| m.name != metric.name) {
            metrics.push(metric);
        }
    }
    metrics
}

/// The figure of a cell by its plan's statistic; none if it failed or has no value.
pub(super) fn estimate(run: &Run, cell: &CellRecord, metric: &Metric) -> Option<Estimate> {
    let failed = cell.verdict().kind == VerdictKind::Failed;
    (!failed).then(|| Estimate::of(&values(cell, metric), run.plan.statistic, run.info.seed))?
}

fn table(metric: &'static Metric, pairs: &[CellPair<'_>], runs: (&Run, &Run), tolerance: f64) -> MetricTable {
    let family: Vec<Samples> = pairs
        .iter()
        .map(|p| match [p.verdict_a, p.verdict_b].contains(&VerdictKind::Failed) {
            true => Samples::Independent(Vec::new(), Vec::new()),
            false => between_runs(p.b, p.a, metric),
        })
        .collect();
    let rows = judge(&family, tolerance)
        .into_iter()
        .zip(pairs)
        .map(|(comparison, pair)| MetricRow {
            a: estimate(runs.0, pair.a, metric),
            b: estimate(runs.1, pair.b, metric),
            comparison,
        })
        .collect();
    MetricTable { metric, rows }
}
