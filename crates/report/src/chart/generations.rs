//! The ratio to the baseline in each generation of slices, with the control in the last row.

use super::entry::Chart;
use super::levels::by_level;
use crate::analysis::Analysis;
use crate::axis::{Axis, Scale};
use crate::control::{control_metrics, controls};
use crate::number;
use crate::phrase::{decision, ratio};
use crate::scene::{Anchor, Figure, Ink, Mark, Pane, Scene, Size, Stop};
use crate::text::capital;
use pitot_plan::Measure;
use pitot_record::{Better, CellRecord, Metric, Side};
use pitot_stats::Comparison;

pub(super) const CHART: Chart = Chart {
    name: "generations",
    title: "Every generation",
    summary: "Each small dot is one generation: the ratio of a server to the baseline. The large dot is the ratio over all \
              generations, filled if a difference was declared, and the line is its 95% interval. The last row is the \
              control, a second copy of the baseline: it shows how far apart equal servers are on this machine. The dashed \
              line is at 1. An arrow means that a value is beyond the frame.",
    draw,
};

/// Ratios beyond this multiple of the range of the estimates are cut, so that one of them does not hide the others.
const REACH_MAX: f64 = 1.5;
/// Ratios that span more than this have ticks at these values, others at equal steps.
const FAR_APART_FROM: f64 = 1.6;
const FAR_APART_TICKS: [f64; 6] = [0.1, 0.15, 0.2, 0.3, 0.5, 0.7];
/// More generations than this are not listed one by one.
const LISTED_MAX: usize = 16;

/// A row: a server, or the control.
struct Row {
    name: String,
    series: Option<usize>,
    ratios: Vec<f64>,
    comparison: Comparison,
    verdict: String,
}

fn draw(a: &Analysis<'_>) -> Option<Figure> {
    a.run.is_sliced().then(|| by_level(a, |level| pane(a, level))).flatten()
}

fn pane(a: &Analysis<'_>, level: usize) -> Option<Pane> {
    let scenes: Vec<Scene> =
        control_metrics(a).into_iter().filter_map(|metric| scene(a, level, metric)).collect();
    (!scenes.is_empty()).then_some(Pane { label: String::new(), scenes, legend: Vec::new() })
}

fn rows(a: &Analysis<'_>, level: usize, metric: &'static Metric) -> Vec<Row> {
    let ratios = |candidate: Side<'_>, baseline: Side<'_>| -> Vec<f64> {
        candidate.log_ratios(&baseline, metric).into_iter().map(f64::exp).collect()
    };
    let mut rows: Vec<Row> = a
        .at_level(level, metric)
        .filter(|(cell, _)| cell.record.measure == Measure::Slices)
        .filter_map(|(cell, _)| {
            let baseline = a.run.baseline_of(cell.record).filter(|b| b.measure == Measure::Slices)?;
            let comparison = a.compare(cell.record, baseline, metric)?;
            Some(Row {
                name: a.series_of(cell).to_owned(),
                series: Some(cell.series),
                ratios: ratios(a.run.side(cell.record), a.run.side(baseline)),
                verdict: decision(&comparison, metric, "generation"),
                comparison,
            })
        })
        .collect();
    rows.sort_by(|x, y| x.comparison.ratio.total_cmp(&y.comparison.ratio));
    if metric.better == Better::Higher {
        rows.reverse();
    }
    for control in controls(a).into_iter().filter(|c| c.level == level && c.metric.name == metric.name) {
        let copy = a.run.control_of(control.baseline);
        rows.push(Row {
            name: format!("control ({})", series_name(a, control.baseline)),
            series: None,
            ratios: copy
                .map_or_else(Vec::new, |copy| ratios(Side::alone(copy), Side::alone(control.baseline))),
            verdict: if control.has_failed() { "control failed" } else { "control passed" }.to_owned(),
            comparison: control.comparison,
        });
    }
    rows
}

