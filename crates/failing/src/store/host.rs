//! The journal of changes of the host, on a machine of files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pitot_host::Machine;
use pitot_host::journal::{ChangeState, Journal, Scope, Wanted, apply, status, undo_changes};
use pitot_host::setting::Change;
use pitot_results::Failure;

use super::contract::{End, Say, Store};

pub(super) const STORE: Store = Store { name: "host journal", prepare, work, check };

/// A setting: its file, its key, what it is at first, and what it is set to.
const SETTINGS: &[[&str; 4]] = &[
    ["proc/sys/vm/swappiness", "vm.swappiness", "60", "10"],
    ["sys/kernel/mm/transparent_hugepage/defrag", "thp.defrag", "defer", "never"],
    ["proc/sys/net/core/somaxconn", "net.core.somaxconn", "4096", "1024"],
];
/// The settings of each batch.
const BATCHES: &[(u64, std::ops::Range<usize>)] = &[(1, 0..1), (2, 1..3)];

fn prepare(root: &Path, _: Option<End>) -> io::Result<()> {
    boot(root, "the first")
}

/// Starts the machine: settings are as they are at first.
fn boot(root: &Path, boot: &str) -> io::Result<()> {
    let settings = SETTINGS.iter().map(|[file, _, found, _]| (*file, *found));
    for (file, value) in settings.chain([("proc/sys/kernel/random/boot_id", boot)]) {
        let path = root.join("machine").join(file);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(path, format!("{value}\n"))?;
    }
    Ok(())
}

fn machine(root: &Path) -> Machine {
    Machine::at(&root.join("machine"))
}

fn place(root: &Path) -> PathBuf {
    root.join("store/pitot/journal")
}

fn change(root: &Path, batch: u64, settings: std::ops::Range<usize>) -> Result<(), Failure> {
    let wanted: Vec<Wanted> = SETTINGS[settings]
        .iter()
        .map(|[_, key, _, set]| Wanted {
            change: Change { key: (*key).into(), value: (*set).into() },
            by: "a test".into(),
            is_required: true,
        })
        .collect();
    let machine = machine(root);
    apply(&mut Journal::create(&machine, &place(root))?, &machine, batch, &wanted).map(drop)
}

/// The journal of this test has changes of settings alone.
fn no_faults(_: &str, _: &str) -> Result<bool, String> {
    Err("no fault was made".into())
}

/// Undoes, and says whether nothing is left.
fn undo(root: &Path, scope: Scope) -> Result<bool, Failure> {
    let machine = machine(root);
    let journal = Journal::open(&machine, &place(root))?;
    Ok(journal.is_none_or(|mut journal| undo_changes(&mut journal, &machine, scope, no_faults).is_complete()))
}

fn work(root: &Path, say: Say<'_>) {
    for (batch, settings) in BATCHES {
        match change(root, *batch, settings.clone()) {
            Ok(()) => say(&format!("changed {batch}")),
            Err(failure) => say(&format!("not changed {batch}: {failure}")),
        }
    }
    for (batch, _) in BATCHES {
        say(&format!("undoing {batch}"));
        if let Ok(true) = undo(root, Scope::Batch(*batch)) {
            say(&format!("undone {batch}"));
        }
    }
    say("end");
}

fn check(root: &Path, said: &[String], end: End) -> Result<(), String> {
    let value = |file: &str| machine(root).read(file).unwrap_or_default();
    let has_said = |what: String| said.contains(&what);
    let told = |failure: Failure| failure.to_string();
    if end == End::PowerCut {
        // The disk alone has lost power, as that of a file server: the settings of the machine are still as they were.
        let journal = fs::read(place(root));
        let is_set = |batch| has_said(format!("changed {batch}")) && !has_said(format!("undoing {batch}"));
        for (_, settings) in BATCHES.iter().filter(|(batch, _)| is_set(batch)) {
            for [file, _, _, set] in &SETTINGS[settings.clone()] {
                fs::write(root.join("machine").join(file), format!("{set}\n")).map_err(|e| e.to_string())?;
            }
        }
        if !undo(root, Scope::All).map_err(told)? {
            return Err("what was changed cannot be undone".to_owned());
        }
        if let Some([file, ..]) = SETTINGS.iter().find(|[file, _, found, _]| value(file) != *found) {
            return Err(format!("{file} was changed, and the journal does not know it"));
        }
        // The machine has lost power too, and starts again with the same disk.
        let restored = match journal {
            Ok(bytes) => fs::write(place(root), bytes),
            Err(_) => fs::remove_file(place(root)).or(Ok(())),
        };
        restored.and_then(|()| boot(root, "the next")).map_err(|e| e.to_string())?;
    }
    if end != End::PowerCut {
        let known = status(&machine(root), &place(root)).map_err(told)?;
        for (batch, settings) in BATCHES {
            for [file, key, found, set] in &SETTINGS[settings.clone()] {
                let now = value(file);
                let is_known = known.changes.iter().any(|c| c.key == *key && c.state == ChangeState::InForce);
                if now != *found && (now != *set || !is_known) {
                    return Err(format!("{key} is {now}, and the journal does not know it"));
                }
                let is_set = has_said(format!("changed {batch}")) && !has_said(format!("undoing {batch}"));
                if is_set && now != *set {
                    return Err(format!("{key} is {now}, and was acknowledged as {set}"));
                }
                if has_said(format!("undone {batch}")) && now != *found {
                    return Err(format!("{key} is {now}, and was acknowledged as undone"));
                }
            }
        }
    }
    for round in ["what was changed", "what is changed now"] {
        if !undo(root, Scope::All).map_err(told)? {
            return Err(format!("{round} cannot be undone"));
        }
        if let Some([file, ..]) = SETTINGS.iter().find(|[file, _, found, _]| value(file) != *found) {
            return Err(format!("after undoing {round}, {file} is {}", value(file)));
        }
        change(root, 3, 0..SETTINGS.len()).map_err(told)?;
        if let Some([file, ..]) = SETTINGS.iter().find(|[file, _, _, set]| value(file) != *set) {
            return Err(format!("{file} cannot be changed again: it is {}", value(file)));
        }
    }
    Ok(())
}
