//! The sentences of a comparison.

use super::comparison::{CellPair, MetricRow, MetricTable, RunComparison};
use crate::amount::unit_of_run;
use crate::analysis::Analysis;
use crate::control::failed_controls;
use crate::number::{figure_of, percent, plain};
use crate::phrase::{decision, ratio, shown_to_exceed, tone};
use crate::text::{s, sentence, unmarked};
use crate::tone::Tone;
use crate::trust::{Grade, trust};
use pitot_plan::SERVER_FACTOR;
use pitot_record::Run;
use pitot_results::VerdictKind;
use pitot_stats::{ALPHA, Comparison, Decision, Estimate};
use std::fmt::Write as _;

/// Logarithms above this are shown as a factor instead of a percentage.
const FACTOR_FROM: f64 = std::f64::consts::LN_2;

/// A run in one line: its file, plan, time and version.
pub(super) fn run_line(run: &Run) -> String {
    let file = run.path.file_name().unwrap_or_default().to_string_lossy();
    let started = run.info.started_at.get(..16).unwrap_or(&run.info.started_at).replace('T', " ");
    format!("{file} ({}, measured {started}, pitot {})", run.plan.name, run.info.version)
}

/// What changed in the plan's metric, in one sentence.
pub(super) fn headline(c: &RunComparison<'_>) -> String {
    let Some(table) = c.metrics.first().filter(|_| !c.pairs.is_empty()) else {
        return "There is nothing to compare.".to_owned();
    };
    let rows = c.pairs.iter().zip(&table.rows).filter(|(pair, _)| !pair.is_reference);
    let compared = rows.filter_map(|(_, row)| row.comparison.as_ref());
    let count = |is: &dyn Fn(&Comparison) -> bool| compared.clone().filter(|x| is(x)).count();
    let (noun, total) = (table.metric.words.noun, compared.clone().count());
    if total == 0 {
        let failed: Vec<&str> =
            c.pairs.iter().filter(|pair| !pair.is_sound()).map(|pair| pair.label.as_str()).collect();
        let why = if failed.is_empty() { String::new() } else { format!(": {} failed", failed.join("; ")) };
        return sentence(&format!("no cell can be compared in {noun}{why}"));
    }
    let worse = count(&|x| tone(x, table.metric) == Some(Tone::Bad));
    let better = count(&|x| tone(x, table.metric) == Some(Tone::Good));
    let open = total - worse - better - count(&|x| x.decision == Decision::Alike);
    let few = compared.clone().filter_map(|x| match x.decision {
        Decision::TooFewRepetitions { needed } => Some(needed),
        _ => None,
    });
    let few = few.max();
    let mut parts = Vec::new();
    for (cells, wanted) in [(worse, Tone::Bad), (better, Tone::Good)] {
        if cells > 0 {
            let most = furthest(c, table, &|x| tone(x, table.metric) == Some(wanted));
            let most = most.map_or_else(String::new, |(label, x)| {
                let most = if cells > 1 { "most " } else { "" };
                format!(" ({most}{label}: {})", ratio(x))
            });
            parts.push(format!("{} in {cells} of {total} cell{}{most}", wanted.change(), s(total)));
        }
    }
    let changed = if parts.is_empty() {
        let most = furthest(c, table, &|x| x.decision != Decision::NoReference);
        let most = most.map_or_else(String::new, |(label, x)| format!(" (most {label}: {})", ratio(x)));
        format!("no change of {noun} in {total} cell{} is {}{most}", s(total), shown_to_exceed(c.tolerance))
    } else {
        format!("{noun} got {}", parts.join(", "))
    };
    let open = match (open, few) {
        (0, _) => String::new(),
        (n, _) if n == count(&|x| x.decision == Decision::NoReference) => {
            "; without a shared reference, no change can be declared".to_owned()
        }
        (_, Some(needed)) => format!("; it takes {needed} {}s to tell", unit_of_run(c.b)),
        (n, None) if n == total => "; no cell was measured precisely enough to exclude a change".to_owned(),
        (n, None) => format!("; {n} undecided"),
    };
    sentence(&format!("{changed}{open}"))
}

/// The cell whose ratio is furthest from 1 of those that are `wanted`, with it.
fn furthest<'c>(
    c: &'c RunComparison<'_>,
    table: &'c MetricTable,
    wanted: &dyn Fn(&Comparison) -> bool,
) -> Option<(&'c str, &'c Comparison)> {
    let rows = c.pairs.iter().zip(&table.rows).filter(|(pair, _)| !pair.is_reference);
    let compared = rows.filter_map(|(pair, row)| Some((pair.label.as_str(), row.comparison.as_ref()?)));
    let distance = |x: &Comparison| x.ratio.ln().abs();
    compared.filter(|(_, x)| wanted(x)).max_by(|(_, x), (_, y)| distance(x).total_cmp(&distance(y)))
}

