//! Every repetition in the plan's metric, with the figure and the interval that they make.

use super::entry::Chart;
use super::levels::{by_level, label_at, log_from, within_reach};
use crate::amount::unit;
use crate::analysis::{Analysis, Cell, values};
use crate::axis::Axis;
use crate::number::{figure, figure_of, figure_with_spread};
use crate::scene::{Anchor, Figure, Ink, Mark, Pane, Scene, Size, Stop};
use crate::text::capital;
use pitot_record::Better;
use pitot_stats::Estimate;

pub(super) const CHART: Chart = Chart {
    name: "repetitions",
    title: "Every repetition",
    summary: "Each row is one cell, in the plan's metric. The large dot is its figure, the line its interval (or the range of its \
              repetitions, if they are too few for one), and each small dot one repetition or generation. An arrow means that a \
              value is beyond the frame.",
    draw,
};

/// More repetitions than this are not listed one by one.
const LISTED_MAX: usize = 12;

fn draw(a: &Analysis<'_>) -> Option<Figure> {
    if a.series.len() > 1 || a.load.factor.is_none() {
        return by_level(a, |level| pane(a, &best_first(a, level), |cell| a.series_of(cell).to_owned()));
    }
    // If only the load varies, the loads are the rows.
    let cells: Vec<_> = (0..a.load.levels.len()).flat_map(|level| a.at_level(level, a.headline)).collect();
    let pane = pane(a, &cells, |cell| a.load_words(cell.level))?;
    Figure::of("", vec![pane])
}

type Row<'a, 'r> = (&'a Cell<'r>, &'a Estimate);

fn best_first<'a, 'r>(a: &'a Analysis<'r>, level: usize) -> Vec<Row<'a, 'r>> {
    let mut cells: Vec<_> = a.at_level(level, a.headline).collect();
    cells.sort_by(|x, y| x.1.value.total_cmp(&y.1.value));
    if a.headline.better == Better::Higher {
        cells.reverse();
    }
    cells
}

fn pane(a: &Analysis<'_>, cells: &[Row<'_, '_>], name: impl Fn(&Cell<'_>) -> String) -> Option<Pane> {
    let metric = a.headline;
    let middles = || cells.iter().map(|c| c.1.value);
    let ends = cells.iter().flat_map(|(_, e)| [e.span().0, e.span().1, e.min, e.max]);
    let reach = within_reach(middles(), ends);
    let high = reach.iter().copied().reduce(f64::max)?;
    // A little more room for the labels behind the intervals.
    let x = Axis::of_values("", reach.iter().copied().chain([high * 1.1]), log_from(metric), |v| {
        figure(v, metric.unit)
    });
    let mut marks = Vec::new();
    let mut stops = Vec::new();
    for (row, (cell, e)) in cells.iter().enumerate() {
        let (series, ink) = (Some(cell.series), Ink::Series(cell.series));
        let (low, up) = e.span();
        let repetitions = values(cell.record, metric);
        marks.extend(repetitions.iter().map(|&value| Mark::Speck { ink, row, x: value }));
        marks.push(Mark::Reach { series, row, low, high: up });
        marks.push(Mark::Dot { ink, row, x: e.value, open: false });
        let bound = if cell.is_lower_bound(metric) { "≥ " } else { "" };
        let text = format!("{bound}{}", figure_of(metric, e.value));
        marks.push(Mark::Label { series, row, x: label_at(&x, e.value, up), text });
        let mut rows = vec![(Some(ink), a.run.plan.statistic.to_string(), figure_with_spread(metric, e))];
        if repetitions.len() <= LISTED_MAX {
            let all: Vec<String> = repetitions.iter().map(|v| figure_of(metric, *v)).collect();
            rows.push((None, format!("{}s", unit(cell.record)), all.join(", ")));
        }
        let heading = format!("{} {}", a.series_of(cell), a.load_words(cell.level)).trim_end().to_owned();
        stops.push(Stop { at: Anchor::Row(row), heading, rows });
    }
    let scene = Scene {
        title: capital(metric.words.noun),
        hint: metric.hint().into(),
        x,
        y: Axis::rows(cells.iter().map(|(cell, _)| name(cell))),
        marks,
        stops,
        size: Size::Rows,
    };
    Some(Pane::of(scene))
}
