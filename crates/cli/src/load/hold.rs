//! `pitot load --hold`: loads that are held.

use std::process::ExitCode;

use clap::{ArgAction, Parser};
use pitot_load::Session;
use pitot_meter::{Nanos, now};
use pitot_results::Failure;
use pitot_results::hold::{Closed, Opened, Slice};

use super::options::Load;
use crate::hold::{self, DEFAULT_GROUP, Held};

/// `pitot load --hold`.
const WORDS_WITHOUT_URL: usize = 3;

/// The words of `open` after the name.
#[derive(Debug, Parser)]
#[command(name = "open NAME", disable_help_flag = true)]
struct OpenCommand {
    #[command(flatten)]
    load: Load,
    /// It would print to standard output, where only answers are expected.
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    help: bool,
}

/// Carries out commands to loads.
pub(super) fn run(load: &Load) -> Result<ExitCode, Failure> {
    hold::end_with_signal_or_reader()?;
    let mut session = Session::new();
    if load.url.is_none() && std::env::args_os().len() > WORDS_WITHOUT_URL {
        return Err(Failure::misuse(
            "options without a URL to open",
            "write pitot load --hold URL OPTIONS, or give the options to each `open`",
        ));
    }
    // What is wrong with the command line is said as for any other.
    let opened = load.url.is_some().then(|| open(&mut session, DEFAULT_GROUP, load, now())).transpose()?;
    hold::carry_out(&mut session, opened)
}

impl Held for Session {
    fn open(&mut self, group: &str, words: &[String], read_at: Nanos) -> Result<Opened, Failure> {
        open(self, group, &target(words)?, read_at)
    }

    fn run(
        &mut self,
        group: &str,
        length: Nanos,
        read_at: Nanos,
        at: Option<Nanos>,
    ) -> Result<Slice, Failure> {
        Session::run(self, group, length, read_at, at)
    }

    fn close(&mut self, group: &str) -> Result<Closed, Failure> {
        Session::close(self, group)
    }

    fn answered(&mut self) {
        self.clear();
    }
}

/// Reads a URL and options.
fn target(words: &[String]) -> Result<Load, Failure> {
    let fix = "write it as for pitot load: open NAME URL [OPTIONS]";
    let target: OpenCommand = hold::words_of(words, fix)?;
    let meaningless =
        [("--help", target.help), ("--hold", target.load.hold), ("--dry-run", target.load.dry_run)];
    match meaningless.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::misuse(format!("{option} does not apply to a command"), fix)),
        None => Ok(target.load),
    }
}

fn open(session: &mut Session, group: &str, load: &Load, read_at: Nanos) -> Result<Opened, Failure> {
    let output = [
        ("--json", load.json.is_some()),
        ("--csv", load.csv.is_some()),
        ("--hlog", load.hlog.is_some()),
        ("-L", load.latency),
        ("--timeline", load.timeline),
        ("--progress", load.progress.is_some()),
        ("--metrics", load.metrics.is_some()),
        ("--confine", load.confine),
        ("--keep-secrets", load.keep_secrets),
        ("--from", load.from.is_some()),
        ("--worker", load.worker.is_some()),
    ];
    if let Some((option, _)) = output.iter().find(|(_, given)| *given) {
        return Err(Failure::misuse(
            format!("{option} does not apply with --hold"),
            "omit it: each slice is answered by a line of JSON on standard output",
        ));
    }
    session.open(group, &load.options(), read_at)
}
