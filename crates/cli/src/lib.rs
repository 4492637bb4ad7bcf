//! The `pitot` command: one file per subcommand.
#![forbid(unsafe_code)]
// They panic when nobody reads: `pitot_results::stderr` and `output::print` do not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod advise;
mod agent;
mod built;
mod bus;
mod catalog;
mod choice;
mod compare;
mod comparison;
mod confine;
mod diff;
mod disk;
mod events;
mod exec;
mod failure;
mod fault;
mod floor;
mod foreign;
mod formats;
#[cfg(feature = "full")]
mod full;
mod gates;
mod history;
mod hold;
mod host;
mod identity;
mod init;
mod kernel;
mod labels;
#[cfg(not(feature = "full"))]
mod left_out;
mod list;
mod load;
mod load_failure;
mod load_urls;
mod mail;
mod man;
mod metrics;
mod output;
mod plan_text;
mod progress;
mod renamed;
mod report;
mod run;
mod runs;
mod screen;
mod serve;
mod serve_disk;
mod serve_dns;
mod serve_error_log;
mod serve_http;
mod serve_memcache;
mod serve_options;
mod serve_smtp;
mod serve_tls;
mod serve_trade;
mod soak;
mod target;
mod targets;
mod tune;
mod user;
mod value;
mod watched;
mod web;
mod words;

/// Finds the server architecture, event mechanism, disk path, kernel and tuning that serve a load best, and proves it.
#[derive(Debug, Parser)]
#[command(name = "pitot", version = built::version(), max_term_width = 100)]
struct Pitot {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Run>),
    Init(Box<init::Init>),
    Advise(Box<advise::Advise>),
    Serve(serve::Serve),
    Load(Box<load::Load>),
    Mail(Box<mail::Mail>),
    Report(report::Report),
    Compare(compare::Compare),
    Web(web::Web),
    History(history::HistoryCommand),
    Diff(Box<diff::Diff>),
    Exec(exec::Exec),
    Disk(disk::Disk),
    Floor(floor::Floor),
    Host(host::Host),
    Fault(fault::FaultCommand),
    List(list::List),
    Target(target::TargetCommand),
    Tune(tune::Tune),
    Soak(Box<soak::Soak>),
    Kernel(kernel::KernelCommand),
    Agent(agent::Agent),
    BusKey(bus::BusKey),
    BusConnect(bus::BusConnect),
    Completions(man::Completions),
    Man(man::Manual),
    #[command(hide = true)]
    ServeConnection(serve::ServeConnection),
    #[command(hide = true)]
    Guest(kernel::Guest),
}

/// Carries out the command line.
pub fn main() -> ExitCode {
    // What cannot be written is said, and what else there is to say too.
    pitot_sys::signal::survive_file_size_limit();
    pitot_sys::names::resolve_without_modules();
    if let Some(failure) = foreign::one_dash(std::env::args_os()) {
        return failure::print(&failure);
    }
    let words = kernel::words();
    if let Err(failure) = built::check(&words) {
        return failure::print(&failure);
    }
    let result = match Pitot::try_parse_from(words).unwrap_or_else(|e| foreign::advise(e).exit()).command {
        Command::Run(command) => command.run(),
        Command::Init(command) => command.run(),
        Command::Advise(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Load(command) => command.run(),
        Command::Mail(command) => command.run(),
        Command::Report(command) => command.run(),
        Command::Compare(command) => command.run(),
        Command::Web(command) => command.run(),
        Command::History(command) => command.run(),
        Command::Diff(command) => command.run(),
        Command::Exec(command) => command.run(),
        Command::Disk(command) => command.run(),
        Command::Floor(command) => command.run(),
        Command::Host(command) => command.run(),
        Command::Fault(command) => command.run(),
        Command::List(command) => command.run(),
        Command::Target(command) => command.run(),
        Command::Tune(command) => command.run(),
        Command::Soak(command) => command.run(),
        Command::Kernel(command) => command.run(),
        Command::Agent(command) => command.run(),
        Command::BusKey(command) => command.run(),
        Command::BusConnect(command) => command.run(),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
        Command::ServeConnection(command) => command.run(),
        Command::Guest(command) => command.run(),
    };
    result.unwrap_or_else(|failure| failure::print(&failure))
}
