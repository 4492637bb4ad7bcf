//! `pitot host apply`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pitot_host::journal::{self, Applied, Journal, Wanted};
use pitot_host::profile::PROFILES;
use pitot_host::setting;
use pitot_host::{Facts, Machine};
use pitot_meter::{Nanos, units};
use pitot_results::{Failure, stderr};
use serde_json::json;

use super::changes::{of_profile, of_rule, of_setting, profile};
use crate::formats::TextOrJson;
use crate::output::print;
use pitot_meter::units::span;

/// Change settings of this machine; `pitot host undo` restores them.
///
/// Each change and the value before it are written to a journal first, so that it can be undone even if this program is
/// killed. Settings that have their value already are left alone. Needs root; docs/host.md lists the settings.
#[derive(Debug, Args)]
pub(super) struct Apply {
    /// Rules of `pitot host check`, whose settings fix what they find wrong, or settings, such as net.core.somaxconn=4096.
    #[arg(value_name = "RULE|KEY=VALUE", required_unless_present = "profile")]
    changes: Vec<String>,
    #[arg(long, value_name = "NAME", help = profile_help())]
    profile: Vec<String>,
    /// Undo after this time, even if this terminal is closed.
    #[arg(long = "for", value_name = "TIME", value_parser = units::duration)]
    undo_after: Option<Nanos>,
    /// Apply at every boot too, by files of sysctl.d(5) and tmpfiles.d(5), until `pitot host undo`.
    #[arg(long, conflicts_with = "undo_after")]
    persist: bool,
    /// Show the changes without making them.
    #[arg(long)]
    dry_run: bool,
    /// The journal: /var/lib/pitot/host-journal unless given here or in PITOT_HOST_JOURNAL.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// The output format.
    #[arg(long, default_value = "text")]
    format: TextOrJson,
}

fn profile_help() -> String {
    let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
    format!(
        "All settings of a profile: {}. Those that this machine lacks are skipped and named",
        names.join(", ")
    )
}

impl Apply {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let machine = Machine::here();
        let mut wanted = Vec::new();
        let mut notes = Vec::new();
        let mut skipped = Vec::new();
        for name in &self.profile {
            let profile = profile(name)?;
            let (of_it, left_out) = of_profile(&machine, profile);
            wanted.extend(of_it);
            skipped.extend(left_out.into_iter().map(|(key, why)| Applied::Skipped { key, why }));
            notes.extend(
                profile.gone.iter().map(|gone| format!("no longer exists: {}. {}", gone.what, gone.instead)),
            );
        }
        let mut facts = None;
        for word in &self.changes {
            match word.split_once('=') {
                Some((key, value)) => wanted.extend(of_setting(&machine, key.trim(), value)?),
                None => {
                    let facts = facts.get_or_insert_with(|| Facts::collect(&machine));
                    let (of_it, note) = of_rule(&machine, facts, word)?;
                    wanted.extend(of_it);
                    notes.extend(note);
                }
            }
        }
        if self.persist {
            let (of_boot, impossible) = at_every_boot(&machine, &wanted)?;
            wanted.extend(of_boot);
            notes.extend(
                impossible
                    .into_iter()
                    .map(|key| format!("{key}: not applied at boot, since no file can do that")),
            );
        }
        journal::check(&machine, &wanted)?;
        let mut outcomes = match self.dry_run {
            true => wanted.iter().map(|want| journal::foreseen(&machine, want)).collect::<Result<_, _>>()?,
            false => self.apply(&machine, &wanted)?,
        };
        outcomes.extend(skipped);
        print(&match self.format {
            TextOrJson::Text => self.text(&outcomes, &notes),
            TextOrJson::Json => format!("{:#}\n", to_json(&outcomes, &notes, self.dry_run)),
        })?;
        Ok(ExitCode::SUCCESS)
    }

    fn apply(&self, machine: &Machine, wanted: &[Wanted]) -> Result<Vec<Applied>, Failure> {
        let path = self.journal.clone().unwrap_or_else(journal::place);
        let mut journal = Journal::create(machine, &path)?;
        if journal.changes_of_earlier_boot() > 0 {
            stderr::line(format_args!(
                "pitot: the journal had {} of an earlier boot, which are gone",
                units::counted(journal.changes_of_earlier_boot() as u64, "change", "changes")
            ));
        }
        let batch = journal::new_batch();
        if let Some(after) = self.undo_after {
            let program = std::env::current_exe()
                .map_err(|e| Failure::run(format!("this program cannot be found: {e}"), "omit --for"))?;
            journal::start_timer(&mut journal, machine, &program, batch, Duration::from_nanos(after.0))?;
        }
        journal::apply(&mut journal, machine, batch, wanted)
    }

    fn text(&self, outcomes: &[Applied], notes: &[String]) -> String {
        let mut text = String::new();
        let (mut changed, mut left_out) = (0, 0);
        for outcome in outcomes {
            text += &match outcome {
                Applied::Changed { key, found, now } => {
                    changed += 1;
                    format!("{}: {} -> {}\n", named(key), shown(found), shown(now))
                }
                Applied::Already { key, value } => format!("{}: is {} already\n", named(key), shown(value)),
                Applied::Skipped { key, why } => {
                    left_out += 1;
                    format!("{key}: skipped, {why}\n")
                }
            };
        }
        for note in notes {
            text += &format!("{note}\n");
        }
        let settings = units::counted(changed, "setting", "settings");
        text += &match (self.dry_run, self.undo_after) {
            (_, _) if changed == 0 && left_out > 0 => {
                let left_out = units::counted(left_out, "setting is", "settings are");
                format!("nothing can be changed here: {left_out} skipped\n")
            }
            (false, _) if changed == 0 => "nothing to change\n".into(),
            (true, _) => format!("{settings} would be changed\n"),
            (false, None) => format!("{settings} changed; `pitot host undo` restores the values before\n"),
            (false, Some(after)) => format!(
                "{settings} changed; undone in {}, or by `pitot host undo`\n",
                span(after.0.div_ceil(1_000_000_000) as f64)
            ),
        };
        text
    }
}

