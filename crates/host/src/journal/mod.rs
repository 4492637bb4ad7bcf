//! Changes of the machine that can be undone, whatever happens to whoever made them.
//!
//! Before a setting is changed, the change and the value that was found are in a file, with fsync(2). Undoing goes back
//! from the last change to the first. What is set to neither what was found nor what was written has been changed by
//! somebody else since: it is left alone, and reported. After a kill at any moment, of a change or of undoing, undoing
//! again restores what was there:
//!
//! - killed before the write: the value is what was found, and nothing is to be done;
//! - killed after the write: the value is what the journal says was to be written, and is set back;
//! - killed while undoing: the changes that are set back have their value, or are marked, and the others follow.
//!
//! A write of one setting is one system call, which a signal does not interrupt half-way. The file is a line of JSON for
//! each step; a last line without its end was not finished, so that what it announces has not begun. The file is locked
//! (flock(2)) by whoever changes or undoes something, and emptied when nothing is left to undo.
//!
//! Faults that are made on a server ([`note_faults`]) are lines of the same file, and are undone among the changes. How each is
//! taken back only the fault knows, so that whoever undoes brings that ([`TakeBack`]). A fault belongs to the program that
//! makes it as a batch belongs to a run.
//!
//! When the file cannot be written:
//!
//! - before a change the change is not made, and those of the same call that were made are undone;
//! - the space for the lines of undoing is taken before a change, so that a full disk refuses none of them;
//! - undoing goes on all the same, and says in the end what it could not record ([`Unrecorded`]): undoing again finds that as
//!   before.

mod apply;
mod faults;
mod place;
mod record;
mod status;
mod store;
#[cfg(test)]
mod tests;
mod timer;
mod undo;

use std::path::Path;
use std::time::SystemTime;

use pitot_results::Failure;

use crate::machine::Machine;

pub use apply::{Applied, Wanted, apply, check, check_for_root, foreseen};
pub use faults::{TakeBack, forget_faults, left_faults, note_faults};
pub use place::{PLACE, PLACE_VARIABLE, place};
pub use record::FaultNote;
pub use status::{ChangeState, ChangeStatus, FaultStatus, Status, TimerStatus, status};
pub use store::Journal;
pub use timer::{claim, start_timer, wait};
pub use undo::{Scope, Undoing, Undone, Unrecorded, undo_changes};

/// Undoes what `scope` means of a journal: nothing if there is no such file.
///
/// # Errors
/// If the journal cannot be read or locked. What cannot be undone, or recorded, is no error but a value.
pub fn undo(path: &Path, scope: Scope, take_back: TakeBack) -> Result<Undoing, Failure> {
    let machine = Machine::here();
    let journal = Journal::open(&machine, path)?;
    Ok(journal.map(|mut journal| undo_changes(&mut journal, &machine, scope, take_back)).unwrap_or_default())
}

/// A number for a batch that no other has: the time.
pub fn new_batch() -> u64 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (since_1970.as_nanos() as u64).max(1)
}
