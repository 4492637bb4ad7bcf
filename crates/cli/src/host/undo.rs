//! `pitot host undo`.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pitot_host::Machine;
use pitot_host::journal::{self, Journal, Scope, Undoing, Undone, Unrecorded};
use pitot_host::setting::file_that_outlasts_boot;
use pitot_lab::Leftovers;
use pitot_meter::{Nanos, units};
use pitot_results::{Failure, FailureKind};
use serde_json::json;

use super::apply::{named, shown};
use crate::formats::TextOrJson;
use crate::output::print;

/// Between two attempts of a timer to get the lock.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
const ATTEMPTS_MAX: u32 = 20;

/// Undo what `pitot host apply` has changed and the faults that killed programs have left, the last first.
///
/// What another program has changed since is left alone and named, as is what belongs to a run in progress. What runs left that were
/// killed together with their guardian is removed: processes, control groups and private directories. Exits with 0 if everything is as
/// before, and with 1 if something was left alone, could not be restored or not be recorded in the journal.
#[derive(Debug, Args)]
pub(super) struct Undo {
    /// Drop what belongs to other network namespaces from the journal, where they no longer exist.
    #[arg(long)]
    forget: bool,
    /// The journal: /var/lib/pitot/host-journal unless given here or in PITOT_HOST_JOURNAL.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// The output format.
    #[arg(long, default_value = "text")]
    format: TextOrJson,
    /// Only what was asked for together.
    #[arg(long, hide = true)]
    batch: Option<u64>,
    /// Wait before.
    #[arg(long, value_name = "TIME", value_parser = units::duration, hide = true)]
    after: Option<Nanos>,
}

impl Undo {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let machine = Machine::here();
        if let Some(after) = self.after {
            journal::wait(after);
        }
        let path = self.journal.unwrap_or_else(journal::place);
        let mut opened = Journal::open(&machine, &path);
        // Nobody waits for a timer, so that it waits for whoever has the lock.
        let mut attempts = if self.after.is_some() { ATTEMPTS_MAX } else { 0 };
        while attempts > 0 && opened.as_ref().is_err_and(|failure| failure.kind == FailureKind::Run) {
            attempts -= 1;
            std::thread::sleep(RETRY_INTERVAL);
            opened = Journal::open(&machine, &path);
        }
        // A guardian undoes one batch while its run still has its directory: leftovers are for whoever undoes everything.
        let leftovers = self.batch.is_none().then(Leftovers::find);
        if let Some(leftovers) = &leftovers {
            leftovers.end_processes();
        }
        let mut cleared = 0;
        let undoing = match opened? {
            Some(mut journal) => {
                cleared = journal.changes_of_earlier_boot();
                let scope = match self.batch {
                    Some(batch) => Scope::Later(batch),
                    None if self.forget => Scope::AllAndForget,
                    None => Scope::All,
                };
                journal::undo_changes(&mut journal, &machine, scope, pitot_fault::take_back)
            }
            None => Undoing::default(),
        };
        let directories = leftovers.map(Leftovers::remove).unwrap_or_default();
        print(&match self.format {
            TextOrJson::Text => text(&undoing, cleared, &directories),
            TextOrJson::Json => {
                let json = json!({
                    "schema": "pitot-host-undo/1",
                    "changes": undoing.changes,
                    "not_recorded": undoing.unrecorded,
                    "changes_of_earlier_boot": cleared,
                    "leftovers_of_runs": directories,
                });
                format!("{json:#}\n")
            }
        })?;
        Ok(if undoing.is_complete() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn text(undoing: &Undoing, cleared: usize, leftovers: &[PathBuf]) -> String {
    let mut text = changes_text(&undoing.changes, cleared);
    if let Some(Unrecorded { keys, why }) = &undoing.unrecorded {
        let _ = writeln!(
            text,
            "NOT RECORDED, {why}: {}\n  `pitot host undo` looks at them again: what is as before stays so, and a value that is \
             set again to what was applied would be set back",
            keys.join(", ")
        );
    }
    for path in leftovers {
        let _ = writeln!(text, "removed what a killed run left: {}", path.display());
    }
    text
}

fn changes_text(outcomes: &[Undone], cleared: usize) -> String {
    let mut text = String::new();
    if outcomes.is_empty() {
        text += "nothing to undo";
    }
    if cleared > 0 {
        let changes = units::counted(cleared as u64, "change", "changes");
        let between = if outcomes.is_empty() { ": " } else { "" };
        text +=
            &format!("{between}the machine has been rebooted, which undid {changes}; the journal is cleared");
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let line = |outcome: &Undone| match outcome {
        Undone::Restored { key, from, to } => {
            format!("{}: {} -> {}\n", named(key), shown(from), shown(to))
        }
        Undone::AsBefore { key, value } => format!("{}: is {} as before\n", named(key), shown(value)),
        Undone::Kept { key, now, ours, found } => format!(
            "{}: LEFT ALONE at {}: another program has changed it since (from {}; before it was {}){}\n",
            named(key),
            shown(now),
            shown(ours),
            shown(found),
            if file_that_outlasts_boot(key).is_some() {
                ". IT IS READ AT EVERY BOOT: remove by hand what is not wanted"
            } else {
                ""
            }
        ),
        Undone::PassedOn { key, found } => {
            format!("{}: a later change is in force, and will be set back to {}\n", named(key), shown(found))
        }
        Undone::TakenBack { key } => format!("{key}: undone\n"),
        Undone::Gone { key } => format!("{key}: is gone\n"),
        Undone::Elsewhere { key, namespace } => format!(
            "{key}: NOT UNDONE: it belongs to another network namespace, {namespace}; undo it there (nsenter(1)), or \
             with --forget if that is gone\n"
        ),
        Undone::OfRun { key, pid } => format!(
            "{key}: LEFT ALONE: it belongs to a run in progress (process {pid}), which restores it when it ends\n"
        ),
        Undone::Failed { key, why } => format!("{key}: NOT UNDONE: {why}\n"),
    };
    text.extend(outcomes.iter().map(line));
    text
}
