//! The `pitot` command: one file per subcommand.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod failure;
mod list;
mod serve;
mod value;

/// Tells which server architecture, event mechanism, disk path, kernel and tuning serve a load best, and proves it.
#[derive(Debug, Parser)]
#[command(name = "pitot", version, max_term_width = 100)]
struct Pitot {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Serve),
    List(list::List),
    #[command(hide = true)]
    ServeConnection(serve::ServeConnection),
}

fn main() -> ExitCode {
    let result = match Pitot::parse().command {
        Command::Serve(command) => command.run(),
        Command::List(command) => command.run(),
        Command::ServeConnection(command) => command.run(),
    };
    result.unwrap_or_else(|failure| failure.report())
}
