//! `pitot run`.

mod amount;
pub(crate) mod check;
mod faults;
mod guests;
mod part;
pub(crate) mod progress;
mod scattered;
mod self_check;
mod summary;

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pitot_lab::database::check_owner;
use pitot_lab::statistics::MEDIAN_REPETITIONS_MIN;
use pitot_lab::{
    Catalog, Guardian, Measure, OtherRun, Outcome, Plan, Prepared, RunLock, RunState, SUITES, SelfCheck,
    Setting, SkipRecord, VerdictKind, prepare, resume, suite, with_change,
};
use pitot_results::{Failure, stderr};
use pitot_sys::signal::{Signal, SignalFd};
use pitot_sys::user::User;

use crate::bus::BusOptions;
use crate::catalog::catalog;
use crate::comparison::{self, Comparison, Folder};
use crate::failure::nearest;
use crate::fault;
use crate::output::{default_output, print, print_line};
use crate::report;
use crate::screen::Color;
use amount::Amount;
use progress::Display;

/// Run a plan: start each server afresh, load it, monitor it, and record everything in one file.
///
/// The plan is a suite (`pitot list suites`), a TOML file (docs/plans.md, `pitot init`), or what --server and the options
/// after it describe: pitot run --server './app {address}' --server nginx --url 'http://{address}/'. Every finished
/// repetition is saved at once, so Ctrl-C, a crash or a power cut loses only the one in flight. At the end a summary is
/// printed, and the full report is written next to the file as HTML.
///
/// The exit code is 0 if every cell was measured, 1 if a cell failed or the run was stopped before its end, and 2 for a
/// mistake in the plan or on the command line.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// A suite, or the path of a plan.
    #[arg(value_name = "SUITE|PLAN.toml", required_unless_present_any = ["resume", "self_check", "server", "part"],
          conflicts_with = "server")]
    plan: Option<String>,
    /// The run file to create. [default: the plan's name and the time, in this directory]
    #[arg(short, long, value_name = "FILE.pitot", conflicts_with = "resume")]
    output: Option<PathBuf>,
    /// Print the commands of every cell, ready to be pasted, and run nothing.
    #[arg(long)]
    dry_run: bool,
    /// With --dry-run: print how many cells each level has, what is skipped and why, and no commands.
    #[arg(long, requires = "dry_run")]
    summary: bool,
    /// Continue a run that was stopped or killed. THIS RUNS THE COMMANDS IN THE FILE: resume only files that you or people you trust
    /// have made.
    #[arg(long, value_name = "FILE.pitot", conflicts_with_all = ["plan", "repetitions", "within", "until_decided", "seed", "dry_run", "server"])]
    resume: Option<PathBuf>,
    /// With --resume: run the commands of a file that another user owns or everybody can write.
    #[arg(long, requires = "resume")]
    trust_owner: bool,
    /// Another value for a key of the plan; may be given several times. For a factor its levels: --set
    /// load.connections=64,256.
    #[arg(long = "set", id = "set", value_name = "KEY=VALUE", conflicts_with_all = ["resume", "self_check", "server", "part"])]
    changes: Vec<String>,
    #[command(flatten)]
    amount: Amount,
    /// The seed of the order, instead of the plan's.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Check the lab itself: compare a server with itself (suite self-check), and with one that is made slower by 5% of
    /// the CPU time that a reply took there (suite self-check-power, whose file is named after the first). Exits with 1 if
    /// it sees a difference where there is none, or misses one. Takes less than 5 minutes.
    #[arg(long, conflicts_with_all = ["plan", "server"])]
    self_check: bool,
    /// Wait until no other run of this user is under way on this machine; without it there is a warning, also in the report.
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,
    /// Copy this program to the hosts of the plan before it is run there, to the path that each host's `agent` names (docs/agent.md).
    #[arg(long, conflicts_with_all = ["bus", "dry_run"])]
    push: bool,
    #[command(flatten)]
    bus: BusOptions,
    /// With --bus: sign jobs with the key of this file, which agents trust. `pitot bus-key` makes one.
    #[arg(long, value_name = "FILE", requires = "bus")]
    sign: Option<PathBuf>,
    /// For agents: carry out the part of a run that a file describes.
    #[arg(long, value_name = "FILE", hide = true, requires = "output")]
    part: Option<PathBuf>,
    /// With --part: write which of its cells cannot be run here, in place of carrying it out.
    #[arg(long, hide = true, requires = "part")]
    check_part: bool,
    /// Start servers, loads and helpers as this user, without other groups and without a way back, while the lab stays root's: NAME,
    /// NAME:GROUP or UID:GID. Faults are made as root. For root (docs/security.md).
    #[arg(long, value_name = "USER", value_parser = crate::user::parse, conflicts_with_all = ["bus", "part", "dry_run"])]
    user: Option<User>,
    #[command(flatten)]
    comparison: Comparison,
}

