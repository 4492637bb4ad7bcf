//! `pitot diff`: a run that compares programs, described by options.

mod commands;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pitot_meter::Nanos;
use pitot_record::metric;
use pitot_report::{Format, Gate};
use pitot_results::Failure;
use pitot_sys::user::User;

use crate::catalog::catalog;
use crate::comparison::{Comparison, Folder, Measured, with_role};
use crate::formats;
use crate::gates::Gates;
use crate::labels::Labels;
use crate::plan_text::PlanText;
use crate::run::{Profile, Run};
use commands::{Commands, OfCommands};

/// The plan's name, and that of the file.
const NAME: &str = "diff";
/// What the programs are called that have no name of their own.
const ROLES: [&str; 2] = ["base", "head"];
/// What decides about servers, and about commands.
const METRICS: [&str; 2] = ["cpu-per-request", "cpu-time"];
/// Smaller differences do not count.
const TOLERANCE: f64 = 0.01;

/// Compare two programs, or more: is HEAD slower than BASE, by how much, and could it be noise?
///
/// With --url the programs are servers: './app {address}', a target such as nginx, or a server of Pitot (as for `pitot run --server`).
/// Without --url they are commands, which are executed again and again: a compiler, a parser, a test. Their output and exit codes are
/// compared too.
///
/// All of them, and a second copy of BASE as the control, take turns in slices of some milliseconds, so that what else happens on the
/// machine meets all of them alike.
///
/// It stops as soon as every condition of --fail-if is decided, or, without a condition, as soon as a difference or its absence is
/// shown; at the latest after --within. The run file has every slice, and `pitot report` shows all of it.
///
/// Exit codes: 0 if every condition passed, or there is none; 1 if one was met, or HEAD failed; 2 for wrong usage; 3 if none was met
/// and one is undecided.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The programs. The first is the baseline. NAME=... names one in the report; without a name they are base, head and so on.
    #[arg(value_name = "PROGRAM", num_args = 2.., required = true)]
    programs: Vec<String>,
    /// Exit with 1 if a program, compared with the first, meets this, or with 3 if that stays undecided; may be repeated:
    /// 'cpu-per-request > +3%' of servers, 'cpu-time > +3%' of commands. `pitot compare --help` describes conditions.
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<String>,
    /// Stop after this time, decided or not.
    #[arg(long, value_name = "TIME", value_parser = pitot_meter::units::duration, default_value = "1m")]
    within: Nanos,
    /// The form of the answer.
    #[arg(long, default_value = "terminal", value_parser = formats::of_comparisons())]
    format: Format,
    /// The metric that decides (`pitot list metrics`). [default: that of the first condition, else cpu-per-request of servers and cpu-time of commands]
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// The tolerance: smaller differences do not count. [default: 1%, or the smallest change of a condition]
    #[arg(long, value_name = "SHARE")]
    tolerance: Option<String>,
    /// A program that never changes, measured beside the others: runs of different machines and months are compared by the ratio to it
    /// (`pitot compare`). It meets no condition.
    #[arg(long, value_name = "PROGRAM")]
    reference: Option<String>,
    #[command(flatten)]
    profile: Profile,
    #[command(flatten)]
    labels: Labels,
    /// The run file to create. [default: diff and the time, in this directory]
    #[arg(short, long, value_name = "FILE.pitot")]
    output: Option<PathBuf>,
    /// Print the commands of every cell, and run nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print the plan, for `pitot run`, and run nothing.
    #[arg(long, conflicts_with = "dry_run")]
    plan: bool,
    /// Wait until no other run of this user is in progress on this machine.
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,
    /// Start the programs as this user (see `pitot run --help`).
    #[arg(long, value_name = "USER", value_parser = crate::user::parse, conflicts_with = "dry_run")]
    user: Option<User>,
    /// Write events of the run to this file as they happen (docs/events.md).
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    events: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Servers (with --url)")]
    measured: Measured,
    #[command(flatten, next_help_heading = "Commands (without --url)")]
    commands: Commands,
}

