//! A comparison as the XML of JUnit: a suite for the cells, and one for each gate with a test case for each cell.

use super::comparison::RunComparison;
use super::gate::{CellOutcome, Gate};
use crate::junit::{Case, CaseOutcome, Suite, document};
use crate::outcome::GateOutcome;
use pitot_results::VerdictKind;

pub(super) fn render(c: &RunComparison<'_>, gates: &[(Gate, GateOutcome)]) -> String {
    let mut suites = vec![cells(c)];
    suites.extend(gates.iter().map(|(gate, outcome)| of_gate(c, gate, outcome)));
    document("pitot compare", &suites)
}

/// A cell that failed in the second run is a failure, a missing one an error.
fn cells(c: &RunComparison<'_>) -> Suite {
    let of_b = c.b.cells.iter().map(|cell| {
        let verdict = cell.verdict();
        let outcome = match verdict.kind {
            VerdictKind::Failed => CaseOutcome::Failed(verdict.reason),
            _ => CaseOutcome::Passed,
        };
        Case { name: cell.label(), outcome }
    });
    let missing = c.only_a.iter().map(|label| Case {
        name: label.clone(),
        outcome: CaseOutcome::Error("the second run does not have this cell".into()),
    });
    Suite { name: "cells".into(), cases: of_b.chain(missing).collect() }
}

fn of_gate(c: &RunComparison<'_>, gate: &Gate, outcome: &GateOutcome) -> Suite {
    let mut cases: Vec<Case> = gate
        .cells(c)
        .into_iter()
        .map(|cell| Case {
            outcome: match cell.outcome {
                CellOutcome::Passed => CaseOutcome::Passed,
                CellOutcome::Met(why) => CaseOutcome::Failed(format!("{} {why}", cell.label)),
                CellOutcome::Undecided(why) => CaseOutcome::Error(format!("undecided: {} {why}", cell.label)),
                CellOutcome::TooFewRepetitions { have, needed } => {
                    CaseOutcome::Error(format!("undecided: {have} of {needed} repetitions"))
                }
            },
            name: cell.label,
        })
        .collect();
    if cases.is_empty() {
        cases.push(Case { name: gate.to_string(), outcome: CaseOutcome::Error(outcome.sentence(gate)) });
    }
    Suite { name: gate.to_string(), cases }
}
