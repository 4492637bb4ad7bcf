//! Two runs side by side, which may come from different hosts, kernels or versions.
//!
//! They share no blocks, so their cells are compared as independent samples (Mann-Whitney), with Holm's correction over the cells of
//! each metric. An interval within a run does not include what differs between runs. So a cell is compared by its ratio to a
//! **reference**, the plan's baseline if it is the same in both runs: what slows down a whole run cancels out. How far apart equal
//! servers still are is estimated from the reference and its controls ([`BetweenRuns`]), and widens every interval. Without a
//! reference no interval is reported.
//!
//! In a single run each cell is compared with its baseline, generation by generation.

use super::differences::{differences, identity, same_levels};
use crate::analysis::{between_runs, levels_words, ratios, ratios_of_control, values, within_run};
use pitot_host::HostChange;
use pitot_plan::{Levels, SERVER_FACTOR};
use pitot_record::metric::{Section, of_plan};
use pitot_record::{CellRecord, METRICS, Metric, Run};
use pitot_results::VerdictKind;
use pitot_stats::{
    BetweenRuns, Comparison, Decision, Estimate, ReferenceChange, Samples, hodges_lehmann, judge,
    judge_between,
};

/// Two runs, compared; or the cells of one with their baselines.
#[derive(Debug)]
pub struct RunComparison<'r> {
    /// The first run, the baseline.
    pub a: &'r Run,
    /// The second run, the candidate.
    pub b: &'r Run,
    /// The larger tolerance of the two plans.
    pub(super) tolerance: f64,
    /// How machines, versions and plans differ.
    pub differences: Vec<HostChange>,
    /// The cells that both runs have, in the order of the first.
    pub pairs: Vec<CellPair<'r>>,
    /// The compared metrics.
    pub metrics: Vec<MetricTable>,
    /// Whether it is one run: each cell against its baseline.
    pub(super) is_within: bool,
    /// Cells of the first run without a match.
    pub only_a: Vec<String>,
    /// Cells of the second run without a match.
    pub only_b: Vec<String>,
}

impl RunComparison<'_> {
    /// `A`, or the baseline of a single run.
    pub(super) fn name_of_a(&self) -> String {
        match &self.a.plan.baseline {
            Some(levels) if self.is_within => levels_words(levels),
            _ => "A".to_owned(),
        }
    }

    /// ` in the second run`; empty within one run.
    pub(super) fn in_b(&self) -> &'static str {
        if self.is_within { "" } else { " in the second run" }
    }
}

#[derive(Debug)]
pub struct CellPair<'r> {
    pub label: String,
    pub a: &'r CellRecord,
    pub b: &'r CellRecord,
    pub verdict_a: VerdictKind,
    pub verdict_b: VerdictKind,
    /// The reference in both runs, if they share one.
    pub(super) reference: Option<(&'r CellRecord, &'r CellRecord)>,
    pub(super) is_reference: bool,
}

impl CellPair<'_> {
    pub(super) fn is_sound(&self) -> bool {
        ![self.verdict_a, self.verdict_b].contains(&VerdictKind::Failed)
    }
}

#[derive(Debug)]
pub struct MetricTable {
    pub metric: &'static Metric,
    /// In the order of [`RunComparison::pairs`].
    pub rows: Vec<MetricRow>,
    /// How far apart equal servers are in the two runs; none without a reference, and within a run.
    pub between: Option<BetweenRuns>,
}

#[derive(Debug)]
pub struct MetricRow {
    pub a: Option<Estimate>,
    pub b: Option<Estimate>,
    /// B/A; none if either has no positive figure.
    pub comparison: Option<Comparison>,
}

