//! `pitot tune`.

mod answer;
mod attempt;
mod candidates;
mod experiment;
mod search;
mod setting;

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

/// A tolerance: `1%` or `0.01`.
fn tolerance(text: &str) -> Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse().map(|percent: f64| percent / 100.0),
        None => text.parse(),
    };
    number
        .ok()
        .filter(|share| (0.0..1.0).contains(share))
        .ok_or_else(|| "a share is written 2% or 0.02".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_is_a_share_or_a_percentage() {
        assert_eq!([tolerance("2%"), tolerance("0.02"), tolerance("0")], [Ok(0.02), Ok(0.02), Ok(0.0)]);
        assert!(["2", "-1%", "100%", "x", ""].iter().all(|bad| tolerance(bad).is_err()));
    }
}
