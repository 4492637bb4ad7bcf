//! Changes are made: written to the journal first, then to the machine.

use std::io::ErrorKind;
use std::time::SystemTime;

use pitot_results::{Failure, rfc3339};

use super::record::{Entry, Record};
use super::store::Journal;
use super::timer;
use super::undo::{Scope, Undone, no_faults, set_back, undo_changes};
use crate::machine::Machine;
use crate::setting::{self, Change, Setting, same};

/// A change that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// What is to be set.
    pub change: Change,
    /// Who asks for it: a rule or a profile by its name, or a user.
    pub by: String,
    /// Whether it fails as a whole if this cannot be set; else it is left out with its reason.
    pub is_required: bool,
}

/// What became of a change that was wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It was set.
    Changed {
        /// The key.
        key: String,
        /// What it was.
        found: String,
        /// What it reads now.
        now: String,
    },
    /// It was so already, and will not be undone.
    Already {
        /// The key.
        key: String,
        /// Its value.
        value: String,
    },
    /// It cannot be set here.
    Skipped {
        /// The key.
        key: String,
        /// Why not: a sentence.
        why: String,
    },
}

/// Looks whether all that is wanted can be set by this user, and changes nothing.
///
/// # Errors
/// If a right is missing, or something that is required is not there.
pub fn check(machine: &Machine, wanted: &[Wanted]) -> Result<(), Failure> {
    let lacking = look(machine, wanted)?;
    let Some((key, why)) = lacking.first() else { return Ok(()) };
    let others = match lacking.len() - 1 {
        0 => String::new(),
        1 => " (nor can 1 other)".to_owned(),
        n => format!(" (nor can {n} others)"),
    };
    Err(Failure::misuse(format!("{key} cannot be changed by this user{others}: {why}"), "run it as root"))
}

/// Looks whether all that is wanted can be set by a user with every right, and changes nothing.
///
/// # Errors
/// What stands against it, whoever the user is.
pub fn check_for_root(machine: &Machine, wanted: &[Wanted]) -> Result<(), Failure> {
    look(machine, wanted).map(drop)
}

/// What of the wanted this user has no right to change, with the reason.
fn look(machine: &Machine, wanted: &[Wanted]) -> Result<Vec<(String, String)>, Failure> {
    let mut lacking: Vec<(String, String)> = Vec::new();
    for want in wanted {
        let key = &want.change.key;
        let setting = kind(key)?;
        match setting.read(machine, key) {
            Err(e) if want.is_required => {
                return Err(Failure::misuse(
                    format!("{key} cannot be set on this machine: {}", reason(key, &e)),
                    "see `pitot host check`",
                ));
            }
            Err(_) => continue,
            Ok(found) if same(&found, &want.change.value) => continue,
            Ok(found) => {
                let refused = setting.refuses(machine, key, &found, &want.change.value);
                if let Some(why) = refused.filter(|_| want.is_required) {
                    return Err(Failure::misuse(
                        format!("{key} cannot be set to {:?}: {why}", want.change.value),
                        format!("it is {:?} now; see `pitot host check --all`", found.trim()),
                    ));
                }
            }
        }
        if let Err(e) = setting.may_write(machine, key) {
            if matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::ReadOnlyFilesystem) {
                if want.is_required {
                    return Err(Failure::misuse(
                        format!("{key} cannot be set here: {}", lack(setting, key, &e)),
                        "set it outside the container or namespace",
                    ));
                }
                continue;
            }
            lacking.push((key.clone(), lack(setting, key, &e)));
        }
    }
    Ok(lacking)
}

fn lack(setting: &Setting, key: &str, e: &std::io::Error) -> String {
    match e.kind() {
        ErrorKind::ReadOnlyFilesystem => "it is mounted read-only here, as in a container".to_owned(),
        ErrorKind::Unsupported => "it can only be read here".to_owned(),
        ErrorKind::PermissionDenied => format!("it needs {}", setting.right),
        _ => reason(key, e),
    }
}

fn reason(key: &str, e: &std::io::Error) -> String {
    match e.raw_os_error() {
        Some(code) if code == rustix::io::Errno::OPNOTSUPP.raw_os_error() => {
            "its driver does not offer it".to_owned()
        }
        Some(code) if code == rustix::io::Errno::NODEV.raw_os_error() => "there is no such device".to_owned(),
        Some(code) if code == rustix::io::Errno::IO.raw_os_error() && key.starts_with("irq.") => {
            "the kernel manages this interrupt".to_owned()
        }
        _ if e.kind() == ErrorKind::NotFound && key.starts_with("net.") => {
            "the kernel has no such setting, or only in the first network namespace".to_owned()
        }
        _ if e.kind() == ErrorKind::NotFound => "the kernel has no such setting".to_owned(),
        _ => e.to_string(),
    }
}

