//! What all forms of a comparison say.

use super::comparison::{MetricRow, MetricTable, RunComparison};
use crate::amount::unit_of_run;
use crate::analysis::Analysis;
use crate::control::failed_controls;
use crate::number::figure_of;
use crate::phrase::{Tone, decision, ratio, tone};
use crate::text::{s, sentence, unmarked};
use pitot_lab::statistics::{Comparison, Decision, Estimate};
use pitot_lab::{Run, VerdictKind};
use std::fmt::Write as _;

/// A run in one line: its file, plan, time and version.
pub(super) fn run_line(run: &Run) -> String {
    let file = run.path.file_name().unwrap_or_default().to_string_lossy();
    let started = run.info.started_at.get(..16).unwrap_or(&run.info.started_at).replace('T', " ");
    format!("{file} ({}, measured {started}, pitot {})", run.plan.name, run.info.version)
}

/// What changed in the plan's metric, in one sentence for who reads no more.
pub(super) fn headline(c: &RunComparison<'_>) -> String {
    let Some(table) = c.metrics.first().filter(|_| !c.pairs.is_empty()) else {
        return "There is nothing to compare.".to_owned();
    };
    let compared = table.rows.iter().filter_map(|row| row.comparison.as_ref());
    let count = |is: &dyn Fn(&Comparison) -> bool| compared.clone().filter(|x| is(x)).count();
    let (noun, total) = (table.metric.words.noun, compared.clone().count());
    let worse = count(&|x| tone(x, table.metric) == Some(Tone::Worse));
    let better = count(&|x| tone(x, table.metric) == Some(Tone::Better));
    let open = total - worse - better - count(&|x| x.decision == Decision::Alike);
    let few = compared.clone().filter_map(|x| match x.decision {
        Decision::TooFewRepetitions { needed } => Some(needed),
        _ => None,
    });
    let few = few.max();
    let mut parts = Vec::new();
    for (cells, what) in [(worse, "worse"), (better, "better")] {
        if cells > 0 {
            parts.push(format!("{what} in {cells} of {total} cell{}", s(total)));
        }
    }
    let changed = if parts.is_empty() {
        format!("no significant change of {noun} in {total} cell{}", s(total))
    } else {
        format!("{noun} got {}", parts.join(", "))
    };
    let open = match (open, few) {
        (0, _) => String::new(),
        (_, Some(needed)) => format!("; it takes {needed} {}s to tell", unit_of_run(c.b)),
        (n, None) if n == total => "; none was measured well enough to exclude one".to_owned(),
        (n, None) => format!("; {n} could not be decided"),
    };
    sentence(&format!("{changed}{open}"))
}

/// What a reader has to know before the figures.
pub(super) fn cautions(c: &RunComparison<'_>) -> Vec<String> {
    let mut cautions = Vec::new();
    if c.a.info.id == c.b.info.id {
        cautions.push("Both files hold the same run: it is compared with itself.".to_owned());
    }
    if c.pairs.is_empty() {
        cautions.push("The runs have no cell in common: nothing can be compared.".to_owned());
    }
    for (side, run) in [("first", c.a), ("second", c.b)] {
        if !run.is_complete() {
            cautions.push(format!("The {side} run is incomplete."));
        }
        let failed = failed_controls(&Analysis::of(run));
        cautions
            .extend(failed.iter().map(|why| format!("The {side} run cannot be trusted. {}", unmarked(why))));
    }
    let doubtful = |verdict: VerdictKind| verdict != VerdictKind::Valid;
    let count = c.pairs.iter().filter(|p| doubtful(p.verdict_a) || doubtful(p.verdict_b)).count();
    if count > 0 {
        let total = c.pairs.len();
        cautions.push(format!(
            "{count} of {total} cell{} {} not valid in one run or both: see the verdict.",
            s(total),
            if count == 1 { "is" } else { "are" }
        ));
    }
    cautions.push(
        "The two runs were measured at different times, so the ratios include everything else that changed between them, \
         listed here or not. For a close comparison, measure both servers in one plan."
            .to_owned(),
    );
    cautions
}

/// The figures of both runs, the ratio, and what may be said of it. `unit` is what the runs have several of.
pub(super) fn entries(
    table: &MetricTable,
    row: &MetricRow,
    verdicts: (VerdictKind, VerdictKind),
    unit: &str,
) -> [String; 4] {
    let show = |e: &Option<Estimate>| {
        e.as_ref().map_or_else(|| "–".to_owned(), |e| figure_of(table.metric, e.value))
    };
    let mut verdict = row.comparison.as_ref().map_or_else(String::new, |c| decision(c, table.metric, unit));
    let doubts = match verdicts {
        (VerdictKind::Valid, VerdictKind::Valid) => String::new(),
        (a, b) if a == b => format!("both {}", a.name()),
        (VerdictKind::Valid, b) => format!("B {}", b.name()),
        (a, VerdictKind::Valid) => format!("A {}", a.name()),
        (a, b) => format!("A {}, B {}", a.name(), b.name()),
    };
    if !doubts.is_empty() {
        let gap = if verdict.is_empty() { "" } else { "; " };
        let _ = write!(verdict, "{gap}{doubts}");
    }
    let times = row.comparison.as_ref().map_or_else(|| "–".to_owned(), ratio);
    [show(&row.a), show(&row.b), times, verdict]
}
