//! The plan's metric and other metrics against the load.

use super::entry::Chart;
use super::levels::{load_axis, log_from, series_legend, stop_row, within_reach};
use crate::analysis::Analysis;
use crate::axis::Axis;
use crate::number::{figure, figure_with_spread};
use crate::scene::{Anchor, Figure, Ink, Mark, Pane, Scene, Size, Stop};
use crate::text::capital;
use pitot_record::metric::Section;
use pitot_record::{Better, METRICS, Metric};

pub(super) const CHART: Chart = Chart {
    name: "power-curve",
    title: "Power curve",
    summary: "Each line is one server, or one program, under rising load. The band around a line is its interval (or the range \
              of its repetitions, if they are too few for one): where bands overlap, do not rely on the order. With more than \
              three servers, only the best and the baseline show their bands; point at another name to see its band.",
    draw,
};

/// With more lines than this, bands are hidden.
const BANDS_MAX: usize = 3;

fn draw(a: &Analysis<'_>) -> Option<Figure> {
    a.load.factor.as_ref()?;
    let others = METRICS.iter().filter(|m| m.is_shown_in(Section::Curve) && m.name != a.headline.name);
    let mut scenes: Vec<Scene> =
        std::iter::once(a.headline).chain(others).filter_map(|m| scene(a, m)).collect();
    scenes.first_mut()?.size = Size::Full;
    // A half without a partner would leave a hole.
    if let [_, halves @ ..] = scenes.as_mut_slice()
        && halves.len() % 2 == 1
        && let Some(last) = halves.last_mut()
    {
        last.size = Size::Full;
    }
    let pane = Pane { label: String::new(), scenes, legend: series_legend(a) };
    Figure::of("", vec![pane])
}

fn scene(a: &Analysis<'_>, metric: &'static Metric) -> Option<Scene> {
    let (x, positions) = load_axis(a);
    let mut marks = Vec::new();
    let (mut figures, mut ends) = (Vec::new(), Vec::new());
    let best = a.top_level().and_then(|level| a.best_at(level, metric)).map(|c| c.series);
    for (index, series) in a.series.iter().enumerate() {
        let points: Vec<(f64, f64, f64, f64)> = (0..positions.len())
            .filter_map(|level| {
                let cell = a.cell(index, level).filter(|c| !c.failed())?;
                let estimate = cell.estimate(metric)?;
                let (low, high) = estimate.span();
                Some((positions[level], estimate.value, low, high))
            })
            .collect();
        if points.is_empty() {
            continue;
        }
        figures.extend(points.iter().map(|p| p.1));
        ends.extend(points.iter().flat_map(|p| [p.2, p.3]));
        let ink = Ink::Series(index);
        if points.len() > 1 {
            let quiet = a.series.len() > BANDS_MAX && !series.is_baseline && best != Some(index);
            let points = points.iter().map(|p| (p.0, p.2, p.3)).collect();
            marks.insert(0, Mark::Band { ink, points, quiet });
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
    let stops = (0..positions.len()).map(|level| stop(a, metric, level, positions[level])).collect();
    (!figures.is_empty()).then(|| Scene {
        title: capital(metric.words.noun),
        hint: metric.hint().into(),
        y: Axis::of_values(
            "",
            within_reach(figures.iter().copied(), ends.into_iter()),
            log_from(metric),
            show,
        ),
        x,
        marks,
        stops,
        size: Size::Half,
    })
}

/// All servers at one load, the best first.
fn stop(a: &Analysis<'_>, metric: &'static Metric, level: usize, position: f64) -> Stop {
    let mut cells: Vec<_> = a.at_level(level, metric).collect();
    cells.sort_by(|x, y| x.1.value.total_cmp(&y.1.value));
    if metric.better == Better::Higher {
        cells.reverse();
    }
    let rows = cells.into_iter().map(|(cell, e)| stop_row(a, cell, figure_with_spread(metric, e))).collect();
    Stop { at: Anchor::X(position), heading: a.load_words(level), rows }
}
