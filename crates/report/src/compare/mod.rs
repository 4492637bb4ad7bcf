//! Two runs, compared cell by cell, and gates on what changed.

mod comparison;
mod differences;
mod forest;
mod gate;
mod json;
mod junit;
mod loads;
mod page;
mod within;
mod words;

pub use comparison::RunComparison;
pub(crate) use comparison::{estimate, reference_in};
pub(crate) use differences::{differences, identity};
pub use gate::Gate;
pub use loads::{LoadComparison, LoadSide};

use crate::document::Document;
use crate::format::Format;
use crate::outcome::GateOutcome;
use crate::reported::Reported;
use pitot_record::{Metric, Run};

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

/// A comparison with the outcomes of gates.
#[derive(Debug)]
pub struct Gated<'c, C> {
    /// The comparison.
    pub comparison: &'c C,
    /// The gates and their outcomes.
    pub gates: Vec<(Gate, GateOutcome)>,
}

impl<'c, C> Gated<'c, C> {
    /// Judges a comparison by gates.
    pub fn new(
        comparison: &'c C,
        gates: Vec<Gate>,
        judge: impl Fn(&Gate, &C) -> GateOutcome,
    ) -> Gated<'c, C> {
        let judged = |gate: Gate| {
            let outcome = judge(&gate, comparison);
            (gate, outcome)
        };
        let gates = gates.into_iter().map(judged).collect();
        Gated { comparison, gates }
    }
}

impl Reported for Gated<'_, RunComparison<'_>> {
    fn page(&self, format: Format) -> Document {
        match self.comparison.is_within {
            true => within::page(self.comparison, &self.gates, format),
            false => page::page(self.comparison, &self.gates),
        }
    }

    fn data(&self, format: Format) -> Option<String> {
        match format {
            Format::Json => Some(json::render(self.comparison, &self.gates)),
            Format::Junit => Some(junit::render(self.comparison, &self.gates)),
            _ => None,
        }
    }
}

impl Reported for Gated<'_, LoadComparison<'_>> {
    fn page(&self, _: Format) -> Document {
        loads::page(self.comparison, &self.gates)
    }

    fn data(&self, format: Format) -> Option<String> {
        (format == Format::Json).then(|| loads::json(self.comparison, &self.gates))
    }
}