/// Compares `b` with `a`, in the metrics that comparisons show, those of the plans, and `others`.
pub(super) fn compare_in<'r>(a: &'r Run, b: &'r Run, others: &[&'static Metric]) -> RunComparison<'r> {
    let tolerance = a.plan.tolerance.max(b.plan.tolerance);
    let partner = |cell: &CellRecord, run: &'r Run| run.cells.iter().find(|other| same_levels(cell, other));
    let mut pairs: Vec<CellPair<'r>> = a
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
                reference: reference(cell, other, (a, b)),
                is_reference: false,
            })
        })
        .collect();
    let references: Vec<i64> = pairs.iter().filter_map(|p| Some(p.reference?.0.id)).collect();
    pairs.iter_mut().for_each(|pair| pair.is_reference = references.contains(&pair.a.id));
    let unmatched = |cells: &[CellRecord], run: &'r Run| -> Vec<String> {
        cells.iter().filter(|c| partner(c, run).is_none()).map(CellRecord::label).collect()
    };
    let metrics = metrics(a, b, others)
        .into_iter()
        .map(|metric| table(metric, &pairs, (a, b), tolerance))
        .filter(MetricTable::has_figures)
        .collect();
    RunComparison {
        a,
        b,
        tolerance,
        differences: differences(a, b),
        is_within: false,
        only_a: unmatched(&a.cells, b),
        only_b: unmatched(&b.cells, a),
        pairs,
        metrics,
    }
}

pub(super) fn compare_within<'r>(run: &'r Run, others: &[&'static Metric]) -> RunComparison<'r> {
    let pair = |cell: &'r CellRecord| {
        let baseline = run.baseline_of(cell).filter(|_| !run.plan.is_reference(&cell.factors))?;
        Some(CellPair {
            label: cell.label(),
            a: baseline,
            b: cell,
            verdict_a: baseline.verdict().kind,
            verdict_b: cell.verdict().kind,
            reference: None,
            is_reference: false,
        })
    };
    let pairs: Vec<CellPair<'r>> = run.cells.iter().filter_map(pair).collect();
    let table = |metric| {
        let family: Vec<Samples> = pairs
            .iter()
            .map(|p| match p.is_sound() {
                true => within_run(run, p.b, p.a, metric),
                false => Samples::Independent(Vec::new(), Vec::new()),
            })
            .collect();
        rows(metric, &pairs, (run, run), judge(&family, run.plan.tolerance), None)
    };
    let metrics = metrics(run, run, others).into_iter().map(table).filter(MetricTable::has_figures).collect();
    RunComparison {
        a: run,
        b: run,
        tolerance: run.plan.tolerance,
        differences: Vec::new(),
        is_within: true,
        only_a: Vec::new(),
        only_b: Vec::new(),
        pairs,
        metrics,
    }
}

/// The reference of a cell in both runs, if it is the same server.
fn reference<'r>(
    of_a: &CellRecord,
    of_b: &CellRecord,
    (a, b): (&'r Run, &'r Run),
) -> Option<(&'r CellRecord, &'r CellRecord)> {
    if reference_levels(a) != reference_levels(b) {
        return None;
    }
    let (one, other) = (reference_in(a, of_a)?, reference_in(b, of_b)?);
    (same_levels(one, other) && identity(a, one) == identity(b, other)).then_some((one, other))
}

fn reference_levels(run: &Run) -> Option<&Levels> {
    run.plan.reference.as_ref().or(run.plan.baseline.as_ref())
}

/// The reference of a cell in its run: that of the plan, or else its baseline, if that is a server that did not fail.
pub(crate) fn reference_in<'r>(run: &'r Run, cell: &CellRecord) -> Option<&'r CellRecord> {
    let levels = reference_levels(run)?;
    let is_server = |(name, _): &(String, Vec<String>)| name == SERVER_FACTOR || name.starts_with("server.");
    // The reference has no ratio to itself.
    if !levels.0.iter().all(is_server) || levels.matches(&cell.factors) {
        return None;
    }
    run.counterpart(cell, levels).filter(|reference| reference.verdict().kind != VerdictKind::Failed)
}

