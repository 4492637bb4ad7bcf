//! Reports as the tests ask for them.

use pitot_record::Run;
use pitot_report::{Format, Gate, GateOutcome, Gated, Reported, RunComparison};

/// The report of a run in a form, all of which it has.
pub fn render(run: &Run, format: Format) -> String {
    run.report(format).unwrap()
}

/// A comparison in a form; nothing in those that it does not have.
pub fn render_comparison(
    comparison: &RunComparison<'_>,
    gates: &[(Gate, GateOutcome)],
    format: Format,
) -> String {
    Gated { comparison, gates: gates.to_vec() }.report(format).unwrap_or_default()
}
