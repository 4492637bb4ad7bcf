//! Changes are undone, from the last to the first.

use std::io::ErrorKind;

use pitot_results::Failure;
use serde::Serialize;

use super::faults::TakeBack;
use super::record::{Entry, FaultEntry, Record};
use super::store::Journal;
use super::timer;
use crate::machine::Machine;
use crate::setting::{self, same};

/// What to undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything, but for what belongs to runs under way.
    All,
    /// What was asked for together.
    Batch(u64),
    /// The same, where nobody sees what becomes of it: what somebody else has changed stays in the journal, to be told.
    Later(u64),
    /// The faults that nobody else takes back: the programs that made them are gone.
    LeftFaults,
    /// Everything, and what belongs to another network namespace is forgotten: that is gone, and its settings with it.
    AllAndForget,
}

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Undone {
    /// It was set back.
    Restored {
        /// The key.
        key: String,
        /// The value that it had.
        from: String,
        /// The value that it has again.
        to: String,
    },
    /// It had the value that was found: it was not made, or undone already.
    AsBefore {
        /// The key.
        key: String,
        /// The value.
        value: String,
    },
    /// Somebody else has changed it since: it was left alone.
    Kept {
        /// The key.
        key: String,
        /// What somebody has set it to.
        now: String,
        /// What it was set to here.
        ours: String,
        /// What it was before.
        found: String,
    },
    /// A later change of the same setting goes back to what this one found.
    PassedOn {
        /// The key.
        key: String,
        /// What will be restored.
        found: String,
    },
    /// A fault was taken back.
    TakenBack {
        /// What it is called.
        key: String,
    },
    /// There is no such setting any more: its device is gone. Or nothing is left of a fault.
    Gone {
        /// The key.
        key: String,
    },
    /// It belongs to another network namespace: it stays in the journal.
    Elsewhere {
        /// The key.
        key: String,
        /// That namespace.
        namespace: String,
    },
    /// It belongs to a run under way, which sets it back itself: it stays in the journal.
    OfRun {
        /// The key.
        key: String,
        /// The run's process.
        pid: u32,
    },
    /// It could not be set back: it stays in the journal.
    Failed {
        /// The key.
        key: String,
        /// Why.
        why: String,
    },
}

impl Undone {
    /// True if the setting is as it was before.
    pub fn is_as_before(&self) -> bool {
        matches!(
            self,
            Undone::Restored { .. }
                | Undone::AsBefore { .. }
                | Undone::PassedOn { .. }
                | Undone::TakenBack { .. }
                | Undone::Gone { .. }
        )
    }

    /// The key of the setting.
    pub fn key(&self) -> &str {
        match self {
            Undone::Restored { key, .. }
            | Undone::AsBefore { key, .. }
            | Undone::Kept { key, .. }
            | Undone::PassedOn { key, .. }
            | Undone::TakenBack { key }
            | Undone::Gone { key }
            | Undone::Elsewhere { key, .. }
            | Undone::OfRun { key, .. }
            | Undone::Failed { key, .. } => key,
        }
    }

    /// True if it is in the journal still.
    pub fn is_left(&self) -> bool {
        matches!(self, Undone::Elsewhere { .. } | Undone::OfRun { .. } | Undone::Failed { .. })
    }
}

/// What became of all changes that were meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undoing {
    /// The changes, the last first.
    pub changes: Vec<Undone>,
    /// What the journal still holds though it was dealt with.
    pub unrecorded: Option<Unrecorded>,
}

impl Undoing {
    /// True if all settings are as they were before, and the journal says so.
    pub fn is_complete(&self) -> bool {
        self.unrecorded.is_none() && self.changes.iter().all(Undone::is_as_before)
    }
}

/// Changes that were dealt with though the journal could not record it. The next undoing looks at them again: what is as
/// before stays, and what somebody has changed since is left alone, unless it has the very value that was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unrecorded {
    /// Their keys.
    pub keys: Vec<String>,
    /// Why not: a sentence.
    pub why: String,
}

/// For whoever undoes what has no faults in it.
pub(super) fn no_faults(_: &str, _: &str) -> Result<bool, String> {
    Err("only `pitot host undo` undoes faults".into())
}

/// Undoes changes and faults, from the last to the first, and ends the processes that would have done so later. A journal that cannot be
/// written keeps nothing from being undone.
pub fn undo_changes(journal: &mut Journal, machine: &Machine, scope: Scope, take_back: TakeBack) -> Undoing {
    let is_meant = |item: &Item| match scope {
        Scope::Batch(batch) | Scope::Later(batch) => item.batch() == batch,
        Scope::LeftFaults => matches!(item, Item::Fault(_)),
        Scope::All | Scope::AllAndForget => true,
    };
    let changes = journal.entries().iter().cloned().map(Item::Change);
    let faults = journal.faults().iter().cloned().map(Item::Fault);
    let mut items: Vec<Item> = changes.chain(faults).filter(is_meant).collect();
    items.sort_by_key(|item| std::cmp::Reverse(item.id()));
    let mut undoing = Undoing::default();
    let mut unrecorded = Unrecorded { keys: Vec::new(), why: String::new() };
    for item in &items {
        let is_all = matches!(scope, Scope::All | Scope::AllAndForget | Scope::LeftFaults);
        if let Some(pid) = timer::living_owner(machine, journal.owners(), item.batch()).filter(|_| is_all) {
            undoing.changes.push(Undone::OfRun { key: item.key(), pid });
            continue;
        }
        let (outcome, mut recorded) = match item {
            Item::Change(entry) => undo_change(journal, machine, entry, scope),
            Item::Fault(fault) => (undo_fault(machine, fault, scope, take_back), Ok(())),
        };
        let is_to_be_told = matches!((&outcome, scope), (Undone::Kept { .. }, Scope::Later(_)));
        if recorded.is_ok() && !outcome.is_left() && !is_to_be_told {
            recorded = journal.append(&Record::Undone { id: item.id() });
        }
        if let Err(failure) = recorded {
            unrecorded.keys.push(item.key());
            unrecorded.why = failure.what;
        }
        undoing.changes.push(outcome);
    }
    timer::stop_idle(machine, journal);
    if journal.is_empty() {
        // That takes no space, and makes good what could not be recorded.
        match journal.clear() {
            Ok(()) => unrecorded.keys.clear(),
            Err(failure) => {
                unrecorded.keys = items.iter().map(Item::key).collect();
                unrecorded.why = failure.what;
            }
        }
    }
    undoing.unrecorded = (!unrecorded.keys.is_empty()).then_some(unrecorded);
    undoing
}

