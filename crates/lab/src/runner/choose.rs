//! Selects the cells that are measured: those of a resumed run, or of one job of a run.

use pitot_results::Failure;

use super::job::{Job, is_same};
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
    /// Keeps these cells, in their order, each measured as recorded, and A/A controls of some of them. The error is
    /// the cell that cannot be run, and why if known.
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
        // Other cells that could be run here do not belong to it.
        self.cells.truncate(chosen.len());
        self.ways = Ways {
            cells: chosen.iter().map(|cell| (cell.measure, cell.fresh_reason.to_owned())).collect(),
            controls,
            ..std::mem::take(&mut self.ways)
        };
        Ok(())
    }

    /// Keeps the cells of a run that was begun earlier, in its order.
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
            let reason = reason.unwrap_or("this version of Pitot does not have it");
            let (cell, path) = (label(cell), run.path.display());
            Failure::misuse(
                format!("the cell `{cell}` of {path} can no longer be run: {reason}"),
                "restore what it needs, or start a new run",
            )
        })
    }
}

/// The index of the cell that `control` repeats.
fn twin_of(run: &Run, control: &CellRecord) -> Option<usize> {
    run.cells.iter().position(|cell| Some(cell.id) == control.control_of)
}

/// Prepares a job of a run for this machine.
///
/// # Errors
/// If the machine cannot run it.
pub fn prepare_job(job: &Job, catalog: &Catalog) -> Result<Prepared, Failure> {
    if job.controls.iter().any(|&twin| twin >= job.cells.len()) {
        return Err(Failure::misuse(
            "a control of the job repeats a cell that the job does not have",
            "install the same version on all hosts",
        ));
    }
    let mut prepared = prepare(job.plan.clone(), String::new(), catalog, Where::Here)?;
    let chosen = job.cells.iter().map(|cell| Chosen {
        factors: &cell.factors,
        measure: cell.measure,
        fresh_reason: &cell.fresh_reason,
    });
    prepared.choose(&chosen.collect::<Vec<_>>(), job.controls.clone(), is_same).map_err(
        |(cell, reason)| {
            let reason = reason.unwrap_or("it is not a cell of the plan");
            Failure::misuse(
                format!("the cell `{}` cannot be run here: {reason}", label(cell)),
                "install what it needs on this host, or remove it from the plan",
            )
        },
    )?;
    Ok(prepared)
}
