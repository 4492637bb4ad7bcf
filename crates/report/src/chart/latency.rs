//! Latency by percentile, on a scale with equal room for each nine.

use super::entry::Chart;
use super::levels::{by_level, series_legend, stop_row};
use crate::analysis::{Analysis, Cell};
use crate::axis::{Axis, Scale};
use crate::number::figure;
use crate::scene::{Anchor, Figure, Ink, Mark, Pane, Scene, Size, Stop};
use pitot_meter::Histogram;
use pitot_record::Unit;

pub(super) const CHART: Chart = Chart {
    name: "latency",
    title: "Latency percentiles",
    summary: "Read it from the right: the value at 99.9% is the time within which 999 of 1000 requests were answered, counted \
              from their intended start. A flat curve is good; a step up is what the slowest requests see. The curves \
              come from the merged histograms of all repetitions, never from averaged percentiles.",
    draw,
};

/// A percentile with fewer samples beyond it is random.
const SAMPLES_BEYOND_MIN: f64 = 10.0;
/// The quantile at which the curves begin.
const FIRST: f64 = 0.1;
const NINES_MAX: f64 = 5.0;
/// Points of a curve.
const POINTS: usize = 90;
/// The percentiles that have a tick.
const TICKS: &[(f64, &str)] =
    &[(0.5, "50%"), (0.9, "90%"), (0.99, "99%"), (0.999, "99.9%"), (0.9999, "99.99%"), (0.99999, "99.999%")];

fn draw(a: &Analysis<'_>) -> Option<Figure> {
    by_level(a, |level| pane(a, level))
}

/// The nines of a quantile: 0.9 has 1, 0.999 has 3.
fn nines(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}

fn quantile(nines: f64) -> f64 {
    1.0 - 10f64.powf(-nines)
}

fn pane(a: &Analysis<'_>, level: usize) -> Option<Pane> {
    let curves: Vec<(&Cell<'_>, Histogram)> = a
        .cells
        .iter()
        .filter(|c| c.level == level && !c.failed())
        .filter_map(|c| Some((c, merged(c)?)))
        .collect();
    let count = curves.iter().map(|(_, h)| h.count()).max()?;
    let last = (count as f64 / SAMPLES_BEYOND_MIN).log10().clamp(1.0, NINES_MAX);
    let first = nines(FIRST);
    let mut marks = Vec::new();
    let mut values = Vec::new();
    for (cell, histogram) in &curves {
        let reach = (histogram.count() as f64 / SAMPLES_BEYOND_MIN).log10().clamp(0.5, last);
        let points: Vec<(f64, f64)> = (0..=POINTS)
            .map(|i| first + (reach - first) * i as f64 / POINTS as f64)
            .map(|n| (n, histogram.at(quantile(n)).0.max(1) as f64))
            .collect();
        values.extend(points.iter().map(|p| p.1));
        marks.push(Mark::line(Ink::Series(cell.series), a.series_of(cell), points));
    }
    let show = |value: f64| figure(value, Unit::Nanoseconds);
    let ticks = TICKS
        .iter()
        .map(|(q, text)| (nines(*q), (*text).to_owned()))
        .filter(|(n, _)| *n <= last + 1e-9)
        .collect();
    let stops =
        TICKS.iter().filter(|(q, _)| nines(*q) <= last + 1e-9).map(|(q, _)| stop(a, &curves, *q)).collect();
    let scene = Scene {
        title: "Response time".into(),
        hint: "lower is better".into(),
        x: Axis {
            title: "share of requests answered within".into(),
            scale: Scale::Linear { low: first, high: last },
            ticks,
        },
        y: Axis::of_values("", values, 8.0, show),
        marks,
        stops,
        size: Size::Full,
    };
    Some(Pane { label: String::new(), scenes: vec![scene], legend: series_legend(a) })
}

fn stop(a: &Analysis<'_>, curves: &[(&Cell<'_>, Histogram)], q: f64) -> Stop {
    let enough = |h: &Histogram| h.count() as f64 * (1.0 - q) >= SAMPLES_BEYOND_MIN * 0.999;
    let mut rows: Vec<_> =
        curves.iter().filter(|(_, h)| enough(h)).map(|(cell, h)| (h.at(q).0, *cell)).collect();
    rows.sort_by_key(|(value, _)| *value);
    let rows = rows
        .into_iter()
        .map(|(value, cell)| stop_row(a, cell, figure(value as f64, Unit::Nanoseconds)))
        .collect();
    Stop {
        at: Anchor::X(nines(q)),
        heading: format!("{}% of the requests within", (q * 1e7).round() / 1e5),
        rows,
    }
}

/// The response times of all repetitions of a cell that did not fail.
fn merged(cell: &Cell<'_>) -> Option<Histogram> {
    let mut all = Histogram::new();
    // A clock that counted instructions measured no time.
    for repetition in cell.record.repetitions.iter().filter(|r| !r.counts_instructions()) {
        let encoded = repetition.load.as_ref().and_then(|l| l.histograms.get("response"));
        if let Some(histogram) = encoded.and_then(|text| Histogram::decode(text).ok()) {
            all.merge(&histogram);
        }
    }
    (all.count() > 0).then_some(all)
}
