//! Continues a run that was interrupted or killed.

use std::path::Path;
use std::time::Instant;

use pitot_results::Failure;

use crate::catalog::Catalog;
use crate::plan::{FactorLevel, label};
use crate::record::{CellRecord, Run};
use crate::runfile::RunWriter;
use crate::runfile::masked::levels;
use pitot_host::Fingerprint;

use super::carry_out::{Outcome, Progress, Setting};
use super::hosts;
use super::local::Guardian;
use super::prepare::{Prepared, prepare};
use super::way::Ways;

/// Continues a run that was interrupted or killed: the repetitions that are not in its file are run, in the order
/// that its seed gives.
///
/// # Errors
/// If the file cannot be read or written, or the machine has changed so that a cell can no longer be run.
pub fn resume(
    path: &Path,
    catalog: &Catalog,
    setting: Setting<'_>,
    guardian: Guardian,
    progress: &mut dyn FnMut(&Progress<'_>),
) -> Result<Outcome, Failure> {
    let run = Run::open_to_resume(path)?;
    if run.host_before.facts.is_empty() {
        return Err(Failure::misuse(
            format!("{} was begun on a bus, and agents have carried out what it has", path.display()),
            format!("resume it there: pitot run --bus URL --sign FILE --resume {}", path.display()),
        ));
    }
    let mut prepared = prepare(run.plan.clone(), run.info.plan_source.clone(), catalog)?;
    prepared.check_needs()?;
    prepared.narrow_to(&run)?;
    let mut writer = RunWriter::resume(path, &run.plan)?;
    note_other_version(&run, setting, &mut writer)?;
    for (name, before, now) in [
        ("server CPUs", &run.info.server_cpus, prepared.cpus.server_list()),
        ("load CPUs", &run.info.load_cpus, prepared.cpus.load_list()),
    ] {
        if *before != now {
            writer.warn(&format!("The run was resumed with other {name}: {now}, not {before}."))?;
        }
    }
    for change in run.host_before.changes_to(&Fingerprint::collect()) {
        writer.warn(&format!(
            "The run was resumed on a machine that had changed: {} {} was `{}` and is `{}`.",
            change.group,
            change.name,
            change.before.as_deref().unwrap_or(""),
            change.after.as_deref().unwrap_or("")
        ))?;
    }
    let is_left =
        |cell: usize| run.cells[cell].repetitions.len() < run.repetitions_of(&run.cells[cell]) as usize;
    hosts::with_machine(prepared, guardian, setting.pitot, |mut prepared, machine| {
        let tried = prepared.try_cells(machine, &is_left, setting, progress);
        for (cell, settling) in tried.rises.0 {
            prepared.cells[cell].rises = Some(settling);
        }
        let known = run.cells.iter().chain(&run.controls).cloned().collect();
        prepared.carry_out(
            machine,
            writer,
            Instant::now(),
            known,
            tried.given_up,
            run.info.seed,
            setting,
            progress,
        )
    })
}

/// Notes that another version of Pitot goes on with a run, if it is another.
pub(super) fn note_other_version(
    run: &Run,
    setting: Setting<'_>,
    writer: &mut RunWriter,
) -> Result<(), Failure> {
    let (before, now) = (&run.info.version, setting.version);
    if before != now {
        writer.warn(&format!("The run was resumed with another version: {now}, not {before}."))?;
    }
    Ok(())
}

impl Prepared {
    /// Leaves the cells of a run that was begun earlier, in its order.
    pub(super) fn narrow_to(&mut self, run: &Run) -> Result<(), Failure> {
        let secrets = self.plan.secrets();
        // In a run file their secrets are masked.
        let are = |factors: &[FactorLevel], record: &CellRecord| levels(factors, &secrets) == record.factors;
        for (index, record) in run.cells.iter().enumerate() {
            let known = self.cells.iter().position(|cell| are(&cell.factors, record));
            let Some(at) = known else {
                let skip = self.skips.iter().find(|s| are(&s.factors, record));
                let reason = skip.map_or("this version does not know it", |s| s.reason.as_str());
                let cell = label(&record.factors);
                return Err(Failure::misuse(
                    format!("the cell `{cell}` of {} can no longer be run: {reason}", run.path.display()),
                    "restore what it needs, or start a new run",
                ));
            };
            self.cells.swap(index, at);
        }
        // Cells that have become possible since stay out: they were not part of this run.
        self.cells.truncate(run.cells.len());
        // What was chosen when the run began holds, whatever the machine allows by now.
        self.ways = Ways {
            cells: run.cells.iter().map(|c| (c.measure, c.fresh_reason.clone())).collect(),
            controls: run.controls.iter().filter_map(|control| twin_of(run, control)).collect(),
            slow_starts_s: self.ways.slow_starts_s,
        };
        Ok(())
    }
}

/// The index of the cell whose twin `control` is.
fn twin_of(run: &Run, control: &CellRecord) -> Option<usize> {
    run.cells.iter().position(|cell| Some(cell.id) == control.control_of)
}
