//! Conditions that decide an exit code, and the forms in which a comparison with their outcomes is shown: of `pitot compare`, `run` and
//! `diff`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pitot_plan::Plan;
use pitot_record::{CellRecord, Run};
use pitot_report::{Format, Gate, GateOutcome, Gated, Reported, compare_within};
use pitot_results::{Failure, stderr};

use crate::failure::UNDECIDED;
use crate::formats;
use crate::report::show;
use crate::screen::Color;

/// What decides the exit code of a run.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Gates {
    /// Exit with 1 if a cell meets this condition, compared with the baseline, or with 3 if that stays undecided; may be repeated:
    /// 'cpu-per-request > +3%'. Generations are added until every condition is decided, within the time of --within. `pitot compare
    /// --help` describes conditions.
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// Print the comparison with the baseline in this format, in place of the summary. [default: with --fail-if terminal]
    #[arg(long, value_parser = formats::of_comparisons())]
    pub(crate) format: Option<Format>,
}

impl Gates {
    /// Whether the run is to be compared with its baseline.
    pub(crate) fn are_given(&self) -> bool {
        !self.fail_if.is_empty() || self.format.is_some()
    }

    /// The conditions.
    ///
    /// # Errors
    /// If one is wrong.
    pub(crate) fn parsed(&self) -> Result<Vec<Gate>, Failure> {
        parsed(&self.fail_if)
    }

    /// Refuses a plan whose cells are compared with nothing.
    pub(crate) fn check(&self, plan: &Plan) -> Result<(), Failure> {
        if !self.are_given() || plan.baseline.is_some() {
            return Ok(());
        }
        let what = match self.fail_if.is_empty() {
            true => "--format prints a comparison",
            false => "--fail-if compares cells",
        };
        Err(Failure::misuse(
            format!("{what}, and the plan `{}` has no baseline", plan.name),
            "add baseline = { server = \"old\" } to the plan, or name a second --server",
        ))
    }

    /// Whether all conditions are decided by what these cells have.
    pub(crate) fn are_decided(gates: &[Gate], plan: &Plan, cells: &[CellRecord]) -> bool {
        let (controls, cells) = cells.iter().cloned().partition(|cell| cell.control_of.is_some());
        let run = Run { plan: plan.clone(), cells, controls, ..Run::default() };
        let comparison = compare_within(&run, gates);
        gates.iter().all(|gate| !matches!(gate.judge(&comparison), GateOutcome::Undecided(_)))
    }

    /// Shows the comparison of a run with its baseline, unless it is to be quiet, and reports gates that did not pass. Returns the
    /// exit code.
    pub(crate) fn conclude(&self, run: &Run, is_quiet: bool) -> Result<ExitCode, Failure> {
        let gates = self.parsed()?;
        let comparison = compare_within(run, &gates);
        let gated = Gated::new(&comparison, gates, Gate::judge);
        if is_quiet {
            return Ok(told(&gated.gates));
        }
        let page = page_path(&run.path, None);
        conclude(&gated, self.format.unwrap_or(Format::Terminal), None, &page, Color::AUTO)
    }
}

/// Reads conditions.
pub(crate) fn parsed(conditions: &[String]) -> Result<Vec<Gate>, Failure> {
    conditions.iter().map(|text| text.parse()).collect()
}

/// Shows a comparison, and reports gates that did not pass. Returns the exit code.
pub(crate) fn conclude<C>(
    of: &Gated<'_, C>,
    format: Format,
    output: Option<&Path>,
    page: &Path,
    color: Color,
) -> Result<ExitCode, Failure>
where
    for<'c> Gated<'c, C>: Reported,
{
    let shown = show(of, format, output, page, color);
    let code = told(&of.gates);
    shown.map(|()| code)
}

/// The page of a comparison, next to the last run file.
pub(crate) fn page_path(a: &Path, b: Option<&Path>) -> PathBuf {
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match b {
        Some(b) => b.with_file_name(format!("{}-vs-{}.html", stem(a), stem(b))),
        None => a.with_file_name(format!("{}-vs-baseline.html", stem(a))),
    }
}

/// Reports gates that did not pass. Returns the exit code.
fn told(gates: &[(Gate, GateOutcome)]) -> ExitCode {
    for (gate, outcome) in gates.iter().filter(|(_, outcome)| *outcome != GateOutcome::Passed) {
        stderr::line(format_args!("pitot: {}", outcome.sentence(gate)));
    }
    exit_code(gates.iter().map(|(_, outcome)| outcome))
}

/// 1 if a gate is met, else 3 if one is undecided.
pub(crate) fn exit_code<'g>(outcomes: impl Iterator<Item = &'g GateOutcome>) -> ExitCode {
    let code = outcomes.map(|outcome| match outcome {
        GateOutcome::Met(_) => 1,
        GateOutcome::Undecided(_) => UNDECIDED,
        GateOutcome::Passed => 0,
    });
    ExitCode::from(code.reduce(|x, y| if x == 1 || y == 1 { 1 } else { x.max(y) }).unwrap_or(0))
}
