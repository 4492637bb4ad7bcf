//! The charts of a report. A new one is a file here and an entry in [`CHARTS`].
//!
//! A chart turns an [`Analysis`] into a `Figure`: axes, marks and texts in the units of the
//! data. It does not know how that is drawn.

mod cpu_split;
mod entry;
mod generations;
mod latency;
mod levels;
mod memory;
mod power_curve;
mod published;
mod repetitions;
mod service;
mod timeline;

pub use entry::Chart;

use crate::analysis::Analysis;

/// All charts, in the order in which a report shows them if the plan does not choose.
pub static CHARTS: &[Chart] = &[
    power_curve::CHART,
    generations::CHART,
    repetitions::CHART,
    latency::CHART,
    cpu_split::CHART,
    memory::CHART,
    published::CHART,
    service::CHART,
    timeline::CHART,
];

/// The charts that the plan asks for, in its order; all of them if it names none.
pub fn wanted(analysis: &Analysis<'_>) -> Vec<&'static Chart> {
    let names = &analysis.run.plan.charts;
    if names.is_empty() {
        return CHARTS.iter().collect();
    }
    names.iter().filter_map(|name| CHARTS.iter().find(|c| c.name == name)).collect()
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
