//! The table of results: the same rows and columns for the terminal, for Markdown and for HTML.

use crate::amount::{amount_words, measured, unit_of_run};
use crate::analysis::{Analysis, Cell, Standing};
use crate::method::coverage;
use crate::number::{figure_of, percent, spread};
use crate::phrase::{Tone, ratio, tone};
use pitot_record::metric;
use pitot_record::{METRICS, Metric};
use pitot_results::VerdictKind;
use pitot_stats::{Comparison, Decision, MEDIAN_REPETITIONS_MIN};

/// The results, cell by cell.
#[derive(Clone, Debug)]
pub(crate) struct Results {
    /// How to read it, in a sentence or two.
    pub legend: String,
    /// What the names of the rows are: servers, or the load where nothing else varies.
    pub corner: String,
    /// The columns between the server's name and the verdict.
    pub columns: Vec<Column>,
    /// The rows by load level.
    pub groups: Vec<Group>,
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Its heading.
    pub title: String,
    /// Which way is better, or what it is compared with.
    pub hint: String,
    /// Columns of a higher rank are the first to be dropped where there is no room.
    pub rank: usize,
    /// Whether it holds ratios to the baseline, and not a metric.
    pub is_ratio: bool,
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
    /// The load level's index.
    pub level: usize,
    /// The series' name.
    pub name: String,
    /// Its rank by the plan's metric.
    pub mark: Mark,
    /// One for each column.
    pub entries: Vec<Entry>,
    /// Whether its measurement can be trusted.
    pub verdict: VerdictKind,
    /// `2 of 6 failed`; empty if none did.
    pub failures: String,
}

impl Row {
    /// The verdict, and how many repetitions failed.
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
    /// Not significantly different from the best.
    Level,
    /// Neither.
    None,
}

/// One field of the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// The figure.
    pub text: String,
    /// Its interval.
    pub note: String,
    /// Whether it is the best figure of its column and load level.
    pub best: bool,
    /// Whether it differs from the baseline, where that was declared.
    pub tone: Option<Tone>,
    /// The figure as a part of the column's largest, 0 to 1.
    pub part: f64,
}

impl Entry {
    /// A field without a figure.
    fn dash() -> Entry {
        Entry { text: "–".into(), ..Entry::default() }
    }
}

