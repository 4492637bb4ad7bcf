//! The A/A controls of a run: each baseline against a second copy of itself shows how far apart equal servers are.

use crate::analysis::Analysis;
use crate::number::percent;
use crate::phrase::ratio;
use crate::text::sentence;
use pitot_plan::Measure;
use pitot_record::metric::named;
use pitot_record::{CellRecord, Metric, Run, Side};
use pitot_stats::{Comparison, Decision, judge_control};
use std::fmt::Write as _;

const CPU: &Metric = named("cpu-per-request");

/// Up to so many controls have their own sentence.
const EACH_MAX: usize = 4;

/// A control in one metric.
#[derive(Debug)]
pub(crate) struct Control<'r> {
    pub baseline: &'r CellRecord,
    /// Its name and load: `thread at 64 connections`.
    pub name: String,
    /// Index into [`LoadAxis::levels`](crate::LoadAxis::levels).
    pub level: usize,
    pub metric: &'static Metric,
    /// The control over the baseline.
    pub comparison: Comparison,
}

impl Control<'_> {
    /// Whether a difference was declared between two copies of a server.
    pub(crate) fn has_failed(&self) -> bool {
        self.comparison.decision.is_difference()
    }

    /// `0.99 [0.96, 1.03] in CPU time per request`.
    pub(crate) fn words(&self) -> String {
        format!("{} in {}", ratio(&self.comparison), self.metric.words.noun)
    }
}

/// The metrics in which a control is shown: the plan's own, and CPU time per request of servers.
pub(crate) fn control_metrics(a: &Analysis<'_>) -> Vec<&'static Metric> {
    let is_other = |cpu: &&Metric| cpu.name != a.headline.name && !a.headline.is_of_commands();
    let cpu = Some(CPU).filter(is_other);
    std::iter::once(a.headline).chain(cpu).collect()
}

/// The controls of a run, by load level and then by metric.
pub(crate) fn controls<'r>(a: &Analysis<'r>) -> Vec<Control<'r>> {
    let mut controls = Vec::new();
    for cell in &a.cells {
        let Some(control) = a.run.control_of(cell.record) else { continue };
        for metric in control_metrics(a) {
            let samples =
                Side::alone(control).samples_against(&Side::alone(cell.record), metric, &a.run.plan);
            if let Some(comparison) = judge_control(&samples) {
                let (baseline, name, level) = (cell.record, a.name_of(cell), cell.level);
                controls.push(Control { baseline, name, level, metric, comparison });
            }
        }
    }
    controls
}

/// The controls that failed: a sentence for each baseline.
pub(crate) fn failed_controls(a: &Analysis<'_>) -> Vec<String> {
    let of_one = |of_one: &[Control<'_>]| {
        format!(
            "the control failed: the ratio of a second copy of **{}** to the first is {}. This run finds differences where there \
             are none.",
            of_one[0].name,
            figures(of_one)
        )
    };
    by_baseline(&controls(a))
        .filter(|of_one| has_any_failed(of_one))
        .map(of_one)
        .map(|s| sentence(&s))
        .collect()
}

/// How far apart equal servers are, a sentence for each control that passed: `Control: the ratio of a second copy of **thread** to
/// the first is 0.99 [0.96, 1.03] in requests per second and ...`; and the steal.
pub(crate) fn control_sentences(a: &Analysis<'_>) -> Vec<String> {
    let controls = controls(a);
    let equal: Vec<_> = by_baseline(&controls).filter(|of_one| !has_any_failed(of_one)).collect();
    let of_one = |of_one: &&[Control<'_>]| {
        format!(
            "Control: the ratio of a second copy of **{}** to the first is {}.",
            of_one[0].name,
            figures(of_one)
        )
    };
    let mut sentences: Vec<String> =
        if equal.len() > EACH_MAX { vec![of_many(a, &equal)] } else { equal.iter().map(of_one).collect() };
    if let (Some(last), Some(first)) = (sentences.last_mut(), equal.first()) {
        last.push_str(" Two equal servers may differ by that much on this machine.");
        if let Decision::TooFewRepetitions { needed } = first[0].comparison.decision {
            let _ = write!(last, " Judging the control takes {needed} generations.");
        }
    }
    let steal = steal(a.run).map(|share| format!("Steal over the run: {} of the CPU time.", percent(share)));
    sentences.extend(steal);
    sentences
}

/// Many controls that passed, in one sentence: `Controls: the ratios of a second copy of **nginx** to the first, 7 times, are 0.96
/// to 1.04, within [0.88, 1.20], in CPU time per request.`
fn of_many(a: &Analysis<'_>, equal: &[&[Control<'_>]]) -> String {
    let of_metric = |metric: &'static Metric| {
        let ratios =
            || equal.iter().flat_map(|of_one| of_one.iter()).filter(|c| c.metric.name == metric.name);
        let least =
            |of: fn(&Comparison) -> f64| ratios().map(|c| of(&c.comparison)).fold(f64::INFINITY, f64::min);
        let most = |of: fn(&Comparison) -> f64| ratios().map(|c| of(&c.comparison)).fold(0.0, f64::max);
        let low = least(|c| c.interval.map_or(c.ratio_min, |i| i.low));
        let high = most(|c| c.interval.map_or(c.ratio_max, |i| i.high));
        let (from, to) = (least(|c| c.ratio), most(|c| c.ratio));
        format!("{from:.2} to {to:.2}, within [{low:.2}, {high:.2}], in {}", metric.words.noun)
    };
    let is_of = |metric: &&'static Metric| {
        equal.iter().any(|of_one| of_one.iter().any(|c| c.metric.name == metric.name))
    };
    let figures: Vec<String> = control_metrics(a).into_iter().filter(is_of).map(of_metric).collect();
    let name = a.baseline_words().unwrap_or_default();
    let times = equal.len();
    format!(
        "Controls: the ratios of a second copy of **{name}** to the first, {times} times, are {}.",
        figures.join(" and ")
    )
}

fn by_baseline<'a, 'r>(controls: &'a [Control<'r>]) -> impl Iterator<Item = &'a [Control<'r>]> {
    controls.chunk_by(|x, y| x.baseline.id == y.baseline.id)
}

fn has_any_failed(controls: &[Control<'_>]) -> bool {
    controls.iter().any(Control::has_failed)
}

/// `1.01 [0.97, 1.04] in requests per second and 1.00 [0.98, 1.02] in CPU time per request`.
fn figures(controls: &[Control<'_>]) -> String {
    controls.iter().map(Control::words).collect::<Vec<_>>().join(" and ")
}

/// Steal as a share of the CPU time in slices; none without slices.
pub(crate) fn steal(run: &Run) -> Option<f64> {
    let sliced = run.cells.iter().chain(&run.controls).filter(|c| c.measure == Measure::Slices);
    let (mut steal_s, mut all_s) = (0.0, 0.0);
    for used in sliced.flat_map(|c| &c.repetitions).filter_map(|r| r.resources.as_ref()) {
        steal_s += used.steal_s;
        all_s += used.window_s * f64::from((used.server_cpus + used.load_cpus).max(1));
    }
    (all_s > 0.0).then_some(steal_s / all_s)
}
