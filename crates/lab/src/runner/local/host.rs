//! Settings of the host that a run changes for its cells, and restores.

use std::path::PathBuf;

use pitot_host::Machine;
use pitot_host::journal::{self, Applied, Journal, Scope, Undoing, Undone, Wanted};
use pitot_host::setting::{Change, file_system_of};
use pitot_results::{Failure, stderr};

/// The requester of a change in `pitot host status`.
const BY: &str = "a run";

/// The changes of a run, which are one batch of the host's journal.
#[derive(Debug)]
pub(super) struct HostChanges {
    machine: Machine,
    journal: PathBuf,
    batch: u64,
    /// The current settings. None after a failure, until everything is restored; nothing is measured meanwhile.
    current: Option<Vec<Change>>,
    /// Why the host cannot be restored. Then no cell can be measured, including the baseline.
    disturbed: Option<String>,
}

impl HostChanges {
    /// Nothing is changed yet.
    pub(super) fn none() -> HostChanges {
        HostChanges::on(Machine::here(), journal::place())
    }

    fn on(machine: Machine, journal: PathBuf) -> HostChanges {
        HostChanges {
            machine,
            journal,
            batch: journal::new_batch(),
            current: Some(Vec::new()),
            disturbed: None,
        }
    }

    /// Whether these are the current settings.
    pub(super) fn are(&self, changes: &[Change]) -> bool {
        self.current.as_deref() == Some(changes)
    }

    /// The mount point of the file system that was created for the current cells.
    pub(super) fn file_system(&self) -> Option<PathBuf> {
        file_system_of(self.current.as_deref().unwrap_or_default())
    }

    /// The journal's place, and this run's batch in it.
    pub(super) fn place(&self) -> (PathBuf, u64) {
        (self.journal.clone(), self.batch)
    }

    /// Restores the changed settings, then makes these changes. After an error, which is a sentence, the next call
    /// tries again to restore.
    pub(super) fn set(&mut self, changes: &[Change]) -> Result<(), String> {
        if let Some(why) = &self.disturbed {
            return Err(why.clone());
        }
        if self.are(changes) {
            return Ok(());
        }
        self.current = None;
        let said = |e: Failure| e.what;
        // Not kept open, since it is locked and others change the host too.
        let mut journal = Journal::create(&self.machine, &self.journal).map_err(said)?;
        self.set_back(&mut journal)?;
        if !changes.is_empty() {
            self.make(&mut journal, changes).map_err(said)?;
        }
        self.current = Some(changes.to_vec());
        Ok(())
    }

    fn set_back(&mut self, journal: &mut Journal) -> Result<(), String> {
        let Undoing { changes, unrecorded } =
            journal::undo_changes(journal, &self.machine, Scope::Batch(self.batch), pitot_fault::take_back);
        let is_lasting = |change: &&Undone| matches!(change, Undone::Kept { .. } | Undone::PassedOn { .. });
        if let Some(why) = changes.iter().filter(is_lasting).find_map(why_not_as_before) {
            self.disturbed = Some(why);
        }
        let why = self.disturbed.clone().or_else(|| changes.iter().find_map(why_not_as_before));
        why.or_else(|| unrecorded.map(|unrecorded| unrecorded.why)).map_or(Ok(()), Err)
    }

    fn make(&self, journal: &mut Journal, changes: &[Change]) -> Result<(), Failure> {
        let wanted: Vec<Wanted> = changes
            .iter()
            .map(|change| Wanted { change: change.clone(), by: BY.to_owned(), is_required: true })
            .collect();
        journal::claim(journal, &self.machine, self.batch)?;
        let applied = journal::apply(journal, &self.machine, self.batch, &wanted)?;
        debug_assert!(!applied.iter().any(|one| matches!(one, Applied::Skipped { .. })), "all are required");
        Ok(())
    }
}

/// Why a setting was not restored, in a sentence.
fn why_not_as_before(undone: &Undone) -> Option<String> {
    match undone {
        Undone::Kept { key, now, ours, found } => Some(format!(
            "{key} was changed to {now:?} by another program during the run, which had changed it from {found:?} to {ours:?}: it was \
             left alone"
        )),
        Undone::Elsewhere { key, namespace } => {
            Some(format!("{key} could not be restored: it belongs to the network namespace {namespace}"))
        }
        Undone::OfRun { key, pid } => Some(format!("{key} belongs to the run of process {pid}")),
        Undone::Failed { key, why } => Some(format!("{key} could not be restored: {why}")),
        Undone::PassedOn { key, found } => Some(format!(
            "`pitot host apply` changed {key} during the run, which had found {found:?}: it was left alone, and `pitot host \
             undo` sets that back"
        )),
        Undone::Restored { .. }
        | Undone::AsBefore { .. }
        | Undone::TakenBack { .. }
        | Undone::Gone { .. } => None,
    }
}

impl Drop for HostChanges {
    fn drop(&mut self) {
        if let Err(why) = self.set(&[]) {
            stderr::line(format_args!(
                "warning: host settings were not restored: {why}\n  run `pitot host status`, then `pitot host undo`"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SWAPPINESS: &str = "proc/sys/vm/swappiness";

    /// A machine of files whose swappiness is 60, and a journal on it.
    fn bed() -> (tempfile::TempDir, HostChanges, Vec<Change>) {
        let dir = tempfile::tempdir().unwrap();
        for (file, value) in [
            (SWAPPINESS, "60"),
            ("proc/sys/vm/overcommit_memory", "0"),
            ("proc/sys/kernel/random/boot_id", "x"),
        ] {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{value}\n")).unwrap();
        }
        let host = HostChanges::on(Machine::at(dir.path()), dir.path().join("journal"));
        let change = |key: &str, value: &str| Change { key: key.into(), value: value.into() };
        (dir, host, vec![change("vm.swappiness", "10"), change("vm.overcommit_memory", "1")])
    }

    #[test]
    fn after_an_undo_that_failed_nothing_is_measured_until_it_succeeds() {
        let (dir, mut host, changes) = bed();
        let (file, aside) = (dir.path().join(SWAPPINESS), dir.path().join("aside"));
        host.set(&changes).unwrap();
        // What is no file cannot be read, and so not be set back.
        fs::rename(&file, &aside).unwrap();
        fs::create_dir(&file).unwrap();
        for _ in 0..2 {
            let why = host.set(&[]).unwrap_err();
            assert!(why.contains("vm.swappiness could not be restored"), "{why}");
            assert!(!host.are(&[]) && host.file_system().is_none());
        }
        fs::remove_dir(&file).unwrap();
        fs::rename(&aside, &file).unwrap();
        host.set(&[]).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "60\n");
    }

    #[test]
    fn without_a_journal_nothing_is_taken_for_the_baseline() {
        let (dir, mut host, changes) = bed();
        let (journal, aside) = (dir.path().join("journal"), dir.path().join("aside"));
        host.set(&changes).unwrap();
        fs::rename(&journal, &aside).unwrap();
        fs::create_dir(&journal).unwrap();
        for _ in 0..2 {
            assert!(host.set(&[]).unwrap_err().contains("the journal"));
        }
        fs::remove_dir(&journal).unwrap();
        fs::rename(&aside, &journal).unwrap();
        host.set(&[]).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join(SWAPPINESS)).unwrap(), "60\n");
    }
}
