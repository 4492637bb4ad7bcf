//! Two runs, compared cell by cell, and gates on what changed.

mod comparison;
mod differences;
mod forest;
mod gate;
mod json;
mod junit;
mod loads;
mod page;
mod words;

pub use comparison::{CellPair, MetricRow, MetricTable, RunComparison};
pub use gate::{CellOutcome, Gate, GateCell, GateError, GateOutcome};
pub use loads::{LoadComparison, LoadSide, loads_page, render_loads};

use crate::document::Document;
use crate::format::Format;
use pitot_record::{Metric, Run};
use pitot_results::visible;

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

/// The page of a comparison.
pub fn comparison_page(comparison: &RunComparison<'_>, gates: &[(Gate, GateOutcome)]) -> Document {
    page::page(comparison, gates)
}

/// The comparison in one of the forms of a report; CSV has none, and is Markdown.
pub fn render_comparison(
    comparison: &RunComparison<'_>,
    gates: &[(Gate, GateOutcome)],
    format: Format,
) -> String {
    let data = match format {
        Format::Json => json::render(comparison, gates),
        Format::Junit => junit::render(comparison, gates),
        Format::Csv | Format::CsvSlices => return render_comparison(comparison, gates, Format::Markdown),
        _ => return page::page(comparison, gates).render(format).unwrap_or_default(),
    };
    visible(&data).into_owned()
}
