//! Faults in the journal: noted before they are made, by the program that makes them, which takes them back itself. It does not
//! keep the journal open meanwhile.

use std::path::Path;
use std::time::SystemTime;

use pitot_results::{Failure, rfc3339};

use super::record::{FaultEntry, FaultNote, Record, State};
use super::store::{Journal, content};
use super::timer;
use crate::machine::Machine;

/// Takes part of a fault back, by the fault's name and the note. False if there is nothing left of it, as of a process that has
/// ended. The error is a sentence.
pub type TakeBack = fn(&str, &str) -> Result<bool, String>;

/// Writes down what a fault is about to do. It belongs to this process: `undo` leaves it alone while the process lives. Returns
/// the numbers of the lines.
///
/// # Errors
/// If the journal cannot be written: the fault must not be made.
pub fn note_faults(
    machine: &Machine,
    path: &Path,
    batch: u64,
    notes: Vec<FaultNote>,
) -> Result<Vec<u64>, Failure> {
    let mut journal = Journal::create(machine, path)?;
    let mut records: Vec<Record> = timer::claimed(&journal, machine, batch).into_iter().collect();
    let first = journal.next_id();
    let at = rfc3339(SystemTime::now());
    let ids: Vec<u64> = (first..).take(notes.len()).collect();
    records.extend(ids.iter().zip(notes).map(|(&id, note)| {
        let namespace = note.is_of_network.then(|| machine.network_namespace()).flatten();
        Record::Fault(FaultEntry { id, batch, at: at.clone(), namespace, note })
    }));
    journal.append_all(&records)?;
    Ok(ids)
}

/// Writes down that these lines need no undoing any more.
///
/// # Errors
/// If the journal cannot be read, locked or written.
pub fn forget_faults(machine: &Machine, path: &Path, ids: &[u64]) -> Result<(), Failure> {
    let Some(mut journal) = Journal::open(machine, path)? else { return Ok(()) };
    let records: Vec<Record> = ids.iter().map(|&id| Record::Undone { id }).collect();
    let recorded = journal.append_all(&records);
    // That takes no space, and makes good what could not be recorded.
    if journal.is_empty() { journal.clear() } else { recorded }
}

/// The faults that nobody will take back: the programs that made them are gone. None where the journal cannot be read.
pub fn left_faults(machine: &Machine, path: &Path) -> Vec<String> {
    let boot_id = machine.boot_id();
    let Some(mut state) = content(path).ok().flatten().and_then(|text| State::parse(&text, &boot_id).ok())
    else {
        return Vec::new();
    };
    if state.is_of_earlier_boot(&boot_id) {
        state.forget_boot();
    }
    let is_left = |fault: &&FaultEntry| timer::living_owner(machine, &state.owners, fault.batch).is_none();
    state.faults.iter().filter(is_left).map(FaultEntry::key).collect()
}
