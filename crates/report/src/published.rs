//! Published figures next to those of the run.

use crate::analysis::{Analysis, Cell, levels_words};
use crate::text::capital;
use pitot_plan::{Published, PublishedValue};
use pitot_record::metric::find;
use pitot_record::{CellRecord, Metric, Unit};

#[derive(Debug)]
pub(crate) struct PublishedTable<'r> {
    pub source: &'r Published,
    pub metric: &'static Metric,
    pub rows: Vec<PublishedRow>,
}

/// A published figure, and the run's own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PublishedRow {
    pub label: String,
    /// The series, if it belongs to one.
    pub series: Option<usize>,
    /// The load level, if it belongs to one.
    pub level: Option<usize>,
    pub published: f64,
    /// The run's own figure; none if no cell matches or has one.
    pub measured: Option<Measured>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    /// The figure, or the ratio: over several cells, their geometric mean.
    pub value: f64,
    /// The lower end of its interval, or the smallest of several cells.
    pub low: f64,
    /// The upper end of its interval, or the largest of several cells.
    pub high: f64,
    /// The number of cells that it is a mean of.
    pub cells: usize,
}

impl PublishedTable<'_> {
    pub(crate) fn is_ratio(&self) -> bool {
        self.source.ratio_to.is_some()
    }

    pub(crate) fn citation(&self) -> String {
        format!("{} {}", self.source.source, self.source.year)
    }

    pub(crate) fn show(&self, value: f64) -> String {
        if self.is_ratio() {
            format!("{}×", crate::number::ratio(value))
        } else {
            crate::number::figure(value, self.metric.unit)
        }
    }

    /// A published figure with its own digits.
    pub(crate) fn show_published(&self, value: f64) -> String {
        match self.metric.unit {
            _ if self.is_ratio() => format!("{value}×"),
            Unit::Percent => format!("{value}%"),
            Unit::Seconds => format!("{value} s"),
            _ => crate::axis::trim(&self.show(value)),
        }
    }

    pub(crate) fn subject(&self) -> String {
        match &self.source.ratio_to {
            None => capital(self.metric.summary),
            Some(levels) => {
                format!("{}, as a multiple of {}", capital(self.metric.words.noun), levels_words(levels))
            }
        }
    }
}

/// The published figures of the plan whose metric is known.
pub(crate) fn published<'r>(analysis: &Analysis<'r>) -> Vec<PublishedTable<'r>> {
    let tables = analysis.run.plan.published.iter().filter_map(|source| {
        let metric = find(&source.metric)?;
        let rows = source.values.iter().map(|value| row(analysis, source, metric, value)).collect();
        Some(PublishedTable { source, metric, rows })
    });
    tables.collect()
}

fn row(analysis: &Analysis<'_>, source: &Published, metric: &Metric, value: &PublishedValue) -> PublishedRow {
    let matching: Vec<_> =
        analysis.cells.iter().filter(|c| value.levels.matches(&c.record.factors)).collect();
    let same = |of: fn(&Cell<'_>) -> usize| {
        let first = matching.first().map(|c| of(c))?;
        matching.iter().all(|c| of(c) == first).then_some(first)
    };
    let figures: Vec<Measured> = matching
        .iter()
        .filter(|c| !c.failed())
        .filter_map(|c| match &source.ratio_to {
            Some(levels) => ratio(analysis, c.record, analysis.run.counterpart(c.record, levels)?, metric),
            None => {
                let estimate = c.estimate(metric)?;
                let (low, high) = estimate.span();
                Some(Measured { value: estimate.value, low, high, cells: 1 })
            }
        })
        .collect();
    PublishedRow {
        label: label(value),
        series: same(|c| c.series),
        level: same(|c| c.level),
        published: value.value,
        measured: together(&figures),
    }
}

fn label(value: &PublishedValue) -> String {
    let words = levels_words(&value.levels);
    if words.is_empty() { "all".to_owned() } else { words }
}

fn ratio(analysis: &Analysis<'_>, cell: &CellRecord, to: &CellRecord, metric: &Metric) -> Option<Measured> {
    let comparison = analysis.compare(cell, to, metric)?;
    let (low, high) =
        comparison.interval.map_or((comparison.ratio_min, comparison.ratio_max), |i| (i.low, i.high));
    Some(Measured { value: comparison.ratio, low, high, cells: 1 })
}

/// One figure for several cells, since the publication averaged over them.
fn together(figures: &[Measured]) -> Option<Measured> {
    match figures {
        [] => None,
        [one] => Some(*one),
        many => {
            let mean = many.iter().map(|m| m.value.ln()).sum::<f64>() / many.len() as f64;
            let low = many.iter().map(|m| m.value).fold(f64::INFINITY, f64::min);
            let high = many.iter().map(|m| m.value).fold(f64::NEG_INFINITY, f64::max);
            Some(Measured { value: mean.exp(), low, high, cells: many.len() })
        }
    }
}
