//! What is changed, and whether it still is. Whoever made the changes may ask, and nothing is locked.

use std::path::Path;
use std::time::SystemTime;

use pitot_results::Failure;
use serde::Serialize;

use super::record::{FaultEntry, State};
use super::store::content;
use super::timer;
use super::undo::was_found;
use crate::machine::Machine;
use crate::setting::{self, same};

/// What a journal says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The changes, the first first.
    pub changes: Vec<ChangeStatus>,
    /// Faults that are made, the first first.
    pub faults: Vec<FaultStatus>,
    /// The processes that will undo some of the changes.
    pub timers: Vec<TimerStatus>,
    /// True if the changes were made before the machine was started again: they are gone.
    pub is_of_earlier_boot: bool,
}

/// Part of a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FaultStatus {
    /// The fault's name.
    pub fault: String,
    /// To what it is done.
    pub on: String,
    /// When it was made, RFC 3339.
    pub at: String,
    /// The program that will take it back; `None` if that is gone.
    pub pid: Option<u32>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangeStatus {
    /// The key.
    pub key: String,
    /// The value before.
    pub found: String,
    /// The value that was set.
    pub set: String,
    /// The value now; `None` if it cannot be read.
    pub now: Option<String>,
    /// Whether it is in force.
    pub state: ChangeState,
    /// Who asked for it.
    pub by: String,
    /// When, RFC 3339.
    pub at: String,
    /// What was asked for together has the same number.
    pub batch: u64,
}

/// How a change stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeState {
    /// It has the value that was set.
    InForce,
    /// It has the value that was found: whoever made it was killed before, or somebody has set it back.
    AsBefore,
    /// Somebody else has set it to something else.
    ChangedSince,
    /// It belongs to another network namespace, or its device is gone.
    NotHere,
}

/// A process that will undo a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimerStatus {
    /// What it undoes.
    pub batch: u64,
    /// Its number.
    pub pid: u32,
    /// Whether it is there.
    pub is_alive: bool,
    /// Seconds until it does.
    pub remaining_s: u64,
}

/// What is changed.
///
/// # Errors
/// If there is a journal and it cannot be read.
pub fn status(machine: &Machine, path: &Path) -> Result<Status, Failure> {
    let Some(text) = content(path)? else { return Ok(Status::default()) };
    let boot_id = machine.boot_id();
    let state = State::parse(&text, &boot_id)?;
    let changes: Vec<ChangeStatus> = state
        .entries
        .iter()
        .enumerate()
        .map(|(index, entry)| {
            let is_here = entry.namespace.is_none() || entry.namespace == machine.network_namespace();
            let read = || setting::of(&entry.key)?.read(machine, &entry.key).ok();
            let now = is_here.then(read).flatten();
            // Of several changes of one setting the last is in force, and those before it with it.
            let later = state.entries[index + 1..].iter().find(|other| other.is_of_same_setting(entry));
            let expected = later.map_or_else(
                || vec![entry.taken.as_ref().unwrap_or(&entry.set), &entry.set],
                |other| vec![&other.set, other.taken.as_ref().unwrap_or(&other.set), &entry.set],
            );
            let state = match &now {
                None => ChangeState::NotHere,
                Some(now) if expected.iter().any(|value| same(now, value)) => ChangeState::InForce,
                Some(now) if was_found(&state.entries, entry, now) => ChangeState::AsBefore,
                Some(_) => ChangeState::ChangedSince,
            };
            ChangeStatus {
                key: entry.key.clone(),
                found: entry.found.clone(),
                set: entry.set.clone(),
                now,
                state,
                by: entry.by.clone(),
                at: entry.at.clone(),
                batch: entry.batch,
            }
        })
        .collect();
    let now_s = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let timers = state.timers.iter().filter(|timer| changes.iter().any(|change| change.batch == timer.batch));
    let timers = timers
        .map(|timer| TimerStatus {
            batch: timer.batch,
            pid: timer.pid,
            is_alive: timer::is_alive(machine, timer),
            remaining_s: timer.until_unix_s.saturating_sub(now_s),
        })
        .collect();
    let is_of_earlier_boot = state.is_of_earlier_boot(&boot_id);
    let is_there = |fault: &&FaultEntry| !is_of_earlier_boot || fault.note.outlasts_boot;
    let faults = state.faults.iter().filter(is_there);
    let faults = faults
        .map(|fault| FaultStatus {
            fault: fault.note.fault.clone(),
            on: fault.note.on.clone(),
            at: fault.at.clone(),
            pid: timer::living_owner(machine, &state.owners, fault.batch).filter(|_| !is_of_earlier_boot),
        })
        .collect();
    Ok(Status { changes, faults, timers, is_of_earlier_boot })
}
