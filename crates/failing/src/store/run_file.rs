//! The file of a run, with a secret beside it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pitot_host::Fingerprint;
use pitot_plan::{Measure, Plan, Value};
use pitot_record::file::{NewCell, NewRun};
use pitot_record::{Repetition, Run, RunState, RunWriter};

use super::contract::{End, Say, Store, nothing};
use super::sittings::sittings;

pub(super) const STORE: Store = Store { name: "run file", prepare: nothing, work, check };

fn place(root: &Path) -> PathBuf {
    root.join("store/run.pitot")
}

fn create(root: &Path) -> Result<RunWriter, String> {
    let mut plan = Plan { title: "t".repeat(3000), ..Plan::default() };
    plan.load.set("url", Value::Text("http://me:hunter22@{address}/".into()));
    let cell = NewCell {
        factors: Vec::new(),
        server_command: "pitot serve busy".into(),
        load_command: "pitot load http://me:hunter22@h/".into(),
        measure: Measure::Fresh,
        fresh_reason: String::new(),
        control_of: None,
    };
    let (host, cells) = (Fingerprint::default(), [cell]);
    let new = NewRun { command_line: "pitot run", ..NewRun::of(&plan, &host, &cells) };
    RunWriter::create(&place(root), &new).map_err(|e| e.to_string())
}

fn resume(root: &Path) -> Result<RunWriter, String> {
    let run = Run::open_to_resume(&place(root)).map_err(|e| e.to_string())?;
    RunWriter::resume(&place(root), &run.plan).map_err(|e| e.to_string())
}

/// Makes the file, or goes on with the one that is there, as its user would.
fn begin(root: &Path) -> Result<RunWriter, String> {
    if place(root).exists() { resume(root) } else { create(root) }
}

fn repetition(block: u32) -> Repetition {
    Repetition { block, output_tail: format!("{block} ").repeat(2000), ..Repetition::default() }
}

/// The blocks that are in the file.
fn blocks(root: &Path) -> Result<BTreeSet<u32>, String> {
    let run = Run::open(&place(root)).map_err(|e| e.to_string())?;
    let repetitions = run.cells.first().map(|cell| &cell.repetitions[..]).unwrap_or_default();
    if let Some(other) = repetitions.iter().find(|r| r.output_tail != repetition(r.block).output_tail) {
        return Err(format!("repetition {} is not whole", other.block));
    }
    Ok(repetitions.iter().map(|repetition| repetition.block).collect())
}

fn work(root: &Path, say: Say<'_>) {
    sittings(
        "recorded",
        &mut || begin(root),
        &mut |writer, block| writer.record(0, &repetition(block)).map_err(|e| e.to_string()),
        &mut |writer| {
            writer.finish(RunState::Interrupted, "", &Fingerprint::default()).map_err(|e| e.to_string())
        },
        say,
    );
}

fn check(root: &Path, said: &[String], _: End) -> Result<(), String> {
    const NEW: u32 = 100;
    let was_begun = said.iter().any(|line| line == "begun");
    if was_begun && !place(root).exists() {
        return Err("the file is lost".into());
    }
    begin(root)?.record(0, &repetition(NEW)).map_err(|e| e.to_string())?;
    let found = blocks(root)?;
    let wanted = said.iter().filter_map(|line| line.strip_prefix("recorded ")?.parse().ok());
    match wanted.chain([NEW]).find(|block| !found.contains(block)) {
        Some(lost) => Err(format!("repetition {lost} is lost")),
        None => Ok(()),
    }
}
