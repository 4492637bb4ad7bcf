//! What an open connection costs in memory.

use super::entry::Chart;
use super::levels::{by_level, label_at, within_reach};
use crate::analysis::Analysis;
use crate::axis::{Axis, Scale};
use crate::number::{figure, figure_of, figure_with_spread};
use crate::scene::{Anchor, Figure, Ink, Mark, Pane, Scene, Size, Stop};
use pitot_record::metric::named;
use pitot_record::{Metric, Unit};

const PER_CONNECTION: &Metric = named("memory-per-connection");
const WHOLE: &Metric = named("memory");

pub(super) const CHART: Chart = Chart {
    name: "memory",
    title: "Memory per connection",
    summary: "How much the server's anonymous memory grew for each open connection; pages shared by its processes count once. \
              This includes buffers that the server fills on first use, so it is the cost of a connection only with \
              thousands of connections. The kernel's memory for sockets is not included.",
    draw,
};

fn draw(a: &Analysis<'_>) -> Option<Figure> {
    by_level(a, |level| pane(a, level))
}

fn pane(a: &Analysis<'_>, level: usize) -> Option<Pane> {
    let mut cells: Vec<_> = a.at_level(level, PER_CONNECTION).collect();
    cells.sort_by(|x, y| x.1.value.total_cmp(&y.1.value));
    let show = |value: f64| figure_of(PER_CONNECTION, value);
    let reach = within_reach(cells.iter().map(|c| c.1.value), cells.iter().map(|c| c.1.span().1));
    let high = reach.into_iter().reduce(f64::max)?;
    let low = cells.iter().map(|c| c.1.value).filter(|v| *v > 0.0).reduce(f64::min).unwrap_or(high);
    let mut x = axis(low, high);
    let logarithmic = matches!(x.scale, Scale::Log { .. });
    if logarithmic {
        x.title = "logarithmic".into();
    }
    let mut marks = Vec::new();
    let mut stops = Vec::new();
    for (row, (cell, e)) in cells.iter().enumerate() {
        let series = Some(cell.series);
        let (low, up) = e.span();
        let ink = Ink::Series(cell.series);
        // A bar on a logarithmic axis would have a length that means nothing.
        if logarithmic {
            marks.push(Mark::Reach { series, row, low, high: up });
            marks.push(Mark::Dot { ink, row, x: e.value, open: false });
        } else {
            marks.push(Mark::Bar { ink, series, row, from: 0.0, to: e.value });
            marks.push(Mark::Reach { series, row, low, high: up });
        }
        marks.push(Mark::Label { series, row, x: label_at(&x, e.value, up), text: show(e.value) });
        let all = cell.estimate(WHOLE).map(|m| (None, "whole server".into(), figure(m.value, Unit::Bytes)));
        let mut rows = vec![(Some(ink), "per connection".into(), figure_with_spread(PER_CONNECTION, e))];
        rows.extend(all);
        let heading = format!("{} {}", a.series_of(cell), a.load_words(level));
        stops.push(Stop { at: Anchor::Row(row), heading, rows });
    }
    let scene = Scene {
        title: "Memory per connection".into(),
        hint: PER_CONNECTION.hint().into(),
        x,
        y: Axis::rows(cells.iter().map(|(cell, _)| a.series_of(cell).to_owned())),
        marks,
        stops,
        size: Size::Rows,
    };
    Some(Pane::of(scene))
}

/// An axis with binary ticks: powers of two where the values span decades, round kibibytes where they do not.
fn axis(low: f64, high: f64) -> Axis {
    let show = |value: f64| figure(value, Unit::Bytes);
    if high > 40.0 * low.max(1.0) {
        let (first, last) = (low.max(1.0).log2().floor() as i32, (high * 1.6).log2().ceil() as i32);
        let step = ((last - first) / 6).max(1);
        let mut axis = Axis::log("", 2f64.powi(first), 2f64.powi(last), show);
        axis.scale = Scale::Log { low: 2f64.powi(first), high: 2f64.powi(last) };
        axis.ticks =
            (first..=last).step_by(step as usize).map(|p| (2f64.powi(p), whole(2f64.powi(p)))).collect();
        return axis;
    }
    let unit = if high >= 1024.0 * 1024.0 {
        1024.0 * 1024.0
    } else if high >= 1024.0 {
        1024.0
    } else {
        1.0
    };
    let mut axis = Axis::from_zero("", high * 1.12 / unit, |v| whole(v * unit));
    axis.stretch(unit);
    axis
}

/// A round size without decimals where it has none.
fn whole(bytes: f64) -> String {
    let text = figure(bytes, Unit::Bytes);
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number} {unit}")
}
