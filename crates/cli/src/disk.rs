//! `pitot disk`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use pitot_results::Failure;

mod files;
mod output;
mod read;
mod signals;

/// Measure disk I/O: many small files, or reads by every engine.
#[derive(Debug, Args)]
pub(crate) struct Disk {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Files(files::Files),
    Read(read::Read),
}

impl Disk {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Files(command) => command.run(),
            Command::Read(command) => command.run(),
        }
    }
}
