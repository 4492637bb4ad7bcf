//! What charts share: load levels as an axis or as a choice, and the names of the series.

use crate::analysis::{Analysis, Cell};
use crate::axis::Axis;
use crate::scene::{Figure, Ink, Pane};
use pitot_record::{Better, Metric};

/// An interval beyond this multiple of the largest figure is cut: it would squeeze everything else.
const REACH_MAX: f64 = 1.6;

/// The x axis of load levels, with the position of each level on it.
pub(super) fn load_axis(a: &Analysis<'_>) -> (Axis, Vec<f64>) {
    Axis::of_levels(&a.load.title, &a.load.levels)
}

/// A figure with a pane for each load level that has something to show.
pub(super) fn by_level(a: &Analysis<'_>, pane: impl Fn(usize) -> Option<Pane>) -> Option<Figure> {
    let panes: Vec<Pane> = (0..a.load.levels.len())
        .filter_map(|level| {
            let mut pane = pane(level)?;
            pane.label.clone_from(&a.load.levels[level].0);
            Some(pane)
        })
        .collect();
    Figure::of(&a.load.title, panes)
}

/// The figures and the ends of their intervals that an axis has to hold.
pub(super) fn within_reach(
    figures: impl Iterator<Item = f64> + Clone,
    ends: impl Iterator<Item = f64>,
) -> Vec<f64> {
    let largest = figures.clone().filter(|v| v.is_finite()).fold(0.0, f64::max);
    figures.chain(ends.map(|end| end.min(largest * REACH_MAX))).collect()
}

/// The ratio of the largest to the smallest value from which the axis is logarithmic. Amounts of work are shown in proportion: a
/// line half as high is half as good. Costs spread over decades, and the low ones matter.
pub(super) fn log_from(metric: &Metric) -> f64 {
    if metric.better == Better::Higher { 1_000.0 } else { 12.0 }
}

/// The position of an interval's label: after its end, or next to its figure if it ends beyond the axis.
pub(super) fn label_at(axis: &Axis, figure: f64, end: f64) -> f64 {
    if end > axis.end() { figure } else { end.max(figure) }
}

/// The keys to all series.
pub(super) fn series_legend(a: &Analysis<'_>) -> Vec<(Ink, String)> {
    let label = |name: &str, is_baseline: bool| {
        if is_baseline { format!("{name} (baseline)") } else { name.to_owned() }
    };
    a.series.iter().enumerate().map(|(i, s)| (Ink::Series(i), label(&s.name, s.is_baseline))).collect()
}

/// A row of a stop: the series, its name and a text.
pub(super) fn stop_row(a: &Analysis<'_>, cell: &Cell<'_>, text: String) -> (Option<Ink>, String, String) {
    (Some(Ink::Series(cell.series)), a.series[cell.series].name.clone(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wide_interval_does_not_stretch_the_axis() {
        let figures = [10.0, 12.0];
        let reach = within_reach(figures.iter().copied(), [9.0, 11.0, 11.0, 300.0].into_iter());
        assert_eq!(reach.iter().copied().fold(0.0, f64::max), 12.0 * REACH_MAX);
        assert!(reach.contains(&9.0));
    }

    #[test]
    fn a_label_does_not_stand_on_an_interval_that_goes_on() {
        let axis = Axis::from_zero("", 20.0, |v| v.to_string());
        assert_eq!(label_at(&axis, 12.0, 15.0), 15.0);
        assert_eq!(label_at(&axis, 12.0, 300.0), 12.0);
    }
}
