//! Continues a run that was interrupted or killed.

use std::path::Path;

use pitot_results::Failure;

use crate::catalog::Catalog;
use crate::host::Fingerprint;
use crate::plan::label;
use crate::record::Run;
use crate::runfile::RunWriter;

use super::carry_out::{Outcome, Progress, Setting};
use super::local::{Guardian, Local};
use super::prepare::prepare;
use super::schedule::Turn;

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
    let run = Run::open(path)?;
    let mut prepared = prepare(run.plan.clone(), run.info.plan_source.clone(), catalog)?;
    for (index, record) in run.cells.iter().enumerate() {
        let known = prepared.cells.iter().position(|cell| cell.factors == record.factors);
        let Some(at) = known else {
            let skip = prepared.skips.iter().find(|s| s.factors == record.factors);
            let reason = skip.map_or("this version does not know it", |s| s.reason.as_str());
            let cell = label(&record.factors);
            return Err(Failure::misuse(
                format!("the cell `{cell}` of {} can no longer be run: {reason}", path.display()),
                "restore what it needs, or start a new run",
            ));
        };
        prepared.cells.swap(index, at);
    }
    // Cells that have become possible since stay out: they were not part of this run.
    prepared.cells.truncate(run.cells.len());
    let done: Vec<Turn> = run
        .cells
        .iter()
        .enumerate()
        .flat_map(|(cell, record)| record.repetitions.iter().map(move |r| Turn { cell, block: r.block }))
        .collect();
    let mut writer = RunWriter::resume(path)?;
    for (name, before, now) in [
        ("server CPUs", &run.info.server_cpus, prepared.cpus.server_list()),
        ("load CPUs", &run.info.load_cpus, prepared.cpus.load_list()),
        ("version", &run.info.version, setting.version.to_owned()),
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
    let cpus = prepared.cpus.clone();
    let mut local = Local::new(guardian, &cpus);
    let is_left = |cell: usize| {
        let finished = done.iter().filter(|turn| turn.cell == cell).count();
        finished < prepared.plan.repetitions as usize
    };
    let tried = prepared.try_cells(&mut local, &is_left, setting, progress);
    prepared.carry_out(&mut local, writer, &done, tried.given_up, run.info.seed, setting, progress)
}
