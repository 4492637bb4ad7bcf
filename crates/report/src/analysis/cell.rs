//! A cell with its figures.

use super::samples::values;
use crate::number::{self, count};
use pitot_plan::Measure;
use pitot_record::metric::named;
use pitot_record::{CellRecord, METRICS, Metric, Run, Verdict};
use pitot_results::VerdictKind;
use pitot_stats::{Estimate, Spread, median, order_statistic_interval};

/// How the work of a cell differs from that of another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unlike {
    /// Its replies have other content than those of a cell with the same load.
    Content {
        /// Mean bytes of content in its replies.
        bytes: f64,
        /// The series of the other cell.
        other: usize,
        /// Mean bytes of content in the replies of the other.
        other_bytes: f64,
    },
    /// Its executions ended otherwise, or printed something else, than those of the baseline.
    Outcome {
        /// What they did: `exited with 1: no such file`.
        own: String,
        /// The series of the baseline.
        other: usize,
        /// What those of the baseline did.
        others: String,
        /// Whether they exited with another code.
        is_status: bool,
    },
}

/// A cell with its figures.
#[derive(Debug)]
pub struct Cell<'r> {
    /// The cell in the run file.
    pub record: &'r CellRecord,
    /// Index into [`Analysis::series`](super::Analysis::series).
    pub series: usize,
    /// Index into [`LoadAxis::levels`](super::LoadAxis::levels).
    pub level: usize,
    /// Whether its measurement can be trusted.
    pub verdict: Verdict,
    /// Its figures, in the order of [`METRICS`].
    pub estimates: Vec<Option<Estimate>>,
    /// How far its repetitions lie apart in the plan's metric; none for slices, whose generations differ by what all cells share.
    pub spread: Option<Spread>,
    /// Its rank among the cells of its load level.
    pub standing: Standing,
    /// The percentage of its requests that had errors, if it is above [`ERRORS_MAX`].
    pub(crate) wrong_percent: Option<f64>,
    /// The rate at the end of its repetitions over that at their start, if it still rose: the server can do more.
    pub(crate) rise: Option<f64>,
    /// How its replies differ from those of the cells with the same load, if they do.
    pub(crate) unlike: Option<Unlike>,
    /// Whether it may be compared with the others of its load level.
    pub(crate) is_ranked: bool,
}

/// With more errors than this, in percent of the requests, a server has not done the work of the others.
const ERRORS_MAX: f64 = 0.5;
const ERRORS: &Metric = named("error-rate");
/// A rate that is higher at the end by more than this factor still rises.
const RISE_MAX: f64 = 1.1;
/// Confidence of the interval of that factor.
const RISE_LEVEL: f64 = 0.95;

/// The rank of a cell among the cells of its load level, by the plan's metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The best figure.
    Best,
    /// Not shown to be worse than the best by more than the tolerance.
    Level,
    /// Worse than the best.
    Behind,
    /// It has no figure, too few repetitions, or nothing to be compared with.
    Unknown,
}

impl<'r> Cell<'r> {
    /// The figures of a cell, without a rank yet.
    pub(super) fn of(
        run: &Run,
        record: &'r CellRecord,
        series: usize,
        level: usize,
        headline: &Metric,
    ) -> Cell<'r> {
        // Faults are meant to cause errors.
        let errors = estimate(run, record, ERRORS).filter(|_| run.plan.faults.is_empty());
        let wrong_percent = errors.map(|e| e.value).filter(|percent| *percent > ERRORS_MAX);
        let rises: Vec<f64> = match run.plan.faults.is_empty() {
            true => record.repetitions.iter().filter_map(|repetition| repetition.rise()).collect(),
            false => Vec::new(),
        };
        let still_rises =
            order_statistic_interval(&rises, RISE_LEVEL).is_some_and(|rise| rise.low > RISE_MAX);
        let rise = median(&rises).filter(|_| still_rises);
        Cell {
            record,
            series,
            level,
            verdict: record.verdict(),
            estimates: METRICS.iter().map(|m| estimate(run, record, m)).collect(),
            spread: (record.measure == Measure::Fresh)
                .then(|| Spread::of(&values(record, headline)))
                .flatten(),
            standing: Standing::Unknown,
            wrong_percent,
            rise,
            unlike: None,
            is_ranked: wrong_percent.is_none() && rise.is_none(),
        }
    }

    /// The figure of a metric.
    pub fn estimate(&self, metric: &Metric) -> Option<&Estimate> {
        let index = METRICS.iter().position(|m| m.name == metric.name)?;
        self.estimates[index].as_ref()
    }

    /// Whether it failed; its figures then mean nothing.
    pub fn failed(&self) -> bool {
        self.verdict.kind == VerdictKind::Failed
    }

    /// How its work differs from that of the others: `answered 2.0% of its requests with errors`.
    pub(crate) fn other_work(&self) -> Option<String> {
        let wrong = self.wrong_percent.map(|percent| {
            format!("answered {} of its requests with errors", number::percent(percent / 100.0))
        });
        let unlike = || match self.unlike.as_ref()? {
            Unlike::Content { bytes, other_bytes, .. } => {
                let bytes = [bytes, other_bytes].map(|bytes| count(bytes.round() as u64));
                Some(format!("answers with {} bytes of content instead of {}", bytes[0], bytes[1]))
            }
            Unlike::Outcome { own, others, .. } => Some(format!("{own}, where its baseline {others}")),
        };
        wrong.or_else(unlike)
    }

    /// How its executions ended otherwise than those of the baseline: it is broken, and not slower or faster.
    pub(crate) fn other_exit(&self) -> Option<String> {
        matches!(self.unlike, Some(Unlike::Outcome { is_status: true, .. })).then(|| self.other_work())?
    }

    pub(crate) fn still_rises(&self) -> Option<String> {
        self.rise.map(|_| "was still getting faster while it was measured".to_owned())
    }

    /// Whether its figure of `metric` is a lower bound, since the load generator was at its limit.
    pub(crate) fn is_lower_bound(&self, metric: &Metric) -> bool {
        metric.is_rate() && self.verdict.kind == VerdictKind::ClientBound
    }
}

/// The figure of a cell by the plan's statistic, resampled with the seed of the run and the number of the cell.
fn estimate(run: &Run, record: &CellRecord, metric: &Metric) -> Option<Estimate> {
    let seed = run.info.seed ^ (record.id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Estimate::of(&values(record, metric), run.plan.statistic, seed)
}
