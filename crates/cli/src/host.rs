//! `pitot host`.

mod apply;
mod changes;
mod check;
mod status;
mod undo;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use pitot_host::{Fact, Fingerprint, HostChange};
use pitot_record::Run;
use pitot_results::Failure;
use serde_json::{Value, json};

use crate::formats::TextOrJson;
use crate::output::print;

/// Show the hardware, kernel and settings of this machine, as every run file records them; check, change and undo them.
///
/// Everything is read from /proc, /sys and /etc/os-release; without the kernel's keys and seeds.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Host {
    #[command(subcommand)]
    action: Option<Action>,
    /// The output format.
    #[arg(long, default_value = "text")]
    format: TextOrJson,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the differences between two machines, or between two states of one.
    ///
    /// Exit codes, as of diff(1): 0 without differences, 1 with some, 2 if a file cannot be read.
    Diff {
        /// A run file, or the output of `pitot host --format json`.
        before: PathBuf,
        /// Another one. [default: this machine now]
        after: Option<PathBuf>,
        /// The output format.
        #[arg(long, default_value = "text")]
        format: TextOrJson,
    },
    Check(check::Check),
    Apply(apply::Apply),
    Status(status::Show),
    Undo(undo::Undo),
}

impl Host {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let (text, code) = match self.action {
            None => {
                let print = Fingerprint::collect();
                let text = match self.format {
                    TextOrJson::Text => facts_text(&print),
                    TextOrJson::Json => format!("{:#}\n", facts_json(&print)),
                };
                (text, ExitCode::SUCCESS)
            }
            Some(Action::Diff { before, after, format }) => {
                let before = fingerprint(&before)?;
                let after = after.map_or_else(|| Ok(Fingerprint::collect()), |path| fingerprint(&path))?;
                let changes = before.changes_to(&after);
                let text = match format {
                    TextOrJson::Text => changes_text(&changes),
                    TextOrJson::Json => format!("{:#}\n", json!(changes)),
                };
                (text, if changes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
            }
            Some(Action::Check(action)) => return action.run(),
            Some(Action::Apply(action)) => return action.run(),
            Some(Action::Status(action)) => return action.run(),
            Some(Action::Undo(action)) => return action.run(),
        };
        print(&text)?;
        Ok(code)
    }
}

fn facts_text(print: &Fingerprint) -> String {
    let mut text = String::new();
    for (group, facts) in print.groups() {
        text.push_str(&format!("{group}\n"));
        let width = facts.iter().map(|f| f.name.len()).max().unwrap_or(0).min(40);
        for fact in facts {
            text.push_str(&format!("  {:width$}  {}\n", fact.name, fact.value));
        }
    }
    text
}

/// Groups with their facts, by name.
fn facts_json(print: &Fingerprint) -> Value {
    let groups: BTreeMap<&str, BTreeMap<&str, &str>> = print
        .groups()
        .map(|(group, facts)| (group, facts.iter().map(|f| (f.name.as_str(), f.value.as_str())).collect()))
        .collect();
    json!({ "schema": "pitot-host/1", "facts": groups })
}

fn changes_text(changes: &[HostChange]) -> String {
    if changes.is_empty() {
        return "no differences\n".into();
    }
    let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "(absent)".into());
    let line =
        |c: &HostChange| format!("{} {}\n  {}\n  {}\n", c.group, c.name, side(&c.before), side(&c.after));
    changes.iter().map(line).collect()
}

fn fingerprint(path: &Path) -> Result<Fingerprint, Failure> {
    let unreadable = |why: &dyn std::fmt::Display| {
        Failure::misuse(
            format!("{} has no facts of a host: {why}", path.display()),
            "name a run file, or the output of `pitot host --format json`",
        )
    };
    let bytes = std::fs::read(path).map_err(|e| unreadable(&e))?;
    if !bytes.starts_with(b"{") {
        let run = Run::open(path)?;
        return Ok(run.host_before);
    }
    let value: Value = serde_json::from_slice(&bytes).map_err(|e| unreadable(&e))?;
    let groups = value["facts"].as_object().ok_or_else(|| unreadable(&"it has no `facts`"))?;
    let mut print = Fingerprint::default();
    for (group, facts) in groups {
        for (name, value) in facts.as_object().into_iter().flatten() {
            print.facts.push(Fact {
                group: group.clone(),
                name: name.clone(),
                value: value.as_str().unwrap_or_default().to_owned(),
            });
        }
    }
    Ok(print)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_survives_its_json() {
        let print = Fingerprint::collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), facts_json(&print).to_string()).unwrap();
        let read = fingerprint(file.path()).unwrap();
        assert_eq!(print.changes_to(&read), []);
        assert_eq!(changes_text(&print.changes_to(&read)), "no differences\n");
    }

    #[test]
    fn a_change_shows_both_sides() {
        let change = |before: Option<&str>, after: Option<&str>| HostChange {
            group: "sysctl".into(),
            name: "vm.swappiness".into(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        assert_eq!(changes_text(&[change(Some("60"), Some("10"))]), "sysctl vm.swappiness\n  60\n  10\n");
        assert!(changes_text(&[change(None, Some("10"))]).contains("(absent)"));
    }
}
