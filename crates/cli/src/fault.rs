//! `pitot fault`: makes a fault, and takes it back.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use clap::Args;
use pitot_fault::{Aim, FAULTS, Means, OPTIONS, Options, carry_out, find};
use pitot_meter::{Nanos, units};
use pitot_results::Failure;

/// Do something to a server under load, for a time, and take it back: stop or kill its processes, and more.
///
/// The fault is taken back after its time, on Ctrl-C, on SIGTERM, and also if this program is killed (SIGKILL): a guardian
/// process sees to that. `pitot list faults` says what each does and what can be made on this machine; a plan asks for
/// faults with [[faults]]. Two lines on standard output say when it began and when it ended (CLOCK_MONOTONIC, nanoseconds).
#[derive(Debug, Args)]
#[command(name = "fault", after_long_help = options_help())]
pub(crate) struct FaultCommand {
    #[arg(help = kinds_help(), value_name = "FAULT")]
    kind: String,
    /// The first process of the server; those that it has started belong to it.
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// Of `proxy`: the server's address.
    #[arg(long, value_name = "ADDRESS")]
    to: Option<SocketAddr>,
    /// Of `proxy`: where clients connect. [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// How long the fault lasts. [default: the fault's own length]
    #[arg(long = "for", value_name = "TIME", value_parser = units::duration)]
    length: Option<Nanos>,
    /// Options of the fault, as --NAME VALUE; the list is below.
    #[arg(value_name = "OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

fn kinds_help() -> String {
    let names: Vec<&str> = FAULTS.iter().filter(|f| is_program(f.means)).map(|fault| fault.name).collect();
    format!(
        "Which fault: {}; or proxy, in which faults on the way between load and server are made",
        names.join(", ")
    )
}

fn options_help() -> String {
    let option = |o: &pitot_fault::Given| {
        format!("  --{} {}\n      {} [default: {}]", o.name, o.value, o.doc, o.default)
    };
    let options: Vec<String> = OPTIONS.iter().map(option).collect();
    format!("Options of faults:\n{}", options.join("\n"))
}

fn is_program(means: Means) -> bool {
    matches!(means, Means::Program { .. })
}

/// In place of a fault: the proxy in which some are made.
const PROXY: &str = "proxy";

impl FaultCommand {
    fn serve_proxy(self) -> Result<ExitCode, Failure> {
        let to = self.to.ok_or_else(|| {
            Failure::misuse("the proxy does not know where to lead", "give --to, the server's address")
        })?;
        if let Some(word) = self.options.first() {
            return Err(Failure::misuse(
                format!("`{word}` has no meaning for the proxy"),
                "it takes --to and --listen",
            ));
        }
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        pitot_fault::proxy::serve(self.listen.unwrap_or(any), to).map(|()| ExitCode::SUCCESS)
    }

    pub(crate) fn run(mut self) -> Result<ExitCode, Failure> {
        if self.kind == PROXY {
            return self.serve_proxy();
        }
        let names = || FAULTS.iter().map(|fault| fault.name).collect::<Vec<_>>().join(", ");
        let fault = find(&self.kind).ok_or_else(|| {
            Failure::misuse(
                format!("there is no fault `{}`", self.kind),
                format!("choose one of {}", names()),
            )
        })?;
        let given = self.take_options()?;
        let mut options =
            Options::read(fault.takes, given.iter().map(|(name, text)| (name.as_str(), text.as_str())))
                .map_err(|(name, why)| {
                    Failure::misuse(format!("--{name} is wrong for the fault `{}`", fault.name), why)
                })?;
        match (fault.aim, self.pid) {
            (Aim::Process, Some(pid)) => options.pid = pid,
            (Aim::Process, None) => {
                return Err(Failure::misuse(
                    "which server is not said",
                    "give --pid, the number of its first process",
                ));
            }
            (_, Some(_)) => {
                return Err(Failure::misuse(
                    format!("`{}` is aimed at no process", fault.name),
                    "leave --pid out",
                ));
            }
            (_, None) => {}
        }
        let own = Nanos((fault.lasts_s * 1e9) as u64);
        carry_out(fault, &options, self.length.unwrap_or(own)).map(|()| ExitCode::SUCCESS)
    }

    /// The fault's own options, which clap does not know; its own may stand among them.
    fn take_options(&mut self) -> Result<Vec<(String, String)>, Failure> {
        let see = "write --NAME VALUE; see pitot fault --help";
        let mut given = Vec::new();
        let mut words = std::mem::take(&mut self.options).into_iter();
        while let Some(word) = words.next() {
            let Some(name) = word.strip_prefix("--") else {
                return Err(Failure::misuse(format!("`{word}` is no option"), see));
            };
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => {
                    let value =
                        words.next().ok_or_else(|| Failure::misuse(format!("--{name} has no value"), see))?;
                    (name.to_owned(), value)
                }
            };
            match name.as_str() {
                "pid" => {
                    let pid = value
                        .parse()
                        .map_err(|_| Failure::misuse(format!("`{value}` is no process"), see))?;
                    self.pid = Some(pid);
                }
                "for" => {
                    let length =
                        units::duration(&value).map_err(|e| Failure::misuse(format!("--for: {e}"), see))?;
                    self.length = Some(length);
                }
                _ => given.push((name, value)),
            }
        }
        Ok(given)
    }
}