impl Results {
    /// The metrics that a table shows: the plan's own first.
    pub(crate) fn metrics(a: &Analysis<'_>) -> Vec<&'static Metric> {
        let others = METRICS.iter().filter(|m| {
            let asked_for = a.run.plan.columns.iter().any(|name| name == m.name);
            (m.column().is_some() || asked_for) && m.name != a.headline.name
        });
        let all = std::iter::once(a.headline).chain(others);
        all.filter(|m| a.cells.iter().any(|c| c.estimate(m).is_some())).collect()
    }

    /// The table of a run.
    pub(crate) fn of(a: &Analysis<'_>) -> Results {
        let metrics = Results::metrics(a);
        let baseline = a.baseline_words();
        let against = baseline.as_ref().map(|_| a.against_baseline(a.headline));
        let mut columns: Vec<Column> = metrics.iter().enumerate().map(|(i, m)| column(i, m)).collect();
        // The ratio follows the figure that it is a ratio of.
        let behind_first = 1.min(columns.len());
        if let Some(name) = baseline {
            let ratio = Column { title: "ratio".into(), hint: format!("to {name}"), rank: 0, is_ratio: true };
            columns.insert(behind_first, ratio);
        }
        let largest = largest_headline(a);
        // Where nothing but the load varies the rows are named by it, and a heading over each would say it again.
        let is_alone = a.series.len() == 1 && a.load.factor.is_some();
        let groups: Vec<Group> = (0..a.load.levels.len())
            .map(|level| {
                let cells = a.cells.iter().enumerate().filter(|(_, c)| c.level == level);
                let rows = cells.map(|(index, cell)| {
                    let mut entries: Vec<Entry> =
                        metrics.iter().map(|m| entry(a, cell, m, largest)).collect();
                    if let Some(comparisons) = &against {
                        entries.insert(behind_first, ratio_entry(a, cell, comparisons[index].as_ref()));
                    }
                    row(a, cell, entries)
                });
                Group { heading: a.load_words(level), rows: rows.collect() }
            })
            .collect();
        let corner = if is_alone { a.load.title.clone() } else { a.subject().to_owned() };
        let groups = if is_alone { vec![in_one(a, groups)] } else { groups };
        Results { legend: legend(a), corner, columns, groups }
    }
}

/// All rows in one group, each under the name of its load level.
fn in_one(a: &Analysis<'_>, groups: Vec<Group>) -> Group {
    let mut rows: Vec<Row> = groups.into_iter().flat_map(|group| group.rows).collect();
    for row in &mut rows {
        row.name = a.load_words(row.level);
    }
    Group { heading: String::new(), rows }
}

fn column(index: usize, metric: &Metric) -> Column {
    let is_optional = metric.column() == Some(metric::Column::Optional);
    Column {
        title: metric.title.to_owned(),
        hint: metric.hint().to_owned(),
        rank: if is_optional { usize::MAX } else { index + 1 },
        is_ratio: false,
    }
}

fn legend(a: &Analysis<'_>) -> String {
    let unit = unit_of_run(a.run);
    let repetitions = measured(a.run);
    let enough = repetitions >= MEDIAN_REPETITIONS_MIN;
    let brackets = match coverage(a) {
        Some(coverage) => format!("[ ] {coverage} interval of the median"),
        None if enough => "[ ] nominal 95% interval".to_owned(),
        None => format!("( ) range of the {unit}s"),
    };
    format!(
        "★ best figure, ≈ not shown to be worse by more than {}; {} of {}; {brackets}.",
        percent(a.run.plan.tolerance),
        a.run.plan.statistic,
        amount_words(a.run)
    )
}

fn largest_headline(a: &Analysis<'_>) -> f64 {
    a.cells.iter().filter_map(|c| c.estimate(a.headline)).map(|e| e.value).fold(0.0, f64::max)
}

fn entry(a: &Analysis<'_>, cell: &Cell<'_>, metric: &'static Metric, largest: f64) -> Entry {
    let Some(e) = cell.estimate(metric).filter(|_| !cell.failed()) else { return Entry::dash() };
    let is_headline = metric.name == a.headline.name;
    let with_interval = is_headline || metric.column() == Some(metric::Column::Interval);
    let is_best = a.best_at(cell.level, metric).is_some_and(|b| b.record.id == cell.record.id);
    let is_alone = a.at_level(cell.level, metric).count() < 2;
    Entry {
        text: format!(
            "{}{}",
            if cell.is_lower_bound(metric) { "≥ " } else { "" },
            figure_of(metric, e.value)
        ),
        note: if with_interval { spread(metric, e) } else { String::new() },
        best: is_best && !is_alone,
        tone: None,
        part: if is_headline && largest > 0.0 { e.value / largest } else { 0.0 },
    }
}

fn ratio_entry(a: &Analysis<'_>, cell: &Cell<'_>, comparison: Option<&Comparison>) -> Entry {
    if a.run.plan.baseline.as_ref().is_some_and(|b| b.matches(&cell.record.factors)) && !cell.failed() {
        return Entry { text: "1".into(), ..Entry::default() };
    }
    let Some(c) = comparison else { return Entry::dash() };
    let text = ratio(c);
    let (value, note) = text.split_once(' ').unwrap_or((&text, ""));
    let unsure = if matches!(c.decision, Decision::Alike | Decision::NoDifferenceSeen) { "≈ " } else { "" };
    Entry {
        text: format!("{unsure}{value}×"),
        note: note.to_owned(),
        tone: tone(c, a.headline),
        ..Entry::default()
    }
}

fn row(a: &Analysis<'_>, cell: &Cell<'_>, entries: Vec<Entry>) -> Row {
    Row {
        series: cell.series,
        level: cell.level,
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
