//! `pitot soak status`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pitot_record::Soak;
use pitot_results::Failure;

use super::alarms::{self, Alarm};
use crate::output;
use crate::screen::Color;

/// Show the progress of a soak on one screen: rates, failures by kind, what drifts, and the time that is left.
#[derive(Debug, Args)]
pub(super) struct Status {
    /// The file of the soak, which may be running.
    #[arg(value_name = "FILE.pitot")]
    file: PathBuf,
    /// Only the figures that drift, in a line each.
    #[arg(long)]
    drifts: bool,
    /// Exit with code 1 if one of these holds so far: leak, drift, hang, or a condition on a load's figures, as of `pitot soak`.
    #[arg(long, value_name = "ALARMS", value_parser = alarms::parse)]
    fail_if: Vec<Vec<Alarm>>,
    #[command(flatten)]
    color: Color,
}

impl Status {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let soak = Soak::look(&self.file)?;
        match self.drifts {
            true => {
                let lines = pitot_report::soak::declared(&soak);
                output::print(&lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
            }
            false => output::draw(&pitot_report::soak::status(&soak, self.color.screen()))?,
        }
        alarms::check(&soak, &self.fail_if.concat(), &self.file)?;
        Ok(ExitCode::SUCCESS)
    }
}