fn series_name<'a>(a: &'a Analysis<'_>, record: &CellRecord) -> &'a str {
    a.cells.iter().find(|c| c.record.id == record.id).map_or("", |cell| a.series_of(cell))
}

fn scene(a: &Analysis<'_>, level: usize, metric: &'static Metric) -> Option<Scene> {
    let rows = rows(a, level, metric);
    let x = axis(&rows)?;
    let (first, last) = (-0.5, rows.len() as f64 - 0.5);
    let line = vec![(1.0, first), (1.0, last)];
    let mut marks =
        vec![Mark::Line { ink: Ink::Muted, points: line, label: String::new(), dots: false, dashed: true }];
    let mut stops = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let (c, ink) = (&row.comparison, row.series.map_or(Ink::Muted, Ink::Series));
        marks.extend(row.ratios.iter().map(|&x| Mark::Speck { ink, row: index, x }));
        let (low, high) = c.interval.map_or((c.ratio_min, c.ratio_max), |i| (i.low, i.high));
        marks.push(Mark::Reach { series: row.series, row: index, low, high });
        marks.push(Mark::Dot { ink, row: index, x: c.ratio, open: !c.decision.is_difference() });
        let mut texts =
            vec![(Some(ink), "ratio".into(), ratio(c)), (None, "verdict".into(), row.verdict.clone())];
        if row.ratios.len() <= LISTED_MAX {
            let all: Vec<String> = row.ratios.iter().map(|r| number::ratio(*r)).collect();
            texts.push((None, "generations".into(), all.join(", ")));
        }
        let heading = format!("{} {}", row.name, a.load_words(level)).trim_end().to_owned();
        stops.push(Stop { at: Anchor::Row(index), heading, rows: texts });
    }
    let baseline = a.baseline_words().map_or_else(String::new, |name| format!(", ratio to {name}"));
    Some(Scene {
        title: format!("{}{baseline}", capital(metric.words.noun)),
        hint: metric.hint().into(),
        y: Axis::rows(rows.into_iter().map(|row| row.name)),
        x,
        marks,
        stops,
        size: Size::Rows,
    })
}

/// A logarithmic axis with 1, all estimates, and the intervals and generations that are not far off.
fn axis(rows: &[Row]) -> Option<Axis> {
    let estimates = || rows.iter().map(|row| row.comparison.ratio).filter(|r| *r > 0.0 && r.is_finite());
    let (low, high) = (estimates().reduce(f64::min)?.min(1.0), estimates().reduce(f64::max)?.max(1.0));
    let ends = rows.iter().flat_map(|row| {
        let interval = row.comparison.interval.iter().flat_map(|i| [i.low, i.high]);
        interval.chain(row.ratios.iter().copied()).collect::<Vec<_>>()
    });
    let ends = ends.map(|end| end.clamp(low / REACH_MAX, high * REACH_MAX));
    let (low, high) = ends.fold((low, high), |(low, high), end| (low.min(end), high.max(end)));
    let room = (high / low).powf(0.03).max(1.005);
    let (low, high) = (low / room, high * room);
    let ticks: Vec<f64> = if high / low > 12.0 {
        Axis::log("", low, high, |v| v.to_string()).ticks.into_iter().map(|tick| tick.0).collect()
    } else if high / low > FAR_APART_FROM {
        (-3..4).flat_map(|power| FAR_APART_TICKS.map(|tick| tick * 10f64.powi(power))).collect()
    } else {
        Axis::between("", low, high, |v| v.to_string()).ticks.into_iter().map(|tick| tick.0).collect()
    };
    let ticks = ticks.into_iter().filter(|tick| (low..=high).contains(tick));
    let text = |value: f64| format!("{}×", (value * 1000.0).round() / 1000.0);
    Some(Axis {
        title: String::new(),
        scale: Scale::Log { low, high },
        ticks: ticks.map(|tick| (tick, text(tick))).collect(),
    })
}