/// How far apart equal servers are in the two runs in a metric; none without a reference that has a figure.
fn between(pairs: &[CellPair<'_>], (a, b): (&Run, &Run), metric: &Metric) -> Option<BetweenRuns> {
    let mut references: Vec<(&CellRecord, &CellRecord)> = pairs.iter().filter_map(|p| p.reference).collect();
    references.sort_by_key(|(one, _)| one.id);
    references.dedup_by_key(|(one, _)| one.id);
    let middle = |ratios: Vec<f64>| hodges_lehmann(&ratios.into_iter().map(f64::ln).collect::<Vec<_>>());
    // A reference that is not the baseline has no copy, and that of the baseline shows as much.
    let of_control = |run: &Run, cell: &CellRecord| {
        let cell = if run.control_of(cell).is_some() { cell } else { run.baseline_of(cell)? };
        middle(ratios_of_control(run, run.control_of(cell)?, cell, metric)?)
    };
    let of_itself =
        |run: &Run, cell: &CellRecord| Some(estimate(run, cell, metric)?.value).filter(|v| *v > 0.0);
    let change = |&(one, other): &(&CellRecord, &CellRecord)| {
        let itself = (of_itself(b, other)? / of_itself(a, one)?).ln();
        let twins = of_control(a, one).zip(of_control(b, other)).map(<[f64; 2]>::from);
        Some(ReferenceChange { itself, twins })
    };
    BetweenRuns::of(&references.iter().filter_map(change).collect::<Vec<_>>())
}

fn metrics(a: &Run, b: &Run, others: &[&'static Metric]) -> Vec<&'static Metric> {
    let usual = METRICS.iter().filter(|m| m.is_shown_in(Section::Comparison));
    let mut metrics: Vec<&'static Metric> = Vec::new();
    for metric in [of_plan(&a.plan), of_plan(&b.plan)].into_iter().chain(usual).chain(others.iter().copied())
    {
        if metrics.iter().all(|m| m.name != metric.name) {
            metrics.push(metric);
        }
    }
    metrics
}

/// The figure of a cell by its plan's statistic; none if it failed or has no value.
pub(crate) fn estimate(run: &Run, cell: &CellRecord, metric: &Metric) -> Option<Estimate> {
    let failed = cell.verdict().kind == VerdictKind::Failed;
    (!failed).then(|| Estimate::of(&values(cell, metric), run.plan.statistic, run.info.seed))?
}

fn table(metric: &'static Metric, pairs: &[CellPair<'_>], runs: (&Run, &Run), tolerance: f64) -> MetricTable {
    let between = between(pairs, runs, metric);
    let by_reference = |p: &CellPair<'_>| {
        let (a, b) = p.reference.filter(|_| between.is_some())?;
        let (of_a, of_b) = (ratios(runs.0, p.a, a, metric)?, ratios(runs.1, p.b, b, metric)?);
        Some(Samples::Independent(of_b, of_a))
    };
    let nothing = || Samples::Independent(Vec::new(), Vec::new());
    let related: Vec<Option<Samples>> =
        pairs.iter().map(|p| by_reference(p).filter(|_| p.is_sound())).collect();
    let family: Vec<Samples> = related.iter().map(|s| s.clone().unwrap_or_else(nothing)).collect();
    // Without a reference there is a ratio, and no interval.
    let raw: Vec<Samples> =
        pairs.iter().map(|p| if p.is_sound() { between_runs(p.b, p.a, metric) } else { nothing() }).collect();
    let open = |comparison: Comparison| Comparison {
        interval: None,
        test: None,
        p_alone: None,
        p: None,
        decision: Decision::NoReference,
        ..comparison
    };
    let judged = match between {
        Some(between) => judge_between(&family, tolerance, between),
        None => vec![None; family.len()],
    };
    let raw = judge(&raw, tolerance).into_iter().map(|comparison| comparison.map(open));
    let comparisons = judged.into_iter().zip(raw).map(|(judged, raw)| judged.or(raw)).collect();
    rows(metric, pairs, runs, comparisons, between)
}

fn rows(
    metric: &'static Metric,
    pairs: &[CellPair<'_>],
    runs: (&Run, &Run),
    comparisons: Vec<Option<Comparison>>,
    between: Option<BetweenRuns>,
) -> MetricTable {
    let row = |(comparison, pair): (Option<Comparison>, &CellPair<'_>)| MetricRow {
        a: estimate(runs.0, pair.a, metric),
        b: estimate(runs.1, pair.b, metric),
        comparison,
    };
    MetricTable { metric, rows: comparisons.into_iter().zip(pairs).map(row).collect(), between }
}

impl MetricTable {
    fn has_figures(&self) -> bool {
        self.rows.iter().any(|row| row.a.is_some() || row.b.is_some())
    }
}
