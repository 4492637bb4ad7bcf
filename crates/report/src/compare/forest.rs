//! Every ratio with its interval as a picture: a forest plot.

use super::comparison::{MetricTable, RunComparison};
use crate::amount::unit_of_run;
use crate::axis::Axis;
use crate::number::plain;
use crate::phrase::{decision, ratio, tone};
use crate::scene::{Anchor, Figure, Ink, Mark, Pane, Scene, Size, Stop};
use crate::text::capital;
use crate::tone::Tone;
use pitot_stats::Comparison;

/// Ratios further apart than this need a logarithmic axis.
const LOG_FROM: f64 = 4.0;

pub(super) fn ratios(c: &RunComparison<'_>) -> Option<Figure> {
    let mut panes: Vec<Pane> = c.metrics.iter().filter_map(|table| forest(c, table)).collect();
    // The last pane is shown first: that of the plan's metric.
    let first = usize::from(!panes.is_empty());
    panes.rotate_left(first);
    Figure::of("figure", panes)
}

fn forest(c: &RunComparison<'_>, table: &MetricTable) -> Option<Pane> {
    let rows: Vec<(&str, &Comparison)> = c
        .pairs
        .iter()
        .zip(&table.rows)
        .filter_map(|(pair, row)| Some((pair.label.as_str(), row.comparison.as_ref()?)))
        .collect();
    let ends = |x: &Comparison| x.interval.map_or((x.ratio_min, x.ratio_max), |i| (i.low, i.high));
    let low = rows.iter().map(|(_, x)| ends(x).0).reduce(f64::min)?.min(1.0 / (1.0 + 2.0 * c.tolerance));
    let high = rows.iter().map(|(_, x)| ends(x).1).reduce(f64::max)?.max(1.0 + 2.0 * c.tolerance);
    let x = ratio_axis(low, high);
    let (from, to) = (1.0 / (1.0 + c.tolerance), 1.0 + c.tolerance);
    let mut marks = vec![Mark::Stretch { from, to, label: String::new(), fault: false }];
    let mut stops = Vec::new();
    for (row, (label, comparison)) in rows.iter().enumerate() {
        let (low, high) = ends(comparison);
        let ink = match tone(comparison, table.metric) {
            Some(Tone::Good) => Ink::Better,
            Some(Tone::Bad) => Ink::Worse,
            Some(Tone::Care) | None => Ink::Muted,
        };
        marks.push(Mark::Reach { series: None, row, low, high });
        marks.push(Mark::Dot { ink, row, x: comparison.ratio, open: !comparison.decision.is_difference() });
        stops.push(Stop {
            at: Anchor::Row(row),
            heading: (*label).to_owned(),
            rows: vec![
                (Some(ink), "B/A".into(), ratio(comparison)),
                (None, "verdict".into(), decision(comparison, table.metric, unit_of_run(c.b))),
            ],
        });
    }
    let scene = Scene {
        title: capital(table.metric.words.noun),
        hint: table.metric.hint().into(),
        y: Axis::rows(rows.iter().map(|(label, _)| (*label).to_owned())),
        x,
        marks,
        stops,
        size: Size::Rows,
    };
    let legend = vec![
        (Ink::Better, "better".into()),
        (Ink::Worse, "worse".into()),
        (Ink::Muted, "no difference shown".into()),
    ];
    Some(Pane { label: table.metric.title.to_owned(), scenes: vec![scene], legend })
}

/// Multiples on a logarithmic axis if the ratios are far apart, else changes in percent.
fn ratio_axis(low: f64, high: f64) -> Axis {
    if high / low > LOG_FROM {
        return Axis::log("B/A", low, high, |v| format!("{}×", plain(v)));
    }
    let room = (high - low) * 0.05;
    let mut axis = Axis::between("change from A to B", low - room, high + room, |v| v.to_string());
    for (value, text) in &mut axis.ticks {
        *text = change_text(*value);
    }
    axis
}

/// A ratio as a change: `-5%`, `0%`, `+2.5%`.
fn change_text(ratio: f64) -> String {
    let change = ((ratio - 1.0) * 1000.0).round() / 10.0;
    if change == 0.0 { "0%".into() } else { format!("{change:+}%") }
}
