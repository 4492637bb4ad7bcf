//! The options of `pitot run`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use pitot_meter::Nanos;
use pitot_sys::user::User;

use super::amount::Amount;
use super::profile::Profile;
use crate::bus::BusOptions;
use crate::comparison::Comparison;
use crate::gates::Gates;
use crate::labels::Labels;
use crate::plan_text::PlanText;

/// Run a plan: start each server, load it, monitor it, and record everything in one file.
///
/// The plan is a suite (`pitot list suites`), a TOML file (docs/plans.md, `pitot init`), or what --server and the options
/// after it describe: pitot run --server './app {address}' --server nginx --url 'http://{address}/'. Every finished
/// repetition is saved at once, so that Ctrl-C, a crash or a power cut loses only the current one. At the end a summary is
/// printed, and the full report is written next to the file as HTML.
///
/// The exit code is 0 if every cell was measured, 1 if a cell failed or the run was stopped before its end, and 2 for a
/// mistake in the plan or on the command line. With --fail-if it is 1 if a condition was met, and 3 if none was met and one is undecided.
#[derive(Debug, Default, Args)]
pub(crate) struct Run {
    /// A suite, the path of a plan, or `experiments`: all suites that repeat published experiments, in one report.
    #[arg(value_name = "SUITE|PLAN.toml", required_unless_present_any = ["resume", "self_check", "server", "part"],
          conflicts_with = "server")]
    pub(crate) plan: Option<String>,
    /// The run file to create. [default: the plan's name and the time, in this directory]
    #[arg(short, long, value_name = "FILE.pitot", conflicts_with = "resume")]
    pub(crate) output: Option<PathBuf>,
    /// Print the commands of every cell, and run nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// With --dry-run: print how many cells each level has, what is skipped and why, and no commands.
    #[arg(long, requires = "dry_run")]
    pub(crate) summary: bool,
    /// Continue a run that was stopped or killed. THIS RUNS THE COMMANDS IN THE FILE: resume only files of your own or of
    /// people you trust.
    #[arg(long, value_name = "FILE.pitot", conflicts_with_all = ["plan", "repetitions", "within", "until_decided", "seed", "dry_run", "server"])]
    pub(crate) resume: Option<PathBuf>,
    /// With --resume: run the commands of a file that another user owns or everybody can write.
    #[arg(long, requires = "resume")]
    pub(crate) trust_owner: bool,
    /// Another value for a key of the plan; may be repeated. For a factor, its levels: --set
    /// load.connections=64,256.
    #[arg(long = "set", id = "set", value_name = "KEY=VALUE", conflicts_with_all = ["resume", "self_check", "server", "part"])]
    pub(crate) changes: Vec<String>,
    #[command(flatten)]
    pub(crate) amount: Amount,
    #[command(flatten)]
    pub(crate) profile: Profile,
    #[command(flatten)]
    pub(crate) labels: Labels,
    /// The seed of the order, instead of the plan's.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Check the lab itself: compare a server with itself (suite self-check), and with one that is made slower by 5% of
    /// the CPU time that a reply took there (suite self-check-power, whose file is named after the first). Exits with 1 if
    /// it sees a difference where there is none, or misses one. Takes less than 5 minutes.
    #[arg(long, conflicts_with_all = ["plan", "server"])]
    pub(crate) self_check: bool,
    /// Wait until no other run of this user is in progress on this machine, which else gives a warning, also in the report.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) wait: bool,
    /// Copy this program to the hosts of the plan first, to the path of each host's `agent` (docs/agent.md).
    #[arg(long, conflicts_with_all = ["bus", "dry_run"])]
    pub(crate) push: bool,
    #[command(flatten)]
    pub(crate) bus: BusOptions,
    /// With --bus: sign jobs with the key in this file, which agents must trust; `pitot bus-key` makes one.
    #[arg(long, value_name = "FILE", requires = "bus")]
    pub(crate) sign: Option<PathBuf>,
    /// For agents: carry out the part of a run that a file describes.
    #[arg(long, value_name = "FILE", hide = true, requires = "output")]
    pub(crate) part: Option<PathBuf>,
    /// With --part: write which of its cells cannot be run here, in place of carrying it out.
    #[arg(long, hide = true, requires = "part")]
    pub(crate) check_part: bool,
    /// Start servers, loads and helpers as this user, without supplementary groups, while the lab and faults remain root's: NAME,
    /// NAME:GROUP or UID:GID. For root (docs/security.md).
    #[arg(long, value_name = "USER", value_parser = crate::user::parse, conflicts_with_all = ["bus", "part", "dry_run"])]
    pub(crate) user: Option<User>,
    /// Write events of the run to this file as they happen, a JSON object per line (docs/events.md); with - to standard output and
    /// nothing else there.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dry_run", "part"])]
    pub(crate) events: Option<PathBuf>,
    /// While the run is in progress, answer scrapes of Prometheus at http://ADDRESS/metrics with OpenMetrics text. Port 0 takes a free
    /// one; the address is printed to standard error. See docs/dashboards.md.
    #[arg(long, value_name = "ADDRESS", value_parser = crate::value::listen, conflicts_with_all = ["dry_run", "part"])]
    pub(crate) metrics: Option<SocketAddr>,
    /// It is one of several whose results are shown together.
    #[arg(skip)]
    pub(crate) is_one_of_several: bool,
    /// The plan that another command describes.
    #[arg(skip)]
    pub(crate) described: Option<PlanText>,
    #[command(flatten)]
    pub(crate) gates: Gates,
    #[command(flatten)]
    pub(crate) comparison: Comparison,
}

impl Run {
    /// That ends when it is decided, and after this time in any case.
    pub(crate) fn decided_within(time: Nanos) -> Run {
        Run { amount: Amount::decided_within(time), ..Run::default() }
    }
}