/// The changes that apply at every boot what can be set here, and the keys of profiles for which there is no file.
fn at_every_boot(machine: &Machine, wanted: &[Wanted]) -> Result<(Vec<Wanted>, Vec<String>), Failure> {
    let here: Vec<&Wanted> =
        wanted.iter().filter(|want| setting::is_here(machine, &want.change.key)).collect();
    let (files, impossible) = setting::at_every_boot(machine, here.iter().map(|want| &want.change));
    let asked = |key: &&&str| here.iter().any(|want| want.change.key == **key && want.is_required);
    if let Some(key) = impossible.iter().find(asked) {
        return Err(Failure::misuse(
            format!("{key} cannot be applied at boot: neither sysctl.d(5) nor tmpfiles.d(5) can set it"),
            "apply it without --persist, and at boot by a service of your own",
        ));
    }
    let files = files.into_iter().map(|change| Wanted { change, by: "--persist".into(), is_required: true });
    Ok((files.collect(), impossible.into_iter().map(str::to_owned).collect()))
}

fn to_json(outcomes: &[Applied], notes: &[String], dry_run: bool) -> serde_json::Value {
    let settings: Vec<_> = outcomes
        .iter()
        .map(|outcome| match outcome {
            Applied::Changed { key, found, now } => {
                json!({ "key": key, "outcome": "changed", "found": found, "now": now })
            }
            Applied::Already { key, value } => {
                json!({ "key": key, "outcome": "already", "found": value, "now": value })
            }
            Applied::Skipped { key, why } => json!({ "key": key, "outcome": "left-out", "why": why }),
        })
        .collect();
    json!({ "schema": "pitot-host-apply/1", "dry_run": dry_run, "settings": settings, "notes": notes })
}

/// A key on a line of text: of a file that is read at boot its path.
pub(super) fn named(key: &str) -> &str {
    setting::file_that_outlasts_boot(key).unwrap_or(key)
}

/// A value on a line of text.
pub(super) fn shown(value: &str) -> String {
    // A file.
    if value.contains('\n') {
        return units::counted(value.lines().count() as u64, "line", "lines");
    }
    let words: Vec<&str> = value.split_whitespace().collect();
    if words.is_empty() { "nothing".into() } else { words.join(" ") }
}
