//! The best server against the one that it is compared with, in one metric.

use crate::amount::unit_of_pair;
use crate::analysis::{Analysis, Cell};
use crate::number::figure_of;
use crate::phrase::{ratio, versus};
use crate::published::published;
use crate::text::sentence;
use pitot_plan::Levels;
use pitot_record::{Better, Metric};
use pitot_stats::Decision;

/// With a wider interval, "no difference shown" would mislead: the comparison is undecided.
const OPEN_FROM: f64 = 1.5;

/// How the best server compares in one metric.
pub(super) enum Contrast {
    /// It differs: a sentence.
    Difference(String),
    /// No difference is declared: `ratio of **a** to **b**: 1.01 [0.98, 1.02]`.
    Undeclared { metric: &'static Metric, ratio: String },
    /// The interval is too wide to tell: a sentence.
    Open(String),
}

/// The best against the baseline, or else the worst, in one metric, with what was published of it.
pub(super) fn contrast(a: &Analysis<'_>, level: usize, metric: &'static Metric) -> Option<Contrast> {
    let best = a.best_at(level, metric)?;
    let other = reference(a, best, level, metric)?;
    if other.record.id == best.record.id {
        return None;
    }
    // "27 times as much CPU time" instead of "0.037 times".
    let (first, second) = if metric.better == Better::Higher { (best, other) } else { (other, best) };
    let comparison = a.compare(first.record, second.record, metric)?;
    let (one, two) = (a.series_of(first), a.series_of(second));
    let is_undecided = matches!(comparison.decision, Decision::NoDifferenceSeen | Decision::Suggested);
    if is_undecided && comparison.interval.is_some_and(|i| i.high / i.low > OPEN_FROM) {
        let (noun, at) = (metric.words.noun, a.at_load(level));
        let ratio = ratio(&comparison);
        let text =
            format!("the comparison of **{one}** with **{two}** in {noun}{at} is undecided: ratio {ratio}");
        return Some(Contrast::Open(sentence(&text)));
    }
    if matches!(comparison.decision, Decision::Alike | Decision::NoDifferenceSeen) {
        let ratio = format!("ratio of **{one}** to **{two}**: {}", ratio(&comparison));
        return Some(Contrast::Undeclared { metric, ratio });
    }
    let unit = unit_of_pair(first.record, second.record);
    let mut text = versus((one, two), metric, &comparison, a.run.plan.tolerance, unit);
    text.push_str(&a.at_load(level));
    if comparison.decision.is_difference() {
        let of = |cell: &Cell<'_>| cell.estimate(metric).map(|e| figure_of(metric, e.value));
        text.push_str(&format!(", {} against {}", of(first)?, of(second)?));
    }
    text.push_str(&cited(a, first, second, metric).unwrap_or_default());
    Some(Contrast::Difference(sentence(&text)))
}

/// What the best is compared with at its load: the baseline, or the worst if there is no baseline or it failed.
pub(super) fn reference<'a, 'r>(
    a: &'a Analysis<'r>,
    best: &Cell<'_>,
    level: usize,
    metric: &'a Metric,
) -> Option<&'a Cell<'r>> {
    let baseline = a.run.baseline_of(best.record);
    let usable = |c: &&Cell<'r>| c.level == level && !c.failed();
    let baseline = baseline.and_then(|r| a.cells.iter().filter(usable).find(|c| c.record.id == r.id));
    baseline.or_else(|| a.worst_at(level, metric))
}

/// The published ratio of two cells: `; Lyris Technologies 2001: 12 times`.
fn cited(a: &Analysis<'_>, first: &Cell<'_>, second: &Cell<'_>, metric: &Metric) -> Option<String> {
    published(a).iter().filter(|t| t.metric.name == metric.name).find_map(|table| {
        let reference = table.source.ratio_to.as_ref().filter(|r| r.matches(&second.record.factors))?;
        let is_first = |levels: &Levels| levels.matches(&first.record.factors);
        let value = table
            .source
            .values
            .iter()
            .find(|v| is_first(&v.levels) && !reference.matches(&first.record.factors))?;
        Some(format!("; {}: {} times", table.citation(), value.value))
    })
}
