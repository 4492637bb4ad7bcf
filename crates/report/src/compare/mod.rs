//! Two runs side by side: what differs around them, and what differs in them.
//!
//! The runs may come from different hosts, kernels or versions. They share no blocks, so their cells are compared as
//! independent samples (Mann and Whitney), with Holm's correction over the cells of each figure. What an unpaired
//! comparison cannot know is said first: whatever else changed between the two runs is in the ratios too.

mod gate;
mod html;
mod json;
mod text;

pub use gate::{Gate, GateError, GateOutcome};

use crate::Format;
use crate::analysis::known;
use pitot_lab::statistics::{Comparison, Estimate, Samples, judge};
use pitot_lab::{CellRecord, HostChange, Metric, Run, VerdictKind};

/// The figures that are compared, beside the headlines of the plans and those that gates name.
const METRICS: &[&str] =
    &["throughput", "cpu-per-request", "latency-p50", "latency-p99", "latency-p99.9", "memory"];

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

/// Compares `b` with `a`, in the usual figures and those that `gates` name.
pub fn compare<'r>(a: &'r Run, b: &'r Run, gates: &[Gate]) -> RunComparison<'r> {
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
    let mut metrics: Vec<&'static Metric> = Vec::new();
    let headlines = [known(&a.plan.metric), known(&b.plan.metric)];
    let named = METRICS.iter().map(|name| known(name)).chain(gates.iter().map(Gate::metric));
    for metric in headlines.into_iter().chain(named) {
        if metrics.iter().all(|m| m.name != metric.name) {
            metrics.push(metric);
        }
    }
    let metrics = metrics
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

/// Whether two cells have the same levels of the same factors, in whatever order.
fn same_levels(a: &CellRecord, b: &CellRecord) -> bool {
    a.factors.len() == b.factors.len()
        && a.factors.iter().all(|f| b.level(&f.name).is_some_and(|other| other.level == f.level))
}

fn table(metric: &'static Metric, pairs: &[CellPair<'_>], runs: (&Run, &Run), tolerance: f64) -> MetricTable {
    let values = |cell: &CellRecord, verdict: VerdictKind| {
        if verdict == VerdictKind::Failed { Vec::new() } else { crate::analysis::values(cell, metric) }
    };
    let samples: Vec<(Vec<f64>, Vec<f64>)> =
        pairs.iter().map(|p| (values(p.a, p.verdict_a), values(p.b, p.verdict_b))).collect();
    let family: Vec<Samples> =
        samples.iter().map(|(a, b)| Samples::Independent(b.clone(), a.clone())).collect();
    let rows = judge(&family, tolerance)
        .into_iter()
        .zip(samples)
        .map(|(comparison, (a, b))| MetricRow {
            a: Estimate::of(&a, runs.0.plan.statistic, runs.0.info.seed),
            b: Estimate::of(&b, runs.1.plan.statistic, runs.1.info.seed),
            comparison,
        })
        .collect();
    MetricTable { metric, rows }
}

/// What differs around the runs: versions and plans first, then the machines.
fn differences(a: &Run, b: &Run) -> Vec<HostChange> {
    let mut found = Vec::new();
    let mut note = |group: &str, name: &str, before: Option<String>, after: Option<String>| {
        if before != after {
            found.push(HostChange { group: group.into(), name: name.into(), before, after });
        }
    };
    note("version", "pitot", Some(a.info.version.clone()), Some(b.info.version.clone()));
    let version = |run: &Run, name: &str| {
        run.info.server_versions.iter().find(|(n, _)| n == name).map(|(_, version)| version.clone())
    };
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in a.info.server_versions.iter().chain(&b.info.server_versions) {
        if name != "pitot" && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for name in names {
        note("version", name, version(a, name), version(b, name));
    }
    let plan = |run: &Run| {
        [
            ("name", run.plan.name.clone()),
            ("repetitions", run.plan.repetitions.to_string()),
            ("warm-up", crate::number::span(run.plan.warmup_s)),
            ("duration", crate::number::span(run.plan.duration_s)),
            ("statistic", run.plan.statistic.to_string()),
        ]
    };
    for ((name, before), (_, after)) in plan(a).into_iter().zip(plan(b)) {
        note("plan", name, Some(before), Some(after));
    }
    note("cpus", "of the servers", Some(a.info.server_cpus.clone()), Some(b.info.server_cpus.clone()));
    note("cpus", "of the load", Some(a.info.load_cpus.clone()), Some(b.info.load_cpus.clone()));
    found.extend(a.host_before.changes_to(&b.host_before));
    found
}

/// The comparison in one of the forms of a report; CSV has none.
pub fn render_comparison(
    comparison: &RunComparison<'_>,
    gates: &[(Gate, GateOutcome)],
    format: Format,
) -> String {
    match format {
        Format::Terminal => text::terminal(comparison, gates),
        Format::Markdown | Format::Csv => text::markdown(comparison, gates),
        Format::Html => html::render(comparison, gates),
        Format::Json => json::render(comparison, gates),
    }
}

/// How a run is called where two are set side by side.
fn run_line(run: &Run) -> String {
    let file = run.path.file_name().unwrap_or_default().to_string_lossy();
    let started = run.info.started_at.get(..16).unwrap_or(&run.info.started_at).replace('T', " ");
    format!("{file} ({}, measured {started}, pitot {})", run.plan.name, run.info.version)
}

/// What a reader has to know before the figures.
fn cautions(c: &RunComparison<'_>) -> Vec<String> {
    let mut cautions = Vec::new();
    if c.a.info.id == c.b.info.id {
        cautions.push("Both files hold the same run: it is compared with itself.".to_owned());
    }
    if c.pairs.is_empty() {
        cautions.push("The runs have no cell in common: nothing can be compared.".to_owned());
    }
    for (side, run) in [("first", c.a), ("second", c.b)] {
        if !run.is_complete() {
            cautions.push(format!("The {side} run is not complete."));
        }
    }
    let doubtful = |verdict: VerdictKind| verdict != VerdictKind::Valid;
    let count = c.pairs.iter().filter(|p| doubtful(p.verdict_a) || doubtful(p.verdict_b)).count();
    if count > 0 {
        cautions.push(format!(
            "{count} of {} cells are not valid in one run or both: see their verdicts.",
            c.pairs.len()
        ));
    }
    cautions.push(
        "Two runs share no blocks: whatever changed between them, named here or not, is part of the ratios. To compare \
         two servers closely, put both into one plan."
            .to_owned(),
    );
    cautions
}
