//! Published figures next to those of this run.

use super::entry::Chart;
use super::levels::series_legend;
use crate::analysis::Analysis;
use crate::axis::{Axis, Scale};
use crate::number::plain;
use crate::published::{PublishedRow, PublishedTable, published};
use crate::scene::{Anchor, Figure, Ink, Mark, Pane, Scene, Size, Stop};

pub(super) const CHART: Chart = Chart {
    name: "published",
    title: "Published and measured",
    summary: "The same experiment, then and now. Hardware has changed: compare shapes and ratios, not the figures \
              themselves.",
    draw,
};

/// With so many load levels a publication is a curve, otherwise a list.
const CURVE_LEVELS_MIN: usize = 3;

/// Lower end, value and upper end.
type Span = (f64, f64, f64);

fn draw(a: &Analysis<'_>) -> Option<Figure> {
    let tables = published(a);
    let panes: Vec<Pane> = tables
        .iter()
        .filter(|t| t.rows.iter().any(|r| r.measured.is_some()))
        .map(|t| if is_curve(t) { curves(a, t) } else { list(t) })
        .collect();
    let sources: Vec<String> =
        tables.iter().map(|t| format!("{}: {}", t.citation(), t.source.title)).collect();
    Some(Figure { caption: sources.join(". "), ..Figure::of("publication", panes)? })
}

fn is_curve(table: &PublishedTable<'_>) -> bool {
    let mut levels: Vec<usize> = table.rows.iter().filter_map(|r| r.level).collect();
    levels.sort_unstable();
    levels.dedup();
    levels.len() >= CURVE_LEVELS_MIN && table.rows.iter().all(|r| r.series.is_some() && r.level.is_some())
}

/// Two drawings with the same x axis, each with the y axis that its figures need.
fn curves(a: &Analysis<'_>, table: &PublishedTable<'_>) -> Pane {
    let then = curve(a, table, &table.citation(), |row| Some((row.published, row.published, row.published)));
    let now = curve(a, table, "this run", |row| row.measured.map(|m| (m.low, m.value, m.high)));
    let series: Vec<usize> = table.rows.iter().filter_map(|r| r.series).collect();
    let legend = series_legend(a).into_iter().enumerate().filter(|(i, _)| series.contains(i)).map(|(_, l)| l);
    Pane { label: label(table), scenes: vec![then, now], legend: legend.collect() }
}

fn curve(
    a: &Analysis<'_>,
    table: &PublishedTable<'_>,
    who: &str,
    figure: impl Fn(&PublishedRow) -> Option<Span>,
) -> Scene {
    // Only the loads that were published: the run may go further.
    let mut levels: Vec<usize> = table.rows.iter().filter_map(|row| row.level).collect();
    levels.sort_unstable();
    levels.dedup();
    let named: Vec<_> = levels.iter().map(|level| a.load.levels[*level].clone()).collect();
    let (x, positions) = Axis::of_levels(&a.load.title, &named);
    let position = |level: usize| levels.iter().position(|l| *l == level).map(|i| positions[i]);
    let (marks, highest) = curve_marks(a, table, position, &figure);
    let stops = levels
        .iter()
        .zip(&positions)
        .map(|(&level, at)| Stop {
            at: Anchor::X(*at),
            heading: format!("{}, {who}", a.load_words(level)),
            rows: stop_rows(a, table, level, &figure),
        })
        .filter(|stop: &Stop| !stop.rows.is_empty())
        .collect();
    let top = if highest > 0.0 { highest } else { 1.0 };
    Scene {
        title: format!("{} · {who}", table.metric.title),
        hint: table.metric.hint().into(),
        x,
        y: Axis::from_zero("", top, |v| table.show(v)),
        marks,
        stops,
        size: Size::Half,
    }
}

