//! `pitot host status`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pitot_host::Machine;
use pitot_host::journal::{self, ChangeState, Status};
use pitot_results::Failure;
use serde_json::json;

use super::apply::{named, shown};
use crate::formats::TextOrJson;
use crate::output::print;
use pitot_meter::units::span;

/// Show what `pitot host apply` has changed, whether it is still in force, and the active faults.
///
/// Exits with 1 if another program has changed a setting since, or the process that was to undo a change or a fault is gone.
#[derive(Debug, Args)]
pub(super) struct Show {
    /// The journal: /var/lib/pitot/host-journal unless given here or in PITOT_HOST_JOURNAL.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// The output format.
    #[arg(long, default_value = "text")]
    format: TextOrJson,
}

impl Show {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let machine = Machine::here();
        let path = self.journal.unwrap_or_else(journal::place);
        let status = journal::status(&machine, &path)?;
        print(&match self.format {
            TextOrJson::Text => text(&status),
            TextOrJson::Json => {
                let mut json = json!(status);
                json["schema"] = json!("pitot-host-status/1");
                format!("{json:#}\n")
            }
        })?;
        let is_odd = status.changes.iter().any(|change| change.state == ChangeState::ChangedSince)
            || status.timers.iter().any(|timer| !timer.is_alive);
        let is_left = status.faults.iter().any(|fault| fault.pid.is_none());
        let is_odd = is_odd && !status.is_of_earlier_boot || is_left;
        Ok(if is_odd { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

fn text(status: &Status) -> String {
    if status.changes.is_empty() && status.faults.is_empty() {
        return "nothing is changed\n".into();
    }
    let mut text = String::new();
    for fault in &status.faults {
        text += &match fault.pid {
            Some(pid) => format!("fault {}, {}: process {pid} will undo it", fault.fault, fault.on),
            None => format!("fault {}, {}: LEFT BEHIND, run `pitot host undo`", fault.fault, fault.on),
        };
        text += &format!(" ({})\n", fault.at);
    }
    if status.is_of_earlier_boot {
        let nothing = if text.is_empty() { "nothing" } else { "nothing else" };
        return text + nothing + " is changed: the machine has been rebooted since\n";
    }
    for change in &status.changes {
        let state = match change.state {
            ChangeState::InForce => "",
            ChangeState::AsBefore => ", now as before",
            ChangeState::ChangedSince => ", CHANGED BY ANOTHER PROGRAM SINCE",
            ChangeState::NotHere => ", not visible from here",
        };
        let now = match (&change.now, change.state) {
            (Some(now), ChangeState::ChangedSince) => format!(" to {}", shown(now)),
            _ => String::new(),
        };
        text += &format!(
            "{}: {} -> {}{state}{now} ({}, {})\n",
            named(&change.key),
            shown(&change.found),
            shown(&change.set),
            change.by,
            change.at
        );
    }
    for timer in &status.timers {
        let count = status.changes.iter().filter(|change| change.batch == timer.batch).count();
        text += &if timer.is_alive {
            let after = span(timer.remaining_s as f64);
            format!("{count} of them will be undone in {after} by process {}\n", timer.pid)
        } else {
            format!(
                "{count} of them should be undone by process {}, WHICH IS GONE: run `pitot host undo`\n",
                timer.pid
            )
        };
    }
    text
}
