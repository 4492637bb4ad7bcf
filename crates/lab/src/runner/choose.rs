//! What of a plan that is ready is measured: the cells of a run that was begun, or of one part of a run.

use pitot_results::Failure;

use super::part::{Part, is_same};
use super::prepare::{Prepared, Where, prepare};
use super::way::Ways;
use pitot_plan::Catalog;
use pitot_plan::masked_levels;
use pitot_plan::{FactorLevel, Measure, label};
use pitot_record::{CellRecord, Run};

/// A cell that is measured.
struct Chosen<'a> {
    factors: &'a [FactorLevel],
    measure: Measure,
    fresh_reason: &'a str,
}

impl Prepared {
    /// Leaves these cells, in their order, each measured as it says whatever the machine allows by now; controls are twins of some
    /// of them. The error is the cell that cannot be run, and why if it is known.
    fn choose<'a>(
        &mut self,
        chosen: &[Chosen<'a>],
        controls: Vec<usize>,
        are: impl Fn(&[FactorLevel], &[FactorLevel]) -> bool,
    ) -> Result<(), (&'a [FactorLevel], Option<&str>)> {
        for (index, wanted) in chosen.iter().enumerate() {
            let found = self.cells.iter().position(|cell| are(&cell.factors, wanted.factors));
            let Some(at) = found.filter(|at| *at >= index) else {
                let skip = self.skips.iter().find(|skip| are(&skip.factors, wanted.factors));
                return Err((wanted.factors, skip.map(|skip| skip.reason.as_str())));
            };
            self.cells.swap(index, at);
        }
        // Others that are possible here are no part of it.
        self.cells.truncate(chosen.len());
        self.ways = Ways {
            cells: chosen.iter().map(|cell| (cell.measure, cell.fresh_reason.to_owned())).collect(),
            controls,
            slow_starts_s: self.ways.slow_starts_s,
        };
        Ok(())
    }

    /// Leaves the cells of a run that was begun earlier, in its order.
    pub(super) fn narrow_to(&mut self, run: &Run) -> Result<(), Failure> {
        let secrets = self.plan.secrets();
        let chosen = run.cells.iter().map(|cell| Chosen {
            factors: &cell.factors,
            measure: cell.measure,
            fresh_reason: &cell.fresh_reason,
        });
        let controls = run.controls.iter().filter_map(|control| twin_of(run, control)).collect();
        // In a run file their secrets are masked.
        self.choose(&chosen.collect::<Vec<_>>(), controls, |own, recorded| {
            masked_levels(own, &secrets) == recorded
        })
        .map_err(|(cell, reason)| {
            let reason = reason.unwrap_or("this version does not know it");
            let (cell, path) = (label(cell), run.path.display());
            Failure::misuse(
                format!("the cell `{cell}` of {path} can no longer be run: {reason}"),
                "restore what it needs, or start a new run",
            )
        })
    }
}

/// The index of the cell whose twin `control` is.
fn twin_of(run: &Run, control: &CellRecord) -> Option<usize> {
    run.cells.iter().position(|cell| Some(cell.id) == control.control_of)
}

/// Makes a part of a run ready for this machine.
///
/// # Errors
/// If the machine cannot carry it out.
pub fn prepare_part(part: &Part, catalog: &Catalog) -> Result<Prepared, Failure> {
    if part.controls.iter().any(|&twin| twin >= part.cells.len()) {
        return Err(Failure::misuse(
            "a control of the part has no twin",
            "use the same version on all hosts",
        ));
    }
    let mut prepared = prepare(part.plan.clone(), String::new(), catalog, Where::Here)?;
    let chosen = part.cells.iter().map(|cell| Chosen {
        factors: &cell.factors,
        measure: cell.measure,
        fresh_reason: &cell.fresh_reason,
    });
    prepared.choose(&chosen.collect::<Vec<_>>(), part.controls.clone(), is_same).map_err(
        |(cell, reason)| {
            let reason = reason.unwrap_or("it is no cell of the plan");
            Failure::misuse(
                format!("the cell `{}` cannot be run here: {reason}", label(cell)),
                "install what it needs on this host, or take it out of the plan",
            )
        },
    )?;
    Ok(prepared)
}
