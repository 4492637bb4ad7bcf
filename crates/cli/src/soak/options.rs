//! The options of `pitot soak`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::{Args, Subcommand};
use pitot_meter::{Nanos, units};
use pitot_soak::run::OnHang;
use pitot_sys::user::User;

use super::alarms::{self, Alarm};
use super::status::Status;
use crate::choice::{one_of, word};
use crate::labels::Labels;
use crate::run::Profile;
use crate::value;

/// Run servers under load for hours or days, and report what drifts, leaks, hangs and dies.
///
/// It runs a suite, a plan (all of its cells at the same time), the servers of --server, or loads a server that is running
/// already: pitot soak http://127.0.0.1:8080/ --pid 4711 --for 96h -R 500. Every interval is saved at once: after Ctrl-C, a
/// crash or a power cut `--resume FILE` continues, with a gap. `pitot report FILE` works at any time. See
/// docs/soak.md.
///
/// The exit code is 0 if the whole time was run, 1 if the soak ended early, a server answered nothing or lost what it had
/// acknowledged, or --fail-if holds, and 2 for a mistake on the command line.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Soak {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    /// A suite, the path of a plan, or the URL of a server that is running.
    #[arg(value_name = "SUITE|PLAN.toml|URL", required_unless_present_any = ["resume", "server"], conflicts_with = "server")]
    pub(super) target: Option<String>,
    /// How long, in time under load: 20m, 24h, 14d. [default: that of the plan]
    #[arg(long = "for", value_name = "TIME", value_parser = units::duration)]
    pub(super) length: Option<Nanos>,
    /// Continue a soak that was stopped or killed, with its own command line; --pid, --restart, --on-hang, --fail-if and --on-event
    /// may be given again. THIS RUNS THE COMMANDS IN THE FILE: resume only files of your own or of people you trust.
    #[arg(long, value_name = "FILE.pitot")]
    pub(super) resume: Option<PathBuf>,
    /// With --resume: run the commands of a file that another user owns or everybody can write.
    #[arg(long, requires = "resume")]
    pub(super) trust_owner: bool,
    /// The file to create. [default: soak and the time, in this directory]
    #[arg(short, long, value_name = "FILE.pitot")]
    pub(super) output: Option<PathBuf>,
    /// With a URL: the server's first process; its memory, descriptors, threads and CPU time are monitored, with its children's.
    #[arg(long, value_name = "N")]
    pub(super) pid: Option<u32>,
    /// With a URL: the unit of systemd, or the directory of the control group, whose processes are monitored likewise. Restarts are
    /// counted.
    #[arg(long, value_name = "UNIT|DIR", conflicts_with = "pid")]
    pub(super) unit: Option<String>,
    /// A server to start, as for `pitot run`: a command with {address}, a target, or a server of Pitot; may be repeated. All run at
    /// the same time.
    #[arg(long = "server", id = "server", value_name = "SERVER")]
    pub(super) servers: Vec<String>,
    /// The URL of the load of each server, which has the server's {address}. [default: http://{address}/]
    #[arg(long, value_name = "URL")]
    pub(super) url: Option<String>,
    /// Connections of the load. [default: 8]
    #[arg(short, long, value_name = "N")]
    pub(super) connections: Option<u32>,
    /// Total rate in requests per second; without one each connection sends its next request after the last reply.
    #[arg(short = 'R', long, value_name = "RATE")]
    pub(super) rate: Option<String>,
    /// Another load at the same time, as options of `pitot load`; may be repeated:
    /// --load '-c 30 --think 1s' --load '--path /upload -X PUT --body @big -c 2'. Without a URL in it, --url
    /// applies.
    #[arg(long = "load", value_name = "OPTIONS", allow_hyphen_values = true)]
    pub(super) loads: Vec<String>,
    /// Make a fault to each server under load, once or repeatedly; may be repeated: --fault 'stop --for 1s --every 10m' --fault
    /// 'kill --at 30m'. A fault with its options, as for `pitot fault`; --at counts time under load. Without it the moment is
    /// random, one in each --every. With a URL, most faults need --pid or --unit, and disk-full a directory: 'disk-full --dir
    /// /mnt/data'. See `pitot list faults` and docs/soak.md.
    #[arg(long = "fault", value_name = "FAULT OPTIONS", allow_hyphen_values = true)]
    pub(super) faults: Vec<String>,
    /// Restart servers that die, and count it. Otherwise the soak ends with them.
    #[arg(long)]
    pub(super) restart: bool,
    /// What to do when a server hangs: replies stop although it is up. Either way the hang is recorded, with the state of its threads
    /// and sockets. [default: that of the plan, or continue]
    #[arg(long, value_name = "WHAT", value_parser = on_hang())]
    pub(super) on_hang: Option<OnHang>,
    /// Exit with code 1 if one of these holds at the end: leak, drift (leaks too), hang, or a condition on a load's figures over the whole
    /// soak, as of `pitot load`: 'leak, errors > 1%, p99 > 50ms'. May be repeated.
    #[arg(long, value_name = "ALARMS", value_parser = alarms::parse)]
    pub(super) fail_if: Vec<Vec<Alarm>>,
    /// Run this command by sh(1) on each event, such as a hang, its end, or a death: curl -d "$PITOT_EVENT_SENTENCE" https://... The
    /// variables PITOT_EVENT (the kind), _SERVER, _SENTENCE, _EVIDENCE, _AT_S, _UNTIL_S and _FILE describe it. One runs at a time, for a
    /// minute at most.
    #[arg(long, value_name = "COMMAND")]
    pub(super) on_event: Option<String>,
    /// Write events of the soak to this file as they happen, a JSON object per line (docs/events.md); with - to standard output and
    /// nothing else there.
    #[arg(long, value_name = "FILE|-")]
    pub(super) events: Option<PathBuf>,
    /// While the soak runs, answer scrapes of Prometheus at http://ADDRESS/metrics with OpenMetrics text. Port 0 takes a free one; the
    /// address is printed to standard error. Repeat it with --resume. See docs/dashboards.md.
    #[arg(long, value_name = "ADDRESS", value_parser = value::listen)]
    pub(super) metrics: Option<SocketAddr>,
    /// The seed of the random moments of faults, instead of the plan's.
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// Run no control. Without this option a small server of Pitot runs beside the others, at 50 requests a second, and a time or a
    /// rate drifts only if it does so against it.
    #[arg(long)]
    pub(super) no_control: bool,
    /// Length of the shortest intervals that are kept, in whole seconds. [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = whole_seconds)]
    pub(super) interval: Option<u64>,
    #[command(flatten)]
    pub(super) profile: Profile,
    #[command(flatten)]
    pub(super) labels: Labels,
    /// Start servers, loads and helpers as this user, without supplementary groups, while this program remains root's: NAME,
    /// NAME:GROUP or UID:GID. Repeat it with --resume. For root (docs/security.md).
    #[arg(long, value_name = "USER", value_parser = crate::user::parse)]
    pub(super) user: Option<User>,
}

/// Length of the shortest intervals that are kept if nothing is said, seconds.
pub(super) const INTERVAL_S: u64 = 10;

/// A time of at least one second, and of whole ones.
fn whole_seconds(word: &str) -> Result<u64, String> {
    let not_whole = || "loads report once a second: use whole seconds, such as 1s or 10s".into();
    value::seconds(word)?.ok_or_else(not_whole)
}

fn on_hang() -> ValueParser {
    one_of([(word("continue", "It continues"), OnHang::Continue), (word("end", "It ends"), OnHang::End)])
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Status(Status),
}

#[cfg(test)]
mod tests {
    use super::whole_seconds;

    #[test]
    fn intervals_are_whole_seconds() {
        assert_eq!((whole_seconds("1s"), whole_seconds("2m")), (Ok(1), Ok(120)));
        for word in ["500ms", "1500ms", "0s", "ten"] {
            assert!(whole_seconds(word).is_err(), "{word}");
        }
    }
}