/// What a reader must know before the figures.
pub(super) fn cautions(c: &RunComparison<'_>) -> Vec<String> {
    let mut cautions = Vec::new();
    if c.a.info.id == c.b.info.id && !c.is_within {
        cautions.push("Both files hold the same run: it is compared with itself.".to_owned());
    }
    if c.pairs.is_empty() {
        cautions.push("The runs have no cell in common: nothing can be compared.".to_owned());
    }
    if c.is_within {
        cautions.extend(of_run(c.a));
        return cautions;
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
            "{count} of {total} cell{} {} not valid in one run or both: see the verdict column.",
            s(total),
            if count == 1 { "is" } else { "are" }
        ));
    }
    cautions.push(reference_words(c).unwrap_or_else(|| {
        "The two runs share no reference, a baseline server that is the same in both. Nothing shows how far apart equal servers \
         are between these runs, so no interval and no difference is reported. Measure both servers in one plan, with the old one \
         as its baseline."
            .to_owned()
    }));
    cautions
}

/// The reasons to distrust a run whose cells are compared with each other.
fn of_run(run: &Run) -> Vec<String> {
    let trust = trust(&Analysis::of(run));
    let reasons = trust.reasons.iter().filter(|_| trust.grade != Grade::Good);
    reasons.map(|why| unmarked(why)).collect()
}

/// The reference, and how far apart equal servers may be; none without a reference.
fn reference_words(c: &RunComparison<'_>) -> Option<String> {
    let table = c.metrics.first()?;
    let between = table.between?;
    let of_first = c.pairs.iter().filter_map(|p| p.reference).next()?.0;
    let name = of_first.level(SERVER_FACTOR).map_or_else(|| of_first.label(), |level| level.level.clone());
    let noun = table.metric.words.noun;
    let moved = apart(between.moved);
    let known = match between.observations {
        1 => "one observation, without controls".to_owned(),
        count => {
            let controls = apart(between.deviation / std::f64::consts::SQRT_2);
            format!("{count} observations; its controls were {controls} apart")
        }
    };
    let bound = between.bound(ALPHA);
    let reach = if bound < FACTOR_FROM { "up to " } else { "as much as " };
    let others =
        c.pairs.iter().zip(&table.rows).filter(|(pair, row)| !pair.is_reference && row.comparison.is_some());
    let more = match others.count() {
        0 | 1 => "",
        _ => ", and the correction for several cells widens it further",
    };
    Some(format!(
        "B/A compares ratios to {name}, the same server in both runs. Its {noun} changed by {moved} from run to run ({known}), so \
         equal servers may be {reach}{} apart between these runs. Every interval includes this{more}.{}",
        apart(bound),
        if bound < FACTOR_FROM { "" } else { " These runs show little: measure both servers in one run." }
    ))
}

/// A logarithm of a ratio in words: `4.2%`, or `a factor of 15`.
fn apart(logarithm: f64) -> String {
    if logarithm < FACTOR_FROM {
        percent(logarithm.exp_m1())
    } else {
        format!("a factor of {}", plain(logarithm.exp()))
    }
}

/// The figures of both runs, the ratio and the verdict. `unit`: what the repetitions are called.
pub(super) fn entries(table: &MetricTable, row: &MetricRow, pair: &CellPair<'_>, unit: &str) -> [String; 4] {
    let show = |e: &Option<Estimate>| {
        e.as_ref().map_or_else(|| "–".to_owned(), |e| figure_of(table.metric, e.value))
    };
    let mut verdict = match &row.comparison {
        Some(_) if pair.is_reference => "the reference".to_owned(),
        comparison => comparison.as_ref().map_or_else(String::new, |c| decision(c, table.metric, unit)),
    };
    let doubts = match (pair.verdict_a, pair.verdict_b) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_far_apart_is_told_as_a_factor() {
        let of = |ratio: f64| apart(ratio.ln());
        assert_eq!([of(1.0), of(1.042), of(1.9)], ["0%", "4.2%", "90%"]);
        assert_eq!(
            [of(2.5), of(15.43), of(1200.0)],
            ["a factor of 2.50", "a factor of 15.4", "a factor of 1200"]
        );
    }
}
