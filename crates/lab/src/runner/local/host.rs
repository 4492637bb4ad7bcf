//! Settings of the host that a run changes for its cells, and sets back.

use std::path::PathBuf;

use pitot_host::Machine;
use pitot_host::journal::{self, Applied, Journal, Scope, Undoing, Undone, Wanted};
use pitot_host::setting::{Change, file_system_of};
use pitot_results::{Failure, stderr};

/// Who has asked for a change, as `pitot host status` shows it.
const BY: &str = "a run";

/// What a run has changed. All of it is one batch of the journal of the host.
#[derive(Debug)]
pub(super) struct HostChanges {
    machine: Machine,
    journal: PathBuf,
    batch: u64,
    /// What is set now. None after a failure, until everything is known to be set back: nothing is measured meanwhile.
    current: Option<Vec<Change>>,
    /// Why the host will not be again as the run found it. No cell can be measured then, the baseline included.
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

    /// True if these are the settings that are changed now.
    pub(super) fn are(&self, changes: &[Change]) -> bool {
        self.current.as_deref() == Some(changes)
    }

    /// Where the file system is mounted that was made for the cells under way.
    pub(super) fn file_system(&self) -> Option<PathBuf> {
        file_system_of(self.current.as_deref().unwrap_or_default())
    }

    /// The place of the journal, and the number of this run's changes in it.
    pub(super) fn place(&self) -> (PathBuf, u64) {
        (self.journal.clone(), self.batch)
    }

    /// Sets back what was changed, and makes these changes. The error is a sentence: the host may be as nobody has asked for,
    /// and what is not set back yet is tried again by the next call.
    pub(super) fn set(&mut self, changes: &[Change]) -> Result<(), String> {
        if let Some(why) = &self.disturbed {
            return Err(why.clone());
        }
        if self.are(changes) {
            return Ok(());
        }
        self.current = None;
        let said = |e: Failure| e.what;
        // It is not kept open: it is locked then, and others change the host as well.
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

/// Why a setting is not what it was before the run, in a sentence.
fn why_not_as_before(undone: &Undone) -> Option<String> {
    match undone {
        Undone::Kept { key, now, ours, found } => Some(format!(
            "somebody else has set {key} to {now:?} during the run, which had set it to {ours:?} and found {found:?}: it was \
             left alone"
        )),
        Undone::Elsewhere { key, namespace } => {
            Some(format!("{key} could not be set back: it belongs to the network namespace {namespace}"))
        }
        Undone::OfRun { key, pid } => Some(format!("{key} belongs to the run of process {pid}")),
        Undone::Failed { key, why } => Some(format!("{key} could not be set back: {why}")),
        Undone::PassedOn { key, found } => Some(format!(
            "`pitot host apply` has changed {key} during the run, which had found {found:?}: it was left alone, and `pitot host \
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
                "warning: the host is not as the run found it: {why}\n  see `pitot host status`, and try `pitot host undo`"
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
            assert!(why.contains("vm.swappiness could not be set back"), "{why}");
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
