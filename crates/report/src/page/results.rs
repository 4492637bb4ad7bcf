//! The table of results.

use crate::amount::{amount_words, measured, unit_of_run};
use crate::analysis::{Analysis, Cell, Standing};
use crate::document::{Column, Entry, Group, Mark, Row, Table};
use crate::method::coverage;
use crate::number::{figure_of, percent, spread};
use crate::phrase::{ratio, tone};
use pitot_record::metric;
use pitot_record::{METRICS, Metric};
use pitot_stats::{Comparison, Decision, MEDIAN_REPETITIONS_MIN};

/// The metrics that a table shows: the plan's own first.
pub(super) fn metrics(a: &Analysis<'_>) -> Vec<&'static Metric> {
    let others = METRICS.iter().filter(|m| {
        let asked_for = a.run.plan.columns.iter().any(|name| name == m.name);
        (m.column().is_some() || asked_for) && m.name != a.headline.name
    });
    let all = std::iter::once(a.headline).chain(others);
    all.filter(|m| a.cells.iter().any(|c| c.estimate(m).is_some())).collect()
}

pub(super) fn results(a: &Analysis<'_>) -> Table {
    let metrics = metrics(a);
    let baseline = a.baseline_words();
    let against = baseline.as_ref().map(|_| a.against_baseline(a.headline));
    let mut columns: Vec<Column> = metrics.iter().enumerate().map(|(i, m)| column(i, m)).collect();
    // The ratio follows the figure that it is a ratio of.
    let behind_first = 1.min(columns.len());
    if let Some(name) = baseline {
        columns.insert(behind_first, ratio_column(&name));
    }
    columns.push(Column::of_words("verdict"));
    let largest = largest_headline(a);
    // If only the load varies, it names the rows.
    let is_alone = a.series.len() == 1 && a.load.factor.is_some();
    let groups: Vec<Group> = (0..a.load.levels.len())
        .map(|level| {
            let cells = a.cells.iter().enumerate().filter(|(_, c)| c.level == level);
            let rows = cells.map(|(index, cell)| {
                let mut entries: Vec<Entry> = metrics.iter().map(|m| entry(a, cell, m, largest)).collect();
                if let Some(comparisons) = &against {
                    entries.insert(behind_first, ratio_entry(a, cell, comparisons[index].as_ref()));
                }
                let name = if is_alone { a.load_words(level) } else { a.series_of(cell).to_owned() };
                row(cell, name, entries)
            });
            match (is_alone, &a.load.factor) {
                (false, Some(_)) => Group {
                    heading: a.load_words(level),
                    name: if a.series.len() > 1 { a.load.levels[level].0.clone() } else { String::new() },
                    rows: rows.collect(),
                },
                _ => Group { rows: rows.collect(), ..Group::default() },
            }
        })
        .collect();
    let rows = groups.iter().flat_map(|group| &group.rows).cloned().collect();
    Table {
        caption: "Results".into(),
        corner: if is_alone { a.load.title.clone() } else { a.subject().to_owned() },
        grouped_by: a.load.title.clone(),
        columns,
        groups: if is_alone { vec![Group { rows, ..Group::default() }] } else { groups },
        legend: legend(a),
    }
}

pub(super) fn column(index: usize, metric: &Metric) -> Column {
    let is_optional = metric.column() == Some(metric::Column::Optional);
    Column {
        hint: metric.hint().to_owned(),
        rank: if is_optional { usize::MAX } else { index + 1 },
        ..Column::of(metric.title)
    }
}

pub(super) fn ratio_column(baseline: &str) -> Column {
    Column { hint: format!("to {baseline}"), is_ratio: true, ..Column::of("ratio") }
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
    let ratios = match a.baseline_words() {
        Some(_) => format!(
            " A ratio is taken within each {unit}, so it may differ from the quotient of two figures."
        ),
        None => String::new(),
    };
    format!(
        "★ best figure, ≈ not shown to be worse by more than {}; {} of {}; {brackets}.{ratios}",
        percent(a.run.plan.tolerance),
        a.run.plan.statistic,
        amount_words(a.run)
    )
}

fn largest_headline(a: &Analysis<'_>) -> f64 {
    a.cells.iter().filter_map(|c| c.estimate(a.headline)).map(|e| e.value).fold(0.0, f64::max)
}

pub(super) fn entry(a: &Analysis<'_>, cell: &Cell<'_>, metric: &'static Metric, largest: f64) -> Entry {
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
        // Several may be too small to measure.
        is_best: is_best && !is_alone && (metric.zero.is_none() || e.value != 0.0),
        part: if is_headline && largest > 0.0 { e.value / largest } else { 0.0 },
        ..Entry::default()
    }
}

pub(super) fn ratio_entry(a: &Analysis<'_>, cell: &Cell<'_>, comparison: Option<&Comparison>) -> Entry {
    if a.run.plan.baseline.as_ref().is_some_and(|b| b.matches(&cell.record.factors)) && !cell.failed() {
        return Entry::from("1");
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

/// The verdict of a cell, with how many of its repetitions failed.
pub(super) fn verdict_entry(cell: &Cell<'_>) -> Entry {
    Entry::verdict(cell.verdict.kind, cell.record.failures_in_words().unwrap_or_default())
}

fn row(cell: &Cell<'_>, name: String, mut entries: Vec<Entry>) -> Row {
    entries.push(verdict_entry(cell));
    Row {
        mark: match cell.standing {
            Standing::Best => Mark::Best,
            Standing::Level => Mark::Level,
            Standing::Behind | Standing::Unknown => Mark::None,
        },
        series: Some(cell.series),
        entries,
        ..Row::of(name)
    }
}