impl Run {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.comparison.check_servers()?;
        self.check_bus()?;
        crate::user::check(self.user)?;
        if let Some(path) = &self.resume {
            check_owner(path, self.trust_owner)?;
        }
        if self.dry_run {
            return self.dry();
        }
        // Before anything starts a thread: a guardian is a fork of this process, and each run needs its own.
        let count = if self.self_check && self.resume.is_none() { 2 } else { 1 };
        let mut guardians: Vec<Guardian> =
            (0..count).map(|_| Ok(guardian()?.with_user(self.user))).collect::<Result<_, Failure>>()?;
        let signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate]).map_err(|e| {
            Failure::run(format!("signals cannot be received: {e}"), "raise the limit on descriptors")
        })?;
        let stopped = std::cell::Cell::new(false);
        let stop = || {
            stopped.set(stopped.get() || signals.next().is_some());
            stopped.get()
        };
        let mut check = SelfCheck::default();
        let mut plain_cpu_ns = None;
        if let (Some(part), Some(output)) = (&self.part, &self.output) {
            return match self.check_part {
                true => part::check(part, output),
                false => part::run(part, output, guardians.swap_remove(0), self.wait, &stop),
            };
        }
        if let (Some(_), [guardian]) = (&self.bus.bus, &guardians[..]) {
            self.conclude(&self.scatter(guardian, &stop)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        if let [guardian] = &guardians[..]
            && self.is_in_guests()?
        {
            if self.user.is_some() {
                return Err(Failure::misuse(
                    "--user is for programs on this machine, and this plan runs in guests and sandboxes",
                    "leave it out: a guest has no rights outside",
                ));
            }
            let outcome = self.in_guests(guardian, &stop)?;
            let concluded = self.conclude(&outcome);
            if let Some(line) =
                report::open(&outcome.path).ok().and_then(|run| guests::where_gvisor_is(&run.plan))
            {
                print_line(line);
            }
            return concluded.map(|_| ExitCode::SUCCESS);
        }
        for (guardian, suite) in guardians.into_iter().zip([self_check::SAME, self_check::POWER]) {
            let outcome = self.carry_out(suite, plain_cpu_ns, guardian, &stop)?;
            let run = self.conclude(&outcome)?;
            if self.self_check {
                check.add(&run).map_err(|e| Failure::run(e, "run it with --self-check alone"))?;
                plain_cpu_ns = SelfCheck::plain_cpu_ns(&run);
            }
        }
        if !self.self_check {
            return Ok(ExitCode::SUCCESS);
        }
        print_line(format_args!("\n{check}"));
        Ok(if check.passes() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Refuses what agents on a bus would not be asked for.
    fn check_bus(&self) -> Result<(), Failure> {
        let (what, cure) = match (&self.bus.bus, self.self_check, self.comparison.is_given()) {
            (Some(_), true, _) => ("--self-check checks the lab on this machine", "leave --bus out"),
            (Some(_), _, true) => (
                "--server describes servers of this machine",
                "leave --bus out, or have `pitot init` write a plan of the same options",
            ),
            _ => return Ok(()),
        };
        Err(Failure::misuse(format!("{what}, and with --bus others measure"), cure))
    }

    /// Copies this program to the hosts of a plan, if that is asked for.
    fn push_to_hosts(&self, plan: &Plan, pitot: &str, stop: &dyn Fn() -> bool) -> Result<(), Failure> {
        if self.push { pitot_lab::push(plan, Path::new(pitot), stop) } else { Ok(()) }
    }

    /// Runs the plan that the user named, or else the suite; or continues a run.
    fn carry_out(
        &self,
        suite: &str,
        plain_cpu_ns: Option<f64>,
        guardian: Guardian,
        stop: &dyn Fn() -> bool,
    ) -> Result<Outcome, Failure> {
        let pitot = own_path()?;
        let command_line = std::env::args().collect::<Vec<_>>().join(" ");
        let prepared = match &self.resume {
            Some(_) => None,
            None => Some(self.prepared(suite, plain_cpu_ns)?),
        };
        let name = match (&prepared, &self.resume) {
            (Some(prepared), _) => {
                self.push_to_hosts(&prepared.plan, &pitot, stop)?;
                prepared.plan.name.clone()
            }
            (None, path) => {
                let path = path.as_deref().unwrap_or(Path::new(""));
                // A file that cannot be resumed is no run that others should know of.
                let run = pitot_lab::Run::open_to_resume(path)?;
                self.push_to_hosts(&run.plan, &pitot, stop)?;
                path.display().to_string()
            }
        };
        let lock = self.lock(&name, stop)?;
        let setting = Setting {
            pitot: &pitot,
            version: env!("CARGO_PKG_VERSION"),
            command_line: &command_line,
            trial: true,
            note: &|| lock.note(),
            stop,
        };
        let mut display = Display::new();
        let outcome = match (prepared, &self.resume) {
            (Some(prepared), _) => {
                announce(&prepared);
                let output = self.output_of(&prepared.plan);
                prepared.run(&output, setting, guardian, &mut |news| display.show(news))?
            }
            (None, path) => {
                let path = path.as_deref().unwrap_or(Path::new(""));
                resume(path, &catalog()?, setting, guardian, &mut |news| display.show(news))?
            }
        };
        display.clear();
        Ok(outcome)
    }

    /// Sees to it that other runs on this machine know of this one, and the user of them.
    fn lock(&self, plan: &str, stop: &dyn Fn() -> bool) -> Result<RunLock, Failure> {
        if self.wait {
            return RunLock::wait(plan, stop, &mut say_waiting).ok_or_else(|| {
                Failure::run("stopped while waiting for another run to end", "start it again when you like")
            });
        }
        let lock = RunLock::take(plan);
        if let Some(other) = lock.other() {
            stderr::line(format_args!(
                "warning: another run of Pitot is under way on this machine ({other})\n  both disturb each other; stop \
                 this one and start it with --wait"
            ));
        }
        Ok(lock)
    }

    /// Where a plan's run is written. The second file of a self-check is named after the first.
    fn output_of(&self, plan: &Plan) -> PathBuf {
        match &self.output {
            Some(path) if self.self_check && plan.name == self_check::POWER => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                path.with_file_name(format!("{stem}-power.pitot"))
            }
            Some(path) => path.clone(),
            None => default_output(&plan.name),
        }
    }

    fn prepared(&self, fallback: &str, plain_cpu_ns: Option<f64>) -> Result<Prepared, Failure> {
        let catalog = catalog()?;
        if self.comparison.is_given() {
            return self.compared(&catalog);
        }
        let name = self.plan.as_deref().unwrap_or(fallback);
        let PlanText { name, mut text, folder } = PlanText::changed(name, &self.changes)?;
        if let Some(plain_cpu_ns) = plain_cpu_ns {
            text = self_check::calibrated(&text, plain_cpu_ns);
        }
        let mut plan = Plan::parse(&name, &text, &catalog)?;
        if let Some(folder) = folder {
            plan.resolve_paths(&folder);
        }
        if self.seed.is_some() {
            plan.seed = self.seed;
        }
        self.amount.change(&mut plan)?;
        let catalog = if plan.is_in_guests() { catalog.on_other_kernels() } else { catalog };
        let mut prepared = prepare(plan, text, &catalog)?;
        self.amount.fit(&mut prepared)?;
        check::check(&prepared, Some(&name))?;
        Ok(prepared)
    }

    /// The comparison that the options describe.
    fn compared(&self, catalog: &Catalog) -> Result<Prepared, Failure> {
        let here = std::env::current_dir().map_err(|e| {
            Failure::run(format!("the current directory is not known: {e}"), "change to one that exists")
        })?;
        let folder = here.to_string_lossy();
        let text = self.comparison.plan_text(self.amount.repetitions, catalog, Folder::Elsewhere(&folder))?;
        let mut plan = Plan::parse(comparison::NAME, &text, catalog)?;
        plan.resolve_paths(&here);
        plan.seed = self.seed;
        self.amount.change(&mut plan)?;
        let mut prepared = prepare(plan, text, catalog)?;
        self.amount.fit(&mut prepared)?;
        check::check(&prepared, None)?;
        // Whoever names a server wants it measured.
        let each =
            |skip: &SkipRecord| format!("{} cannot be measured: {}", levels(&skip.factors), skip.reason);
        match &prepared.skips[..] {
            [] => Ok(prepared),
            skips => {
                let all: Vec<String> = skips.iter().map(each).collect();
                Err(Failure::misuse(all.join("\n"), pitot_lab::cure_of_skip(&skips[0].reason)))
            }
        }
    }

    /// The options of a bus, as they were given.
    fn bus_words(&self) -> String {
        let sign = self.sign.as_ref().map(|path| format!(" --sign {}", path.display()));
        self.bus.words() + &sign.unwrap_or_default()
    }

    fn dry(&self) -> Result<ExitCode, Failure> {
        let prepared = self.prepared(self_check::SAME, None)?;
        if self.bus.bus.is_some() {
            prepared.plan.needs_no_guests("an agent on a bus")?;
            prepared.can_be_scattered()?;
        }
        if self.summary {
            let text = summary::summary(&prepared, &extent(&prepared));
            print(&text)?;
            note(&prepared);
            return Ok(ExitCode::SUCCESS);
        }
        let pitot = own_path()?;
        let mut text = String::new();
        for (number, shown) in (1..).zip(prepared.commands(&pitot)) {
            let _ = writeln!(text, "# cell {number}: {}\n{}\n{}\n", shown.label, shown.server, shown.load);
        }
        for (reason, cells) in by_reason(&prepared.skips, shown) {
            let _ = writeln!(text, "# skipped: {cells}: {reason}");
        }
        for finding in &prepared.needs {
            let state = if finding.is_unmet() { "NOT MET" } else { "met" };
            let _ = writeln!(text, "# needs, {state}: {}", finding.sentence());
            let _ = writeln!(text, "#   {} ({})", finding.rule.why, finding.rule.source);
            if finding.is_unmet() {
                let _ = writeln!(text, "#   to mend it: {}", finding.mend);
            }
        }
        text.push_str(&faults::shown(&prepared.plan));
        text.extend(guests::where_gvisor_is(&prepared.plan).map(|line| format!("# {line}\n")));
        let _ = writeln!(text, "# {}", extent(&prepared));
        print(&text)?;
        note(&prepared);
        // The commands are shown all the same: what lacks may be what is to be installed next.
        guests::check_kernels(&prepared)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Prints the report and writes it as HTML.
    fn conclude(&self, outcome: &Outcome) -> Result<pitot_lab::Run, Failure> {
        let run = report::open(&outcome.path)?;
        if run.cells.iter().any(|c| !c.repetitions.is_empty()) {
            let mut shown = run.clone();
            shown.withhold_private_facts();
            report::summary_and_page(&shown, Color::AUTO)?;
        }
        if outcome.state != RunState::Complete {
            return Err(Failure::run(
                "the run was stopped before its end; finished repetitions are kept",
                format!("continue with: pitot run{} --resume {}", self.bus_words(), outcome.path.display()),
            ));
        }
        // Those of earlier parts of a run that was resumed count, and those of its controls do not.
        let mut all = run.cells.iter().flat_map(|c| &c.repetitions);
        if all.all(|r| r.verdict.kind == VerdictKind::Failed) {
            return Err(Failure::run(
                "every repetition failed",
                "the report shows the reasons and what the programs printed last",
            ));
        }
        failed_cells(&run).map_or(Ok(run), Err)
    }
}

/// The failure of a run of which some cells failed: whatever the others show, the question of the plan is not answered.
fn failed_cells(run: &pitot_lab::Run) -> Option<Failure> {
    let failed: Vec<String> =
        run.cells.iter().filter(|c| c.verdict().kind == VerdictKind::Failed).map(|c| c.label()).collect();
    let (count, total) = (failed.len(), run.cells.len());
    (count > 0).then(|| {
        Failure::run(
            format!("{count} of {} failed: {}", counted(total, "cell"), shortened(&failed)),
            "the report shows the reasons and what the programs printed last",
        )
    })
}

/// `1 cell`, `4 cells`.
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The name of a plan that a suite or a file is, its text, and the folder of a file.
pub(crate) fn plan_text(name: &str) -> Result<(String, String, Option<PathBuf>), Failure> {
    let PlanText { name, text, folder } = PlanText::of(name)?;
    Ok((name, text, folder))
}

/// The text of a suite or of a file, with other values for some keys.
pub(crate) fn changed_plan(name: &str, changes: &[String]) -> Result<String, Failure> {
    PlanText::changed(name, changes).map(|plan| plan.text)
}

/// The text of a plan, and where it comes from.
struct PlanText {
    name: String,
    text: String,
    /// That of its file; none of a suite.
    folder: Option<PathBuf>,
}

impl PlanText {
    /// Of a suite, or of a file.
    fn of(name: &str) -> Result<PlanText, Failure> {
        if let Some(suite) = suite(name) {
            return Ok(PlanText { name: format!("{name}.toml"), text: suite.text.to_owned(), folder: None });
        }
        let folder = std::path::absolute(name).ok().and_then(|path| Some(path.parent()?.to_owned()));
        Ok(PlanText { name: name.to_owned(), text: read_plan(name)?, folder })
    }

    /// With other values for some keys.
    fn changed(name: &str, changes: &[String]) -> Result<PlanText, Failure> {
        let plan = PlanText::of(name)?;
        let text = changes.iter().try_fold(plan.text, |text, change| with_change(&text, change))?;
        Ok(PlanText { text, ..plan })
    }
}

/// The plan that a suite or a file is, with its text.
pub(crate) fn plan_of(name: &str, catalog: &Catalog) -> Result<(Plan, String), Failure> {
    let PlanText { name, text, folder } = PlanText::of(name)?;
    let mut plan = Plan::parse(&name, &text, catalog)?;
    if let Some(folder) = folder {
        plan.resolve_paths(&folder);
    }
    Ok((plan, text))
}

fn read_plan(name: &str) -> Result<String, Failure> {
    let path = Path::new(name);
    if !path.exists() && path.extension().is_none() {
        let hint = nearest(name, SUITES.iter().map(|s| s.name));
        let all: Vec<&str> = SUITES.iter().map(|s| s.name).collect();
        return Err(Failure::misuse(
            format!("unknown suite `{name}`{hint}"),
            format!("suites are {}; a plan is a file whose name ends in .toml", all.join(", ")),
        ));
    }
    std::fs::read_to_string(path).map_err(|e| {
        let what = format!("the plan {name} cannot be read: {e}");
        let cure = match e.kind() {
            // Most likely a program.
            io::ErrorKind::InvalidData => {
                format!("to measure a program: pitot run --server '{name} {{address}}'")
            }
            _ => "check the path and its permissions".to_owned(),
        };
        Failure::misuse(what, cure)
    })
}

pub(crate) fn guardian() -> Result<Guardian, Failure> {
    fault::tell_of_left_faults();
    Guardian::start().map_err(|e| {
        Failure::run(
            format!("no private directory or process could be made: {e}"),
            format!(
                "check that {} is a directory with free space (TMPDIR names another), and the limit on processes",
                std::env::temp_dir().display()
            ),
        )
    })
}

/// How this program can be started again.
pub(crate) fn own_path() -> Result<String, Failure> {
    let path = std::env::current_exe()
        .map_err(|e| Failure::run(format!("the program's own file cannot be found: {e}"), "mount /proc"))?;
    Ok(path.to_string_lossy().into_owned())
}

fn levels(factors: &[pitot_lab::FactorLevel]) -> String {
    factors.iter().map(|f| f.level.as_str()).collect::<Vec<_>>().join(", ")
}

fn extent(prepared: &Prepared) -> String {
    let cells = counted(prepared.cells.len(), "cell");
    let each = if prepared.cells.len() == 1 { "" } else { " each" };
    format!("{cells}, {}{each}, about {}", prepared.times(), minutes(prepared.estimate_s()))
}

/// Says for which run another one waits.
fn say_waiting(other: &OtherRun) {
    stderr::line(format_args!("{WAITING} another run of Pitot to end ({other})"));
}

/// What begins a line on what is waited for.
pub(crate) const WAITING: &str = "waiting for";

/// Prints to stderr what will be run.
fn announce(prepared: &Prepared) {
    let plan = &prepared.plan;
    let cpus = &prepared.cpus;
    stderr::line(format_args!(
        "{}\n{}",
        if plan.title.is_empty() { &plan.name } else { &plan.title },
        extent(prepared)
    ));
    stderr::line(format_args!("servers on CPU {}, load on CPU {}", cpus.server_list(), cpus.load_list()));
    for warning in &prepared.warnings {
        stderr::line(format_args!("note: {warning}"));
    }
    note(prepared);
    for (reason, cells) in by_reason(&prepared.skips, shown) {
        stderr::line(format_args!("skipped: {cells}: {reason}"));
    }
}

/// Prints to stderr what guests will run, and what they are.
fn announce_in_guests(prepared: &Prepared, about: &[String]) {
    let plan = &prepared.plan;
    let title = if plan.title.is_empty() { &plan.name } else { &plan.title };
    let cells = counted(prepared.cells.len(), "cell");
    stderr::line(format_args!("{title}\n{cells}, {} each, kernel by kernel", prepared.times()));
    about.iter().for_each(stderr::line);
    note(prepared);
    for (reason, cells) in by_reason(&prepared.skips, shown) {
        stderr::line(format_args!("skipped: {cells}: {reason}"));
    }
}

/// Prints to stderr what others will run.
fn announce_scattered(prepared: &Prepared) {
    let plan = &prepared.plan;
    stderr::line(format_args!(
        "{}\n{} on one host",
        if plan.title.is_empty() { &plan.name } else { &plan.title },
        extent(prepared)
    ));
    note(prepared);
    for (reason, cells) in by_reason(&prepared.skips, shown) {
        stderr::line(format_args!("skipped: {cells}: {reason}"));
    }
}

/// Prints to stderr what the author of the plan has most likely overlooked.
fn note(prepared: &Prepared) {
    let repetitions = prepared.plan.repetitions as usize;
    let in_fresh_runs = prepared.ways.cells.iter().any(|(measure, _)| *measure == Measure::Fresh);
    if in_fresh_runs && repetitions < MEDIAN_REPETITIONS_MIN {
        stderr::line(format_args!(
            "note: {} of each cell, which {} too few for a 95% interval: that takes {MEDIAN_REPETITIONS_MIN}",
            counted(repetitions, "repetition"),
            if repetitions == 1 { "is" } else { "are" },
        ));
    }
    for name in prepared.unused_servers() {
        stderr::line(format_args!(
            "note: the plan defines the server `{name}`, and no level of the factor `server` uses it"
        ));
    }
}

/// The combinations that are skipped for the same reason together, as `shown` shows them.
fn by_reason(skips: &[SkipRecord], shown: impl Fn(&[&SkipRecord]) -> String) -> Vec<(&str, String)> {
    let mut groups: Vec<(&str, Vec<&SkipRecord>)> = Vec::new();
    for skip in skips {
        match groups.iter_mut().find(|(reason, _)| *reason == skip.reason) {
            Some((_, group)) => group.push(skip),
            None => groups.push((&skip.reason, vec![skip])),
        }
    }
    groups.into_iter().map(|(reason, group)| (reason, shown(&group))).collect()
}

/// The first of the combinations, and how many more.
fn shown(skips: &[&SkipRecord]) -> String {
    shortened(&skips.iter().map(|skip| levels(&skip.factors)).collect::<Vec<_>>())
}

/// The labels, or the first of them and how many more.
fn shortened(labels: &[String]) -> String {
    match labels.len() {
        0..=3 => labels.join("; "),
        n => format!("{}; and {} more", labels[..2].join("; "), n - 2),
    }
}

/// `1 min 20 s`.
pub(crate) fn minutes(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_skipped_for_one_reason_is_listed_once() {
        let skip = |level: u32, reason: &str| SkipRecord {
            factors: vec![pitot_lab::FactorLevel::new("replicate", &level.to_string())],
            reason: reason.into(),
        };
        let mut skips: Vec<SkipRecord> = (1..=5).map(|level| skip(level, "enough")).collect();
        skips.push(skip(9, "impossible"));
        let groups = by_reason(&skips, shown);
        assert_eq!(groups, [("enough", "1; 2; and 3 more".to_owned()), ("impossible", "9".to_owned())]);
    }

    #[test]
    fn durations_are_shown_in_words() {
        for (seconds, text) in [(7.4, "7 s"), (80.0, "1 min 20 s"), (3_700.0, "1 h 1 min")] {
            assert_eq!(minutes(seconds), text);
        }
    }
}
