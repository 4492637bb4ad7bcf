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

/// Prove what settings of the host do to a server: with and without them, in turn, with an interval.
///
/// What is changed is in the journal of `pitot host` before it is changed, and set back whatever ends the run.
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
