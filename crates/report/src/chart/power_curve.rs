//! Throughput, tail latency and CPU per request against the load: what each architecture can do, and at what cost.

use super::{Chart, load_axis, series_legend, stop_row};
use crate::analysis::{Analysis, known};
use crate::axis::Axis;
use crate::number::{figure, figure_of, spread};
use crate::scene::{Figure, Ink, Mark, Pane, Place, Scene, Size, Stop};
use crate::words::{capital, noun};
use pitot_lab::{Better, Metric};

pub(super) const CHART: Chart = Chart {
    name: "power-curve",
    title: "Power curve",
    summary: "Each line is one server under rising load. The band around a line is its 95% interval (or the range of \
              its repetitions, where they are too few for one): where bands overlap, do not trust the order.",
    draw,
};

fn draw(a: &Analysis<'_>) -> Option<Figure> {
    a.load.factor.as_ref()?;
    let mut metrics = vec![a.headline];
    for name in ["throughput", "latency-p99", "cpu-per-request"] {
        metrics.extend(Some(known(name)).filter(|m| m.name != a.headline.name));
    }
    let mut scenes: Vec<Scene> = metrics.into_iter().filter_map(|m| scene(a, m)).take(3).collect();
    let first = scenes.first_mut()?;
    first.size = Size::Full;
    // A half without a partner leaves a hole.
    if let [_, last] = scenes.as_mut_slice() {
        last.size = Size::Full;
    }
    let pane = Pane { label: String::new(), scenes, legend: series_legend(a) };
    Some(Figure { choice: None, panes: vec![pane], caption: String::new() })
}

fn scene(a: &Analysis<'_>, metric: &'static Metric) -> Option<Scene> {
    let (x, places) = load_axis(a);
    let mut marks = Vec::new();
    let mut values = Vec::new();
    for (index, series) in a.series.iter().enumerate() {
        let points: Vec<(f64, f64, f64, f64)> = (0..places.len())
            .filter_map(|level| {
                let cell = a.cell(index, level).filter(|c| !c.failed())?;
                let estimate = cell.estimate(metric)?;
                let (low, high) = estimate.span();
                Some((places[level], estimate.value, low, high))
            })
            .collect();
        if points.is_empty() {
            continue;
        }
        values.extend(points.iter().flat_map(|p| [p.1, p.2, p.3]));
        let ink = Ink::Series(index);
        if points.len() > 1 {
            marks.insert(0, Mark::Band { ink, points: points.iter().map(|p| (p.0, p.2, p.3)).collect() });
        } else {
            marks.insert(0, Mark::Whisker { ink, x: points[0].0, low: points[0].2, high: points[0].3 });
        }
        marks.push(Mark::Line {
            ink,
            points: points.iter().map(|p| (p.0, p.1)).collect(),
            label: series.name.clone(),
            dots: true,
            dashed: false,
        });
    }
    let show = |value: f64| figure(value, metric.unit);
    let stops = (0..places.len()).map(|level| stop(a, metric, level, places[level])).collect();
    (!values.is_empty()).then(|| Scene {
        title: capital(noun(metric)),
        hint: Analysis::hint(metric).into(),
        y: Axis::of_values("", values, log_from(metric), show),
        x,
        marks,
        stops,
        size: Size::Half,
    })
}

/// All servers at one load, the best first.
fn stop(a: &Analysis<'_>, metric: &'static Metric, level: usize, place: f64) -> Stop {
    let mut cells: Vec<_> = a.at_level(level, metric).collect();
    cells.sort_by(|x, y| x.1.value.total_cmp(&y.1.value));
    if metric.better == Better::Higher {
        cells.reverse();
    }
    let rows = cells
        .into_iter()
        .map(|(cell, e)| {
            stop_row(a, cell, format!("{} {}", figure_of(metric, e.value), spread(e, metric.unit)))
        })
        .collect();
    Stop { at: Place::X(place), heading: a.load_words(level), rows }
}

/// How many times the values may differ before the axis becomes logarithmic. Amounts of work should be seen in
/// proportion, so that a line half as high is half as good; costs spread over decades, and the cheap ones matter.
fn log_from(metric: &Metric) -> f64 {
    if metric.better == Better::Higher { 1_000.0 } else { 12.0 }
}
