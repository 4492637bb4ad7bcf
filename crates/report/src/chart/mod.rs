//! The charts of a report. A new one is a file here and an entry in [`CHARTS`].
//!
//! A chart turns an [`Analysis`] into a [`Figure`]: axes, marks and texts in the units of the
//! data. How that is drawn is no business of a chart.

mod cpu_split;
mod latency;
mod memory;
mod power_curve;
mod published;
mod timeline;

use crate::analysis::{Analysis, Cell};
use crate::axis::Axis;
use crate::scene::{Figure, Ink, Pane};

/// A kind of chart.
#[derive(Debug)]
pub struct Chart {
    /// The word that plans use.
    pub name: &'static str,
    /// Its heading in a report.
    pub title: &'static str,
    /// How to read it, for someone who sees one for the first time.
    pub summary: &'static str,
    /// The chart, if the run has what it needs.
    pub draw: fn(&Analysis<'_>) -> Option<Figure>,
}

/// All charts, in the order in which a report shows them if the plan does not choose.
pub static CHARTS: &[Chart] =
    &[power_curve::CHART, latency::CHART, cpu_split::CHART, memory::CHART, published::CHART, timeline::CHART];

/// The charts that the plan wants, in its order; all of them if it names none.
pub fn wanted(analysis: &Analysis<'_>) -> Vec<&'static Chart> {
    let names = &analysis.run.plan.charts;
    if names.is_empty() {
        return CHARTS.iter().collect();
    }
    names.iter().filter_map(|name| CHARTS.iter().find(|c| c.name == name)).collect()
}

/// The x axis of load levels, with the place of each level on it.
fn load_axis(a: &Analysis<'_>) -> (Axis, Vec<f64>) {
    Axis::of_levels(&a.load.title, &a.load.levels)
}

/// One pane for each load level that has something to show.
fn pane_per_level(a: &Analysis<'_>, mut pane: impl FnMut(usize) -> Option<Pane>) -> Vec<Pane> {
    (0..a.load.levels.len())
        .filter_map(|level| {
            let mut pane = pane(level)?;
            pane.label.clone_from(&a.load.levels[level].0);
            Some(pane)
        })
        .collect()
}

/// A figure whose reader chooses the load level.
fn by_level(a: &Analysis<'_>, panes: Vec<Pane>, caption: String) -> Option<Figure> {
    let choice = a.load.factor.as_ref().filter(|_| panes.len() > 1).map(|_| a.load.title.clone());
    (!panes.is_empty()).then_some(Figure { choice, panes, caption })
}

/// The keys to all series.
fn series_legend(a: &Analysis<'_>) -> Vec<(Ink, String)> {
    a.series.iter().enumerate().map(|(i, s)| (Ink::Series(i), series_label(a, i, &s.name))).collect()
}

/// A series' name, with a word where it is the baseline.
fn series_label(a: &Analysis<'_>, index: usize, name: &str) -> String {
    if a.series[index].is_baseline { format!("{name} (baseline)") } else { name.to_owned() }
}

/// A row of a stop: the series, its name and a text.
fn stop_row(a: &Analysis<'_>, cell: &Cell<'_>, text: String) -> (Option<Ink>, String, String) {
    (Some(Ink::Series(cell.series)), a.series[cell.series].name.clone(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chart_is_named_once_and_explained() {
        for (i, chart) in CHARTS.iter().enumerate() {
            assert!(CHARTS[..i].iter().all(|c| c.name != chart.name), "{} stands twice", chart.name);
            assert!(
                !chart.title.is_empty() && chart.summary.ends_with('.'),
                "{} is not explained",
                chart.name
            );
        }
    }
}
