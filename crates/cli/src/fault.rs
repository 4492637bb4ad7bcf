//! `pitot fault`: makes a fault, and takes it back.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use pitot_fault::{Aim, FAULTS, Fault, Means, OPTIONS, Options, carry_out, find};
use pitot_host::Machine;
use pitot_host::journal;
use pitot_meter::{Nanos, units};
use pitot_results::{Failure, stderr};

use crate::value::{self, Cpus};

/// Do something to a server under load, for a time, and take it back: stop or kill its processes, and more.
///
/// The fault is taken back after its time, on Ctrl-C, on SIGTERM, and also if this program is killed (SIGKILL): a guardian
/// process sees to that. If both are killed, `pitot host status` shows what is left, and `pitot host undo` takes it back. `pitot list faults` says what each does and what can be made on this machine; a plan asks for
/// faults with the tables `faults`. Two lines on standard output say when it began and when it ended (CLOCK_MONOTONIC, nanoseconds).
#[derive(Debug, Args)]
pub(crate) struct FaultCommand {
    #[arg(help = kinds_help(), value_name = "FAULT")]
    kind: String,
    /// The first process of the server; those that it has started belong to it.
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// The server's address. Of `resolver`: where questions are passed on to. [default: names below test are answered]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) to: Option<SocketAddr>,
    /// The CPUs of the server: 0,2-3. [default: all]
    #[arg(long, value_name = "LIST", value_parser = value::cpus)]
    cpus: Option<Cpus>,
    /// The server's private directory.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Of `proxy` and `resolver`: where clients connect. [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// How long the fault lasts. [default: the fault's own length]
    #[arg(long = "for", value_name = "TIME", value_parser = units::duration)]
    length: Option<Nanos>,
    #[command(flatten)]
    given: GivenOptions,
}

fn kinds_help() -> String {
    let names: Vec<&str> = FAULTS.iter().filter(|f| is_program(f.means)).map(|fault| fault.name).collect();
    format!(
        "Which fault: {}; or proxy, in which faults on the way between load and server are made, or resolver, in which those of \
         names are",
        names.join(", ")
    )
}

/// Options of faults that were given: each name and its text.
#[derive(Clone, Debug, Default)]
struct GivenOptions(Vec<(&'static str, String)>);

impl FromArgMatches for GivenOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<GivenOptions, clap::Error> {
        let given = |option: &pitot_fault::Given| {
            Some((option.name, matches.get_one::<String>(option.name)?.clone()))
        };
        Ok(GivenOptions(OPTIONS.iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = GivenOptions::from_arg_matches(matches)?;
        Ok(())
    }
}

/// One option of the command for each of the table.
impl Args for GivenOptions {
    fn augment_args(command: Command) -> Command {
        OPTIONS.iter().fold(command, |command, option| {
            let help = format!("{} [default: {}]", option.doc.trim_end_matches('.'), option.default);
            let arg = Arg::new(option.name).long(option.name).value_name(option.value).help(help);
            command.arg(arg.help_heading("Options of faults"))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        GivenOptions::augment_args(command)
    }
}

fn is_program(means: Means) -> bool {
    matches!(means, Means::Program { .. })
}

/// Warns of faults that nobody takes back, because the program that made them and its guardian were killed.
pub(crate) fn tell_of_left_faults() {
    for fault in journal::left_faults(&Machine::here(), &journal::place()) {
        stderr::line(format_args!("warning: left behind: {fault}\n  take it back with: pitot host undo"));
    }
}

/// Where a proxy and a resolver listen if nothing is said.
pub(crate) const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// In place of a fault: the proxy in which some are made.
const PROXY: &str = "proxy";
/// The same for the resolver.
const RESOLVER: &str = "resolver";

impl FaultCommand {
    fn serve_proxy(self) -> Result<ExitCode, Failure> {
        let to = self.to.ok_or_else(|| {
            Failure::misuse("the proxy does not know where to lead", "give --to, the server's address")
        })?;
        self.check_given()?;
        pitot_fault::proxy::serve(self.listen.unwrap_or(ANY), to).map(|()| ExitCode::SUCCESS)
    }

    /// An error if options of faults are given where no fault is named.
    pub(crate) fn check_given(&self) -> Result<(), Failure> {
        match self.given.0.first() {
            Some((name, _)) => Err(Failure::misuse(
                format!("--{name} has no meaning for the {}", self.kind),
                "it takes --to and --listen; faults are begun by lines on its standard input",
            )),
            None => Ok(()),
        }
    }

    pub(crate) fn run(mut self) -> Result<ExitCode, Failure> {
        if self.kind == PROXY {
            return self.serve_proxy();
        }
        if self.kind == RESOLVER {
            return self.serve_resolver();
        }
        let names = || FAULTS.iter().map(|fault| fault.name).collect::<Vec<_>>().join(", ");
        let fault = find(&self.kind).ok_or_else(|| {
            Failure::misuse(
                format!("there is no fault `{}`", self.kind),
                format!("choose one of {}", names()),
            )
        })?;
        let given = std::mem::take(&mut self.given.0);
        let mut options = Options::read(fault.takes, given.iter().map(|(name, text)| (*name, text.as_str())))
            .map_err(|(name, why)| {
                Failure::misuse(format!("--{name} is wrong for the fault `{}`", fault.name), why)
            })?;
        self.aim(fault, &mut options)?;
        tell_of_left_faults();
        let own = Nanos((fault.lasts_s * 1e9) as u64);
        carry_out(fault, &options, self.length.unwrap_or(own)).map(|()| ExitCode::SUCCESS)
    }

    /// What the fault is aimed at, of which nothing else must be given.
    fn aim(&mut self, fault: &Fault, options: &mut Options) -> Result<(), Failure> {
        let missing = |option: &str, what: &str| {
            Failure::misuse(format!("{what} is not said"), format!("give {option}"))
        };
        let others = [
            ("--pid", self.pid.is_some(), Aim::Process),
            ("--to", self.to.is_some(), Aim::Address),
            ("--cpus", self.cpus.is_some(), Aim::Cpus),
            ("--dir", self.dir.is_some(), Aim::Directory),
        ];
        if let Some((option, ..)) = others.iter().find(|(_, is_given, aim)| *is_given && *aim != fault.aim) {
            let what = format!("{option} has no meaning for the fault `{}`", fault.name);
            return Err(Failure::misuse(what, format!("leave {option} out")));
        }
        match fault.aim {
            Aim::Process => {
                options.pid = self.pid.ok_or_else(|| missing("--pid", "the first process of the server"))?;
            }
            Aim::Address => {
                options.to = Some(self.to.ok_or_else(|| missing("--to", "the server's address"))?);
            }
            Aim::Directory => {
                options.dir =
                    Some(self.dir.take().ok_or_else(|| missing("--dir", "the server's directory"))?);
            }
            Aim::Cpus => options.cpus = self.cpus.take().unwrap_or_default().0,
            Aim::Server | Aim::Path | Aim::Names | Aim::Nothing => {}
        }
        Ok(())
    }
}
