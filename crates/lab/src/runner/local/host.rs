//! Settings of the host that a run changes for its cells, and sets back.

use std::path::PathBuf;

use pitot_host::Machine;
use pitot_host::journal::{self, Applied, Journal, Scope, Undone, Wanted};
use pitot_host::setting::{Change, file_system_of};

/// Who has asked for a change, as `pitot host status` shows it.
const BY: &str = "a run";

/// What a run has changed. All of it is one batch of the journal of the host.
#[derive(Debug)]
pub(super) struct HostChanges {
    journal: PathBuf,
    batch: u64,
    /// What is set now.
    current: Vec<Change>,
    /// Why the host is no more as the run found it. No cell can be measured then, the baseline included.
    disturbed: Option<String>,
}

impl HostChanges {
    /// Nothing is changed yet.
    pub(super) fn none() -> HostChanges {
        HostChanges {
            journal: journal::place(),
            batch: journal::new_batch(),
            current: Vec::new(),
            disturbed: None,
        }
    }

    /// True if these are the settings that are changed now.
    pub(super) fn are(&self, changes: &[Change]) -> bool {
        self.current == changes
    }

    /// Where the file system is mounted that was made for the cells under way.
    pub(super) fn file_system(&self) -> Option<PathBuf> {
        file_system_of(&self.current)
    }

    /// The place of the journal, and the number of this run's changes in it.
    pub(super) fn place(&self) -> (PathBuf, u64) {
        (self.journal.clone(), self.batch)
    }

    /// Sets back what was changed, and makes these changes. The error is a sentence; nothing is changed then.
    pub(super) fn set(&mut self, changes: &[Change]) -> Result<(), String> {
        if let Some(why) = &self.disturbed {
            return Err(why.clone());
        }
        if self.are(changes) {
            return Ok(());
        }
        let machine = Machine::here();
        let told = |e: pitot_results::Failure| e.what;
        // It is not kept open: it is locked then, and others change the host as well.
        let mut journal = Journal::create(&machine, &self.journal).map_err(told)?;
        self.current = Vec::new();
        let undone = journal::undo_changes(&mut journal, &machine, Scope::Batch(self.batch)).map_err(told)?;
        if let Some(why) = undone.iter().find_map(why_not_as_before) {
            self.disturbed = Some(why.clone());
            return Err(why);
        }
        let wanted: Vec<Wanted> = changes
            .iter()
            .map(|change| Wanted { change: change.clone(), by: BY.to_owned(), is_required: true })
            .collect();
        if !changes.is_empty() {
            journal::claim(&mut journal, &machine, self.batch).map_err(told)?;
        }
        let applied = journal::apply(&mut journal, &machine, self.batch, &wanted).map_err(told)?;
        debug_assert!(!applied.iter().any(|one| matches!(one, Applied::Skipped { .. })), "all are required");
        self.current = changes.to_vec();
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
        Undone::Restored { .. } | Undone::AsBefore { .. } | Undone::Gone { .. } => None,
    }
}

impl Drop for HostChanges {
    fn drop(&mut self) {
        // What cannot be set back stays in the journal, and `pitot host status` shows it.
        let _ = self.set(&[]);
    }
}
