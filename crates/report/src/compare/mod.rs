//! Two runs, compared cell by cell, and gates on what changed.

mod comparison;
mod differences;
mod forest;
mod gate;
mod github;
mod html;
mod json;
mod junit;
mod loads;
mod markdown;
mod terminal;
mod words;

pub use comparison::{CellPair, MetricRow, MetricTable, RunComparison};
pub use gate::{CellOutcome, Gate, GateCell, GateError, GateOutcome};
pub use loads::{LoadComparison, LoadSide, draw_loads, render_loads};

use crate::format::Format;
use crate::terminal::Screen;
use pitot_record::{Metric, Run};
use pitot_results::{Drawn, visible};

/// Compares `b` with `a`, in the usual metrics and those that `gates` name.
pub fn compare<'r>(a: &'r Run, b: &'r Run, gates: &[Gate]) -> RunComparison<'r> {
    let metrics: Vec<&'static Metric> = gates.iter().filter_map(Gate::metric).collect();
    comparison::compare_in(a, b, &metrics)
}

/// Compares each cell of a run with its baseline, as two runs are compared.
pub fn compare_within<'r>(run: &'r Run, gates: &[Gate]) -> RunComparison<'r> {
    let metrics: Vec<&'static Metric> = gates.iter().filter_map(Gate::metric).collect();
    comparison::compare_within(run, &metrics)
}

/// The comparison in lines of a screen.
pub fn draw_comparison(
    comparison: &RunComparison<'_>,
    gates: &[(Gate, GateOutcome)],
    screen: Screen,
) -> Drawn {
    terminal::render(comparison, gates, screen)
}

/// The comparison in one of the forms of a report; CSV has none.
pub fn render_comparison(
    comparison: &RunComparison<'_>,
    gates: &[(Gate, GateOutcome)],
    format: Format,
) -> String {
    let text = match format {
        Format::Terminal => return draw_comparison(comparison, gates, Screen::PLAIN).to_string(),
        Format::Markdown | Format::Csv | Format::CsvSlices => markdown::render(comparison, gates),
        Format::Html => html::render(comparison, gates),
        Format::Json => json::render(comparison, gates),
        Format::Github => github::render(comparison, gates),
        Format::Junit => junit::render(comparison, gates),
    };
    visible(&text).into_owned()
}
