//! `pitot tune`.

mod answer;
mod attempt;
mod candidates;
mod experiment;
mod search;
mod setting;
mod tolerance;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use pitot_results::Failure;

/// Measure the effect of settings of the host on a server, with and without them in turn, with an interval.
///
/// Changes are written to the journal of `pitot host` first, and undone however the run ends.
#[derive(Debug, Args)]
pub(crate) struct Tune {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Try(attempt::Attempt),
    Search(Box<search::Search>),
}

impl Tune {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        match self.action {
            Action::Try(attempt) => attempt.run(),
            Action::Search(search) => search.run(),
        }
    }
}
