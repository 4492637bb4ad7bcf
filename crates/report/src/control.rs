//! The controls of a run: each baseline against a second copy of itself, which shows what the machine calls equal.

use crate::analysis::Analysis;
use crate::number::percent;
use crate::phrase::ratio;
use pitot_lab::metric::named;
use pitot_lab::statistics::{Comparison, Decision, judge_control};
use pitot_lab::{CellRecord, Measure, Metric, Run};

const CPU: &Metric = named("cpu-per-request");

/// A baseline and its twin in one metric.
#[derive(Debug)]
pub(crate) struct Control<'r> {
    /// The baseline.
    pub baseline: &'r CellRecord,
    /// Its name and load: `thread at 64 connections`.
    pub name: String,
    /// Index into [`LoadAxis::levels`](crate::LoadAxis::levels).
    pub level: usize,
    /// The metric.
    pub metric: &'static Metric,
    /// The twin over the baseline.
    pub comparison: Comparison,
}

impl Control<'_> {
    /// Whether the twin was told apart from the baseline.
    pub(crate) fn is_told_apart(&self) -> bool {
        self.comparison.decision.is_difference()
    }

    /// `0.99 [0.96, 1.03] in CPU time per request`.
    pub(crate) fn words(&self) -> String {
        format!("{} in {}", ratio(&self.comparison), self.metric.words.noun)
    }
}

/// The metrics in which a control is shown: the plan's own, and CPU time per request.
pub(crate) fn control_metrics(a: &Analysis<'_>) -> Vec<&'static Metric> {
    let cpu = Some(CPU).filter(|cpu| cpu.name != a.headline.name);
    std::iter::once(a.headline).chain(cpu).collect()
}

/// The controls of a run, by load level and then by metric.
pub(crate) fn controls<'r>(a: &Analysis<'r>) -> Vec<Control<'r>> {
    let mut controls = Vec::new();
    for cell in &a.cells {
        let Some(twin) = a.run.control_of(cell.record) else { continue };
        for metric in control_metrics(a) {
            let samples = twin.samples_against(cell.record, metric, &a.run.plan);
            if let Some(comparison) = judge_control(&samples) {
                let (baseline, name, level) = (cell.record, a.name_of(cell), cell.level);
                controls.push(Control { baseline, name, level, metric, comparison });
            }
        }
    }
    controls
}

/// What the machine calls equal, one sentence for each twin:
/// `Two copies of **thread at 64 connections** came out at 0.99 [0.96, 1.03] in requests per second, ...`.
pub(crate) fn control_sentences(a: &Analysis<'_>) -> Vec<String> {
    let controls = controls(a);
    let mut sentences: Vec<String> = controls
        .chunk_by(|x, y| x.baseline.id == y.baseline.id)
        .map(|of_one| {
            let figures: Vec<String> = of_one.iter().map(Control::words).collect();
            format!(
                "The baseline and its twin, a second copy of **{}**: {}.",
                of_one[0].name,
                figures.join(" and ")
            )
        })
        .collect();
    if let Some(last) = sentences.last_mut()
        && controls.iter().all(|c| !c.is_told_apart())
    {
        last.push_str(" Two equal servers may look as different as that here.");
        if let Some(Decision::TooFewRepetitions { needed }) = controls.first().map(|c| c.comparison.decision)
        {
            last.push_str(&format!(" It takes {needed} generations to tell whether they are too different."));
        }
        last.push_str(
            &steal(a.run)
                .map_or_else(String::new, |share| format!(" Steal over the run: {}.", percent(share))),
        );
    }
    sentences
}

/// The share of the CPUs' time in slices that the hypervisor gave to others; none without slices.
pub(crate) fn steal(run: &Run) -> Option<f64> {
    let sliced = run.cells.iter().chain(&run.controls).filter(|c| c.measure == Measure::Slices);
    let (mut steal_s, mut all_s) = (0.0, 0.0);
    for used in sliced.flat_map(|c| &c.repetitions).filter_map(|r| r.resources.as_ref()) {
        steal_s += used.steal_s;
        all_s += used.window_s * f64::from((used.server_cpus + used.load_cpus).max(1));
    }
    (all_s > 0.0).then_some(steal_s / all_s)
}
