//! `pitot fault`.

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

/// Inject a fault into a server under load for some time, and undo it: stop or kill its processes, and more.
///
/// The fault is undone after its time, on Ctrl-C, on SIGTERM, and by a guardian process if this program is killed (SIGKILL). If both are
/// killed, `pitot host status` shows what is left, and `pitot host undo` undoes it. `pitot list faults` lists the faults and those
/// that work on this machine; a plan has faults in [[faults]]. Two lines on standard output give its start and end (CLOCK_MONOTONIC,
/// nanoseconds).
#[derive(Debug, Args)]
pub(crate) struct FaultCommand {
    #[arg(help = kinds_help(), value_name = "FAULT")]
    kind: String,
    /// The first process of the server; its children belong to the server.
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// The server's address. For `resolver`: the resolver to forward to. [default: answers names below test]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) to: Option<SocketAddr>,
    /// The CPUs of the server: 0,2-3. [default: all]
    #[arg(long, value_name = "LIST", value_parser = value::cpus)]
    cpus: Option<Cpus>,
    /// The server's private directory.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// For `proxy` and `resolver`: where clients connect. [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// How long the fault lasts. [default: depends on the fault]
    #[arg(long = "for", value_name = "TIME", value_parser = units::duration)]
    length: Option<Nanos>,
    #[command(flatten)]
    given: GivenOptions,
}

fn kinds_help() -> String {
    let names: Vec<&str> = FAULTS.iter().filter(|f| is_program(f.means)).map(|fault| fault.name).collect();
    format!(
        "The fault: {}; or proxy, for faults between load and server, or resolver, for faults of DNS",
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

/// Warns of faults whose program and guardian were killed.
pub(crate) fn tell_of_left_faults() {
    for fault in journal::left_faults(&Machine::here(), &journal::place()) {
        stderr::line(format_args!("warning: left behind: {fault}\n  undo it with: pitot host undo"));
    }
}

/// Where a proxy and a resolver listen if nothing is said.
pub(crate) const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// Instead of a fault: the proxy for faults on the way.
const PROXY: &str = "proxy";
/// The same for the resolver.
const RESOLVER: &str = "resolver";

impl FaultCommand {
    fn serve_proxy(self) -> Result<ExitCode, Failure> {
        let to = self
            .to
            .ok_or_else(|| Failure::misuse("the proxy has no server", "add --to, the server's address"))?;
        self.check_given()?;
        pitot_fault::proxy::serve(self.listen.unwrap_or(ANY), to).map(|()| ExitCode::SUCCESS)
    }

    /// Refuses options of faults if no fault is named.
    pub(crate) fn check_given(&self) -> Result<(), Failure> {
        match self.given.0.first() {
            Some((name, _)) => Err(Failure::misuse(
                format!("--{name} does not apply to the {}", self.kind),
                "use --to and --listen; lines on standard input start faults",
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

    /// The aim of the fault; options of other aims are refused.
    fn aim(&mut self, fault: &Fault, options: &mut Options) -> Result<(), Failure> {
        let missing =
            |option: &str, what: &str| Failure::misuse(format!("{what} is missing"), format!("add {option}"));
        let others = [
            ("--pid", self.pid.is_some(), Aim::Process),
            ("--to", self.to.is_some(), Aim::Address),
            ("--cpus", self.cpus.is_some(), Aim::Cpus),
            ("--dir", self.dir.is_some(), Aim::Directory),
        ];
        if let Some((option, ..)) = others.iter().find(|(_, is_given, aim)| *is_given && *aim != fault.aim) {
            let what = format!("{option} does not apply to the fault `{}`", fault.name);
            return Err(Failure::misuse(what, format!("omit {option}")));
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
