//! What charts share: load levels as an axis or as a choice, and the names of the series.

use crate::analysis::{Analysis, Cell};
use crate::axis::Axis;
use crate::scene::{Figure, Ink, Pane};

/// The x axis of load levels, with the position of each level on it.
pub(super) fn load_axis(a: &Analysis<'_>) -> (Axis, Vec<f64>) {
    Axis::of_levels(&a.load.title, &a.load.levels)
}

/// A figure with a pane for each load level that has something to show, of which the reader chooses one.
pub(super) fn by_level(a: &Analysis<'_>, pane: impl Fn(usize) -> Option<Pane>) -> Option<Figure> {
    let panes: Vec<Pane> = (0..a.load.levels.len())
        .filter_map(|level| {
            let mut pane = pane(level)?;
            pane.label.clone_from(&a.load.levels[level].0);
            Some(pane)
        })
        .collect();
    let choice = a.load.factor.as_ref().filter(|_| panes.len() > 1).map(|_| a.load.title.clone());
    (!panes.is_empty()).then_some(Figure { choice, panes, caption: String::new() })
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
