//! `pitot target`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use pitot_results::{Failure, stderr};
use pitot_target::{Installation, Places};

use crate::failure::hint;
use crate::output::print_line;
use crate::targets;

/// Install servers of others that Pitot knows (`pitot list targets`).
#[derive(Debug, Args)]
pub(crate) struct TargetCommand {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Install(Install),
}

/// Install targets, each by the tools of its ecosystem.
///
/// Packages of Debian are installed by apt-get; everything else goes into a folder for each target below pitot/targets in
/// the user's cache directory (XDG_CACHE_HOME, else ~/.cache). Without --yes it only prints what it would do.
#[derive(Debug, Args)]
struct Install {
    /// The targets.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Do it.
    #[arg(long)]
    yes: bool,
    /// Reinstall those that are installed already.
    #[arg(long)]
    again: bool,
}

impl TargetCommand {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Action::Install(install) => install.run(),
        }
    }
}

impl Install {
    fn run(self) -> Result<ExitCode, Failure> {
        let registry = targets::registry()?;
        let places = Places::of_this_machine();
        let mut installations: Vec<Installation> = Vec::new();
        for name in &self.names {
            let Some(target) = registry.find(name) else {
                let names = registry.targets.iter().map(|known| known.target.name.as_str());
                let near = hint(name, names);
                let what = format!("unknown target `{name}`{near}");
                return Err(Failure::misuse(what, "see `pitot list targets`"));
            };
            if !self.again && places.has_all_of(target) {
                print_line(format_args!("{name} is installed"));
                continue;
            }
            if target.install.is_empty() {
                let what = format!("the target `{name}` does not say how it is installed");
                return Err(Failure::misuse(what, "install it by hand, or add [install] to its file"));
            }
            let new = Installation::of(target, &places, targets::is_root());
            // Several targets may be in one package.
            let is_there = |other: &Installation| other.folder.is_none() && other.steps == new.steps;
            if !installations.iter().any(is_there) {
                installations.push(new);
            }
        }
        let mut failed: Vec<(&str, Failure)> = Vec::new();
        for installation in &installations {
            print_line(format_args!("{}:", installation.name));
            for line in installation.lines() {
                print_line(format_args!("  {line}"));
            }
            let name = installation.name.as_str();
            if self.yes
                && let Err(failure) =
                    installation.carry_out(|step| stderr::line(format_args!("{name}: {step}")))
            {
                stderr::line(format_args!("{name}: {}; {}", failure.what, failure.fix));
                failed.push((name, failure));
            }
            if !self.yes {
                for (program, fix) in &installation.missing {
                    print_line(format_args!("  it needs `{program}`, which is not installed; {fix}"));
                }
            }
        }
        if failed.len() > 1 {
            let names: Vec<&str> = failed.iter().map(|(name, _)| *name).collect();
            let what = format!(
                "{} of {} targets were not installed: {}",
                failed.len(),
                installations.len(),
                names.join(", ")
            );
            return Err(Failure::run(what, "see the lines above"));
        }
        if let Some((_, failure)) = failed.pop() {
            return Err(failure);
        }
        if !self.yes && !installations.is_empty() {
            print_line(format_args!(
                "nothing was installed; to install: pitot target install {} --yes",
                self.names.join(" ")
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}