/// What is undone.
enum Item {
    Change(Entry),
    Fault(FaultEntry),
}

impl Item {
    fn id(&self) -> u64 {
        match self {
            Item::Change(entry) => entry.id,
            Item::Fault(fault) => fault.id,
        }
    }

    fn batch(&self) -> u64 {
        match self {
            Item::Change(entry) => entry.batch,
            Item::Fault(fault) => fault.batch,
        }
    }

    fn key(&self) -> String {
        match self {
            Item::Change(entry) => entry.key.clone(),
            Item::Fault(fault) => fault.key(),
        }
    }
}

/// Undoes one change, and says whether what that changes in others could be recorded.
fn undo_change(
    journal: &mut Journal,
    machine: &Machine,
    entry: &Entry,
    scope: Scope,
) -> (Undone, Result<(), Failure>) {
    let is_later = |other: &&Entry| other.is_of_same_setting(entry) && other.id > entry.id;
    let later = journal.entries().iter().find(is_later);
    if let Some(id) = later.map(|other| other.id) {
        let (key, found) = (entry.key.clone(), entry.found.clone());
        let recorded = journal.append(&Record::Found { id, found: found.clone() });
        return (Undone::PassedOn { key, found }, recorded);
    }
    let outcome = match set_back(machine, entry, scope) {
        // It was undone with the earlier ones before, and that could not be recorded.
        Undone::Kept { key, now, .. } if was_found(journal.entries(), entry, &now) => {
            Undone::AsBefore { key, value: now }
        }
        outcome => outcome,
    };
    (outcome, Ok(()))
}

/// Takes one part of a fault back.
fn undo_fault(machine: &Machine, fault: &FaultEntry, scope: Scope, take_back: TakeBack) -> Undone {
    let key = fault.key();
    if let Some(elsewhere) = elsewhere(machine, fault.namespace.as_ref(), &key, scope) {
        return elsewhere;
    }
    match take_back(&fault.note.fault, &fault.note.note) {
        Ok(true) => Undone::TakenBack { key },
        Ok(false) => Undone::Gone { key },
        Err(why) => Undone::Failed { key, why },
    }
}

/// What becomes of what belongs to a network namespace that is not this one.
fn elsewhere(machine: &Machine, namespace: Option<&String>, key: &str, scope: Scope) -> Option<Undone> {
    let namespace = namespace.filter(|namespace| machine.network_namespace().as_ref() != Some(namespace))?;
    let (key, namespace) = (key.to_owned(), namespace.clone());
    Some(match scope {
        Scope::AllAndForget => Undone::Gone { key },
        _ => Undone::Elsewhere { key, namespace },
    })
}

/// Whether a value is what a change of the same setting, not later than this one, has found.
pub(super) fn was_found(entries: &[Entry], entry: &Entry, value: &str) -> bool {
    let mut earlier = entries.iter().filter(|other| other.is_of_same_setting(entry) && other.id <= entry.id);
    earlier.any(|other| same(&other.found, value))
}

/// Sets back what one change has set.
pub(super) fn set_back(machine: &Machine, entry: &Entry, scope: Scope) -> Undone {
    let key = entry.key.clone();
    let failed = |why: String| Undone::Failed { key: key.clone(), why };
    if let Some(elsewhere) = elsewhere(machine, entry.namespace.as_ref(), &key, scope) {
        return elsewhere;
    }
    let Some(setting) = setting::of(&key) else { return failed("unknown to this version of pitot".into()) };
    let now = match setting.read(machine, &key) {
        Ok(now) => now,
        Err(e) if is_gone(&e) => return Undone::Gone { key },
        Err(e) => return failed(e.to_string()),
    };
    if same(&now, &entry.found) {
        return Undone::AsBefore { key, value: now };
    }
    let is_ours = match &entry.taken {
        Some(taken) => same(&now, taken) || same(&now, &entry.set),
        // Killed in the midst: where values are rounded, any can be ours.
        None => same(&now, &entry.set) || !setting.is_exact(&key),
    };
    if !is_ours {
        return Undone::Kept { key, now, ours: entry.set.clone(), found: entry.found.clone() };
    }
    if let Err(e) = setting.write(machine, &key, &entry.found) {
        return failed(match e.kind() {
            ErrorKind::PermissionDenied => format!("it needs {}", setting.right),
            _ => e.to_string(),
        });
    }
    match setting.read(machine, &key) {
        Ok(now) if same(&now, &entry.found) => Undone::Restored { key, from: entry.set.clone(), to: now },
        Ok(now) => failed(format!("the kernel made {now:?} of {:?}", entry.found)),
        Err(e) => failed(e.to_string()),
    }
}

fn is_gone(e: &std::io::Error) -> bool {
    e.kind() == ErrorKind::NotFound || e.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error())
}