/// A line and a band for each series, and the highest value among them.
fn curve_marks(
    a: &Analysis<'_>,
    table: &PublishedTable<'_>,
    position: impl Fn(usize) -> Option<f64>,
    figure: impl Fn(&PublishedRow) -> Option<Span>,
) -> (Vec<Mark>, f64) {
    let mut marks = Vec::new();
    let mut highest = 0.0f64;
    for (index, series) in a.series.iter().enumerate() {
        let mut points: Vec<_> = table
            .rows
            .iter()
            .filter(|row| row.series == Some(index))
            .filter_map(|row| Some((position(row.level?)?, figure(row)?)))
            .collect();
        points.sort_by(|p, q| p.0.total_cmp(&q.0));
        if points.is_empty() {
            continue;
        }
        highest = points.iter().fold(highest, |high, (_, (_, value, up))| high.max(*value).max(*up));
        let ink = Ink::Series(index);
        marks.insert(
            0,
            Mark::Band {
                ink,
                points: points.iter().map(|(x, (low, _, up))| (*x, *low, *up)).collect(),
                quiet: false,
            },
        );
        marks.push(Mark::Line {
            ink,
            points: points.iter().map(|(x, (_, value, _))| (*x, *value)).collect(),
            label: series.name.clone(),
            dots: true,
            dashed: false,
        });
    }
    (marks, highest)
}

/// The figures of all series at a level.
fn stop_rows(
    a: &Analysis<'_>,
    table: &PublishedTable<'_>,
    level: usize,
    figure: impl Fn(&PublishedRow) -> Option<Span>,
) -> Vec<(Option<Ink>, String, String)> {
    table
        .rows
        .iter()
        .filter(|row| row.level == Some(level))
        .filter_map(|row| {
            let (_, value, _) = figure(row)?;
            let series = row.series?;
            Some((Some(Ink::Series(series)), a.series[series].name.clone(), table.show(value)))
        })
        .collect()
}

/// A row for each figure: the published one as an open circle, the run's own as a filled one with its interval.
fn list(table: &PublishedTable<'_>) -> Pane {
    let values = table
        .rows
        .iter()
        .flat_map(|r| [Some(r.published), r.measured.map(|m| m.low), r.measured.map(|m| m.high)]);
    let show = |value: f64| if table.is_ratio() { format!("{}×", plain(value)) } else { table.show(value) };
    let mut x = Axis::of_values("", values.flatten(), 12.0, show);
    if let Scale::Linear { high, .. } = &mut x.scale {
        *high *= 1.001;
    }
    let mut marks = Vec::new();
    let mut stops = Vec::new();
    for (row, r) in table.rows.iter().enumerate() {
        if let Some(m) = r.measured {
            marks.push(Mark::Reach { series: None, row, low: m.low, high: m.high });
            marks.push(Mark::Dot { ink: Ink::Part(0), row, x: m.value, open: false });
        }
        marks.push(Mark::Dot { ink: Ink::Part(1), row, x: r.published, open: true });
        let own = r.measured.map_or_else(
            || "no cell of this run matches".to_owned(),
            |m| {
                let cells = if m.cells > 1 { format!(" over {} cells", m.cells) } else { String::new() };
                format!("{} [{}, {}]{cells}", table.show(m.value), table.show(m.low), table.show(m.high))
            },
        );
        stops.push(Stop {
            at: Anchor::Row(row),
            heading: r.label.clone(),
            rows: vec![
                (Some(Ink::Part(1)), table.citation(), table.show_published(r.published)),
                (Some(Ink::Part(0)), "this run".into(), own),
            ],
        });
    }
    let scene = Scene {
        title: table.subject(),
        hint: table.metric.hint().into(),
        x,
        y: Axis::rows(table.rows.iter().map(row_name)),
        marks,
        stops,
        size: Size::Rows,
    };
    let legend = vec![(Ink::Part(1), table.citation()), (Ink::Part(0), "this run".into())];
    Pane { label: label(table), scenes: vec![scene], legend }
}

/// The levels of a row, and over how many cells of this run its figure is a mean.
fn row_name(row: &PublishedRow) -> String {
    match row.measured {
        Some(m) if m.cells > 1 => format!("{} (mean of {} cells)", row.label, m.cells),
        _ => row.label.clone(),
    }
}

fn label(table: &PublishedTable<'_>) -> String {
    format!("{}, {}", table.citation(), table.metric.title)
}
