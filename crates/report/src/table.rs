//! The table of results: the same rows and columns for the terminal, for Markdown and for HTML.

use crate::analysis::{Analysis, Cell, Standing, known};
use crate::number::{figure_of, spread};
use crate::words::ratio;
use pitot_lab::statistics::Decision;
use pitot_lab::{Better, Metric, VerdictKind};

/// The results, cell by cell.
#[derive(Clone, Debug)]
pub(crate) struct Results {
    /// How to read it, in a sentence or two.
    pub legend: String,
    /// The columns between the server's name and the verdict.
    pub columns: Vec<Column>,
    /// The rows by load level.
    pub groups: Vec<Group>,
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Its head.
    pub title: String,
    /// Which way is better, or what it is compared with.
    pub hint: String,
    /// Columns of a higher rank are the first to go where there is no room.
    pub rank: usize,
}

/// The rows of one load level.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The level; empty if the load does not vary.
    pub heading: String,
    /// The cells.
    pub rows: Vec<Row>,
}

/// A cell.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The series' index.
    pub series: usize,
    /// The series' name.
    pub name: String,
    /// Its rank by the headline's figure.
    pub mark: Mark,
    /// One for each column.
    pub entries: Vec<Entry>,
    /// Whether its measurement can be trusted.
    pub verdict: VerdictKind,
    /// `2 of 6 failed`; empty if none did.
    pub failures: String,
}

impl Row {
    /// The verdict, and how many repetitions it had to leave out.
    pub(crate) fn verdict_words(&self) -> String {
        let comma = if self.failures.is_empty() { "" } else { ", " };
        format!("{}{comma}{}", self.verdict.name(), self.failures)
    }
}

/// The rank of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The best of its load level.
    Best,
    /// No difference from the best was declared.
    Level,
    /// Neither.
    None,
}

/// What stands in one place of the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// The figure.
    pub text: String,
    /// Its interval.
    pub note: String,
    /// The best figure of its column and load level.
    pub best: bool,
    /// `better` or `worse`, where a difference was declared.
    pub tone: Option<&'static str>,
    /// The figure as a part of the column's largest, 0 to 1.
    pub part: f64,
}

impl Results {
    /// The metrics that a table shows: the headline's first.
    pub(crate) fn metrics(a: &Analysis<'_>) -> Vec<&'static Metric> {
        let mut metrics = vec![a.headline];
        for name in ["throughput", "cpu-per-request", "latency-p50", "latency-p99", "memory-per-connection"] {
            metrics.extend(Some(known(name)).filter(|m| m.name != a.headline.name));
        }
        metrics.retain(|m| a.cells.iter().any(|c| c.estimate(m).is_some()));
        metrics
    }

    /// The table of a run.
    pub(crate) fn of(a: &Analysis<'_>) -> Results {
        let metrics = Results::metrics(a);
        let baseline = a.baseline_words();
        let against = baseline.as_ref().map(|_| a.against_baseline(a.headline));
        let mut columns: Vec<Column> = metrics
            .iter()
            .enumerate()
            .map(|(i, m)| Column {
                title: m.title.to_owned(),
                hint: Analysis::hint(m).to_owned(),
                rank: if m.name == "latency-p50" { usize::MAX } else { i + 1 },
            })
            .collect();
        if let Some(name) = baseline {
            columns.insert(
                1.min(columns.len()),
                Column { title: "ratio".into(), hint: format!("to {name}"), rank: 0 },
            );
        }
        let largest = largest_headline(a);
        let groups = (0..a.load.levels.len())
            .map(|level| {
                let cells = a.cells.iter().enumerate().filter(|(_, c)| c.level == level);
                let rows = cells.map(|(index, cell)| {
                    let mut entries: Vec<Entry> =
                        metrics.iter().map(|m| entry(a, cell, m, largest)).collect();
                    if let Some(comparisons) = &against {
                        entries
                            .insert(1.min(entries.len()), ratio_entry(a, cell, comparisons[index].as_ref()));
                    }
                    row(a, cell, entries)
                });
                Group { heading: a.load_words(level), rows: rows.collect() }
            })
            .collect();
        Results { legend: legend(a), columns, groups }
    }
}

fn legend(a: &Analysis<'_>) -> String {
    let repetitions = a.run.plan.repetitions as usize;
    let enough = repetitions >= pitot_lab::statistics::MEDIAN_REPETITIONS_MIN;
    let brackets = if enough { "[ ] 95% interval" } else { "( ) range of the repetitions" };
    let s = if repetitions == 1 { "" } else { "s" };
    format!(
        "★ best of its load, ≈ not told apart from the best; {} of {repetitions} repetition{s}; {brackets}.",
        a.run.plan.statistic
    )
}

fn largest_headline(a: &Analysis<'_>) -> f64 {
    a.cells.iter().filter_map(|c| c.estimate(a.headline)).map(|e| e.value).fold(0.0, f64::max)
}

fn entry(a: &Analysis<'_>, cell: &Cell<'_>, metric: &'static Metric, largest: f64) -> Entry {
    let Some(e) = cell.estimate(metric).filter(|_| !cell.failed()) else {
        return Entry { text: "–".into(), ..Entry::default() };
    };
    let headline = metric.name == a.headline.name;
    let lower_bound = metric.name == "throughput" && cell.verdict.kind == VerdictKind::ClientBound;
    let best = a.best_at(cell.level, metric).is_some_and(|b| b.record.id == cell.record.id);
    let alone = a.at_level(cell.level, metric).count() < 2;
    Entry {
        text: format!("{}{}", if lower_bound { "≥ " } else { "" }, figure_of(metric, e.value)),
        note: if headline || metric.name == "cpu-per-request" {
            spread(e, metric.unit)
        } else {
            String::new()
        },
        best: best && !alone,
        tone: None,
        part: if headline && largest > 0.0 { e.value / largest } else { 0.0 },
    }
}

fn ratio_entry(
    a: &Analysis<'_>,
    cell: &Cell<'_>,
    comparison: Option<&pitot_lab::statistics::Comparison>,
) -> Entry {
    if a.run.plan.baseline.as_ref().is_some_and(|b| b.matches(&cell.record.factors)) && !cell.failed() {
        return Entry { text: "1".into(), ..Entry::default() };
    }
    let Some(c) = comparison else { return Entry { text: "–".into(), ..Entry::default() } };
    let text = ratio(c);
    let (value, note) = text.split_once(' ').unwrap_or((&text, ""));
    let higher = a.headline.better == Better::Higher;
    let tone = match c.decision {
        Decision::Higher => Some(if higher { "better" } else { "worse" }),
        Decision::Lower => Some(if higher { "worse" } else { "better" }),
        _ => None,
    };
    let unsure = if matches!(c.decision, Decision::Alike | Decision::NoDifferenceSeen) { "≈ " } else { "" };
    Entry { text: format!("{unsure}{value}×"), note: note.to_owned(), tone, ..Entry::default() }
}

fn row(a: &Analysis<'_>, cell: &Cell<'_>, entries: Vec<Entry>) -> Row {
    Row {
        series: cell.series,
        name: a.series_of(cell).to_owned(),
        mark: match cell.standing {
            Standing::Best => Mark::Best,
            Standing::Level => Mark::Level,
            Standing::Behind | Standing::Unknown => Mark::None,
        },
        entries,
        verdict: cell.verdict.kind,
        failures: cell.record.failures_in_words().unwrap_or_default(),
    }
}