impl Diff {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let gates = Gates { fail_if: self.fail_if.clone(), format: Some(self.format) };
        let is_of_commands = self.measured.url.is_none();
        let metric = self.metric(&gates, is_of_commands)?;
        let tolerance = self.tolerance(&gates)?;
        let here = std::env::current_dir().map_err(|e| {
            Failure::run(format!("the current directory is not known: {e}"), "change to one that exists")
        })?;
        let text = match is_of_commands {
            true => self.of_commands(&metric, &tolerance, &here.to_string_lossy())?,
            false => self.of_servers(&metric, tolerance, &here.to_string_lossy())?,
        };
        if self.plan {
            crate::output::print(&text)?;
            return Ok(ExitCode::SUCCESS);
        }
        let run = Run {
            described: Some(PlanText::described(NAME, text, here)),
            output: self.output,
            dry_run: self.dry_run,
            wait: self.wait,
            user: self.user,
            events: self.events,
            gates,
            profile: self.profile,
            labels: self.labels,
            ..Run::decided_within(self.within)
        };
        run.run()
    }

    /// The metric that decides.
    ///
    /// # Errors
    /// If it, or that of a condition, is one that these programs do not have.
    fn metric(&self, gates: &Gates, is_of_commands: bool) -> Result<String, Failure> {
        let usual = METRICS[usize::from(is_of_commands)];
        let named = self.metric.as_deref().map(|name| {
            metric::find(name).ok_or_else(|| {
                Failure::misuse(format!("{name:?} is not a metric"), "use one of `pitot list metrics`")
            })
        });
        let named = named.transpose()?;
        let of_gates = gates.parsed()?;
        let asked = || named.into_iter().chain(of_gates.iter().filter_map(Gate::metric));
        if let Some(other) = asked().find(|metric| metric.is_of_commands() != is_of_commands) {
            let (whose, fix) = match is_of_commands {
                true => ("servers", format!("use {usual} or wall-time, or add --url to compare servers")),
                false => ("commands", format!("use {usual}, or omit --url to compare commands")),
            };
            return Err(Failure::misuse(format!("{} is a metric of {whose}", other.name), fix));
        }
        Ok(asked().next().map_or(usual, |metric| metric.name).to_owned())
    }

    /// The tolerance. A condition on a smaller change than the usual one could never be met with that.
    ///
    /// # Errors
    /// A condition that is not one.
    fn tolerance(&self, gates: &Gates) -> Result<String, Failure> {
        let conditions = gates.parsed()?;
        let smallest = conditions.iter().filter_map(Gate::change).fold(TOLERANCE, f64::min);
        Ok(self.tolerance.clone().unwrap_or_else(|| format!("{}%", (smallest * 1e6).round() / 1e4)))
    }

    /// The plan that compares commands.
    fn of_commands(&self, metric: &str, tolerance: &str, here: &str) -> Result<String, Failure> {
        if let Some(option) = self.measured.given().first() {
            return Err(Failure::misuse(
                format!("{option} is for servers, and without --url the programs are commands"),
                format!("omit {option}, or add --url 'http://{{address}}/'"),
            ));
        }
        let of = OfCommands {
            programs: &self.programs,
            roles: &ROLES,
            reference: self.reference.as_deref(),
            metric,
            tolerance,
            here,
        };
        self.commands.plan_text(&of)
    }

    /// The plan that compares servers.
    fn of_servers(&self, metric: &str, tolerance: String, here: &str) -> Result<String, Failure> {
        if let Some(option) = self.commands.given().first() {
            return Err(Failure::misuse(
                format!("{option} is for commands, and with --url the programs are servers"),
                format!("omit {option}, or omit --url"),
            ));
        }
        let catalog = catalog()?;
        let named = |(at, program): (usize, &String)| match ROLES.get(at) {
            Some(role) => with_role(program, role, &catalog),
            None => Ok(program.clone()),
        };
        let comparison = Comparison {
            servers: self.programs.iter().enumerate().map(named).collect::<Result<_, Failure>>()?,
            measured: self.measured.clone(),
            reference: self.reference.clone(),
            metric: Some(metric.to_owned()),
            tolerance: Some(tolerance),
            ..Comparison::default()
        };
        comparison.plan_text(None, &catalog, Folder::Elsewhere(here))
    }
}