fn kind(key: &str) -> Result<&'static Setting, Failure> {
    setting::of(key).ok_or_else(|| Failure::misuse(format!("there is no setting {key}"), "see docs/host.md"))
}

/// Makes the changes in their order, each in the journal before it is made. If one that is required fails, or the journal, those
/// of the batch that were made before it are undone.
///
/// # Errors
/// As [`check`]; if the journal cannot be written; if the kernel refuses a value that is required. What could not be undone
/// is named.
pub fn apply(
    journal: &mut Journal,
    machine: &Machine,
    batch: u64,
    wanted: &[Wanted],
) -> Result<Vec<Applied>, Failure> {
    let made = check(machine, wanted).and_then(|()| all(journal, machine, batch, wanted));
    made.map_err(|failure| taken_back(journal, machine, batch, failure))
}

fn all(
    journal: &mut Journal,
    machine: &Machine,
    batch: u64,
    wanted: &[Wanted],
) -> Result<Vec<Applied>, Failure> {
    let mut outcomes = Vec::new();
    for want in wanted {
        match one(journal, machine, batch, want)? {
            Applied::Skipped { key, why } if want.is_required => {
                return Err(Failure::misuse(
                    format!("{key} cannot be set to {:?}: {why}", want.change.value),
                    "fix that, or run it as root if a privilege is missing",
                ));
            }
            outcome => outcomes.push(outcome),
        }
    }
    timer::stop_idle(machine, journal);
    if journal.is_empty() {
        journal.clear()?;
    }
    Ok(outcomes)
}

/// Undoes what a batch has changed before it failed, and says in the failure what came of that.
fn taken_back(journal: &mut Journal, machine: &Machine, batch: u64, mut failure: Failure) -> Failure {
    let undoing = undo_changes(journal, machine, Scope::Batch(batch), no_faults);
    let left: Vec<&str> =
        undoing.changes.iter().filter(|change| !change.is_as_before()).map(Undone::key).collect();
    failure.fix += &match left.is_empty() {
        true => "; nothing was changed".to_owned(),
        false => format!("; still changed: {}, as `pitot host status` shows", left.join(", ")),
    };
    failure
}

/// What would become of a change, were it made now: as far as that can be said without making it.
///
/// # Errors
/// If there is no such setting.
pub fn foreseen(machine: &Machine, want: &Wanted) -> Result<Applied, Failure> {
    let Change { key, value } = &want.change;
    let setting = kind(key)?;
    let skipped = |why: String| Ok(Applied::Skipped { key: key.clone(), why });
    match setting.read(machine, key) {
        Err(e) => skipped(reason(key, &e)),
        Ok(found) if same(&found, value) => Ok(Applied::Already { key: key.clone(), value: found }),
        Ok(found) => match setting.may_write(machine, key) {
            Err(e) => skipped(lack(setting, key, &e)),
            Ok(()) => Ok(Applied::Changed { key: key.clone(), found, now: value.clone() }),
        },
    }
}

fn one(journal: &mut Journal, machine: &Machine, batch: u64, want: &Wanted) -> Result<Applied, Failure> {
    let Change { key, value } = &want.change;
    let setting = kind(key)?;
    let skipped = |why: String| Applied::Skipped { key: key.clone(), why };
    let found = match foreseen(machine, want)? {
        Applied::Changed { found, .. } => found,
        outcome => return Ok(outcome),
    };
    let id = journal.next_id();
    let mut entry = Entry {
        id,
        batch,
        key: key.clone(),
        found: found.clone(),
        set: value.clone(),
        taken: None,
        by: want.by.clone(),
        at: rfc3339(SystemTime::now()),
        namespace: setting.is_of_network(key).then(|| machine.network_namespace()).flatten(),
    };
    journal.append(&Record::Change(entry.clone()))?;
    let refused = match setting.write(machine, key, value) {
        // ENOENT of a name, such as that of a congestion control.
        Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => {
            Some("the kernel refuses the value".to_owned())
        }
        Err(e) => Some(lack(setting, key, &e)),
        Ok(()) => None,
    };
    let now = setting.read(machine, key);
    let refused = refused.or_else(|| match &now {
        Ok(now) if setting.is_exact(key) && !same(now, value) => {
            Some(format!("the kernel changed it to {now:?}"))
        }
        Ok(_) => None,
        Err(e) => Some(format!("it can no longer be read: {e}")),
    });
    let now = now.unwrap_or_default();
    if let Some(why) = refused {
        entry.taken = Some(now);
        if !set_back(machine, &entry, Scope::Batch(batch)).is_as_before() {
            // It stays in the journal.
            return Ok(skipped(format!("{why}, and the value before cannot be restored")));
        }
        journal.append(&Record::Undone { id })?;
        return Ok(skipped(why));
    }
    journal.append(&Record::Done { id, taken: now.clone() })?;
    Ok(Applied::Changed { key: key.clone(), found, now })
}
