//! `pitot run`.

mod amount;
pub(crate) mod announce;
pub(crate) mod asked;
mod carry_out;
pub(crate) mod check;
pub(crate) mod experiments;
mod faults;
pub(crate) mod options;
mod part;
mod profile;
mod self_check;
mod summary;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use pitot_lab::{Outcome, Place, Where};
use pitot_meter::units::counted;
use pitot_plan::{Catalog, Plan, shortened, skips_by_reason};
use pitot_record::database::check_owner;
use pitot_record::{CellRecord, Run as RunFile, RunState};
use pitot_results::Failure;
use pitot_results::VerdictKind;
use pitot_scrape::Publisher;
use pitot_study::SelfCheck;

use crate::catalog::catalog;
use crate::comparison::{self, Folder};
use crate::events::Events;
use crate::gates::Gates;
use crate::metrics::{self, RunMetrics};
use crate::output::{print, print_line};
use crate::plan_text::PlanText;
use crate::progress::Display;
use crate::report;
use crate::runs::{How, Runs, own_path};
use crate::screen::Color;
use crate::watched::{Metrics, Watched};
use announce::{announce, extent, note};
use asked::{Asked, Ready};
pub(crate) use options::Run;
pub(crate) use profile::Profile;

impl Run {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.comparison.check_servers()?;
        self.gates.parsed()?;
        self.check_bus()?;
        crate::user::check(self.user)?;
        if let Some(path) = &self.resume {
            check_owner(path, self.trust_owner)?;
        }
        if self.is_experiments() {
            return self.experiments(&mut Runs::new(experiments::SUITES.len(), self.user)?);
        }
        if self.dry_run {
            return self.dry();
        }
        let suites: &[&str] = match self.self_check && self.resume.is_none() {
            true => &[self_check::SAME, self_check::POWER],
            false => &[self_check::SAME],
        };
        let mut runs = Runs::new(suites.len(), self.user)?;
        if let (Some(part), Some(output)) = (&self.part, &self.output) {
            return match self.check_part {
                true => part::check(part, output),
                false => part::run(part, output, &mut runs, self.wait),
            };
        }
        let mut publisher = None;
        let mut check = SelfCheck::default();
        let mut plain_cpu_ns = None;
        let mut exit_code = ExitCode::SUCCESS;
        for suite in suites {
            let (run, code) = self.one(suite, plain_cpu_ns, &mut runs, &mut publisher)?;
            exit_code = code;
            if self.self_check {
                check.add(&run).map_err(|e| Failure::run(e, "run it with --self-check alone"))?;
                plain_cpu_ns = SelfCheck::plain_cpu_ns(&run);
            }
        }
        if !self.self_check {
            return Ok(exit_code);
        }
        print_line(format_args!("\n{check}"));
        Ok(if check.passes() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Refuses what agents on a bus would not be asked for.
    fn check_bus(&self) -> Result<(), Failure> {
        let (what, fix) = match (&self.bus.bus, self.self_check, self.comparison.is_given()) {
            (Some(_), true, _) => ("--self-check checks the lab on this machine", "omit --bus"),
            (Some(_), _, true) => (
                "--server describes servers of this machine",
                "omit --bus, or have `pitot init` write a plan of the same options",
            ),
            _ => return Ok(()),
        };
        Err(Failure::misuse(format!("{what}, and with --bus others measure"), fix))
    }

    /// Makes one run of what is asked for, or else of a suite, and reports it.
    fn one(
        &self,
        suite: &str,
        plain_cpu_ns: Option<f64>,
        runs: &mut Runs,
        publisher: &mut Option<Publisher>,
    ) -> Result<(RunFile, ExitCode), Failure> {
        let catalog = catalog()?;
        let asked = self.asked(suite, plain_cpu_ns, &catalog)?;
        let plan = asked.plan();
        let is_in_guests = plan.is_in_guests();
        let about_gvisor = if is_in_guests { Run::where_gvisor_is(plan) } else { None };
        if is_in_guests && self.user.is_some() {
            return Err(Failure::misuse(
                "--user is for programs on this machine, and this plan runs in guests and sandboxes",
                "omit it: a guest has no rights outside",
            ));
        }
        let events = self.events.as_deref().map(|path| Events::create(path, plan.secrets())).transpose()?;
        // Guardians have been forked: from here on there may be threads.
        if publisher.is_none() {
            *publisher = metrics::listen(self.metrics)?;
        }
        let metrics = publisher
            .as_ref()
            .map(|publisher| Metrics::Run(Box::new(RunMetrics::new(publisher.clone(), plan))));
        let mut watched = Watched { display: Display::new(), events, metrics };
        let outcome = match (&self.bus.bus, is_in_guests) {
            (Some(_), _) => self.on_bus(asked, &catalog, runs, &mut watched)?,
            (None, true) => self.in_guests(asked, &catalog.on_other_kernels(), runs, &mut watched)?,
            (None, false) => self.here(asked, &catalog, runs, &mut watched)?,
        };
        let is_quiet = watched.events.as_ref().is_some_and(|events| events.are_on_stdout);
        let concluded = self.conclude(&outcome, is_quiet || self.is_one_of_several);
        if let Some(line) = about_gvisor.filter(|_| !is_quiet) {
            print_line(line);
        }
        watched.events.map_or(Ok(()), Events::finish)?;
        concluded
    }

    /// What the user asks for, or else a suite.
    fn asked(&self, suite: &str, plain_cpu_ns: Option<f64>, catalog: &Catalog) -> Result<Asked, Failure> {
        if let Some(path) = &self.resume {
            return Ok(Asked::Begun(Box::new(RunFile::open_to_resume(path)?)));
        }
        let is_described = self.described.is_some() || self.comparison.is_given();
        let mut source = match &self.described {
            Some(described) => described.clone(),
            None if is_described => self.compared(catalog)?,
            None => PlanText::changed(self.plan.as_deref().unwrap_or(suite), &self.changes)?,
        };
        if let Some(plain_cpu_ns) = plain_cpu_ns {
            source.text = self_check::calibrated(&source.text, plain_cpu_ns);
        }
        let mut plan = source.parse(catalog)?;
        plan.seed = self.seed.or(plan.seed);
        self.gates.check(&plan)?;
        self.amount.change(&mut plan, self.is_watched())?;
        self.profile.change(&mut plan);
        self.labels.change(&mut plan);
        Ok(Asked::New { plan: Box::new(plan), source, is_described })
    }

    /// Whether it goes on until its conditions are decided. Agents on a bus carry out a number of repetitions that is fixed.
    pub(crate) fn is_watched(&self) -> bool {
        !self.gates.fail_if.is_empty() && self.bus.bus.is_none()
    }

    /// The plan that the options of a comparison describe.
    fn compared(&self, catalog: &Catalog) -> Result<PlanText, Failure> {
        let here = std::env::current_dir().map_err(|e| {
            Failure::run(format!("the current directory is not known: {e}"), "change to one that exists")
        })?;
        let folder = here.to_string_lossy();
        let text = self.comparison.plan_text(self.amount.repetitions, catalog, Folder::Elsewhere(&folder))?;
        Ok(PlanText::described(comparison::NAME, text, here))
    }

    /// Runs it on this machine, or continues it.
    fn here(
        &self,
        asked: Asked,
        catalog: &Catalog,
        runs: &mut Runs,
        watched: &mut Watched,
    ) -> Result<Outcome, Failure> {
        if self.push {
            pitot_lab::push(asked.plan(), Path::new(&own_path()?), &|| runs.is_stopped())?;
        }
        let ready = self.ready(asked, catalog, Where::Here)?;
        let name = match &ready {
            Ready::New(prepared) => prepared.plan.name.clone(),
            Ready::Begun(run) => run.path.display().to_string(),
        };
        let lock = runs.lock(&name, self.wait)?;
        if let Ready::New(prepared) = &ready {
            let cpus = &prepared.cpus;
            let (servers, loads) = (cpus.server_list(), cpus.load_list());
            let placed = match prepared.cells.iter().any(|cell| cell.executes) {
                true if cpus.is_shared() => format!("commands on CPU {servers}"),
                true => format!("commands on CPU {servers},{loads}"),
                false => format!("servers on CPU {servers}, load on CPU {loads}"),
            };
            let warnings = prepared.warnings.iter().map(|warning| format!("note: {warning}"));
            announce(prepared, &extent(prepared), std::iter::once(placed).chain(warnings));
        }
        let guardian = runs.guardian()?;
        let gates = self.gates.parsed()?;
        let decided = |plan: &Plan, cells: &[CellRecord]| {
            (!gates.is_empty()).then(|| Gates::are_decided(&gates, plan, cells))
        };
        let how = How { decided: &decided, ..How::to_its_end(true, Some(&lock)) };
        self.carry_out(ready, catalog, Place::Here(guardian), how, runs, watched)
    }

    /// The options of a bus, as they were given.
    fn bus_words(&self) -> String {
        let sign = self.sign.as_ref().map(|path| format!(" --sign {}", path.display()));
        self.bus.words() + &sign.unwrap_or_default()
    }

    fn dry(&self) -> Result<ExitCode, Failure> {
        let catalog = catalog()?;
        let asked = self.asked(self_check::SAME, None, &catalog)?;
        let catalog = if asked.plan().is_in_guests() { catalog.on_other_kernels() } else { catalog };
        let Ready::New(prepared) = self.ready(asked, &catalog, Where::Here)? else {
            return Err(Failure::misuse("--dry-run shows a plan", "name one instead of --resume"));
        };
        if self.bus.bus.is_some() {
            prepared.plan.needs_no_guests("an agent on a bus")?;
            prepared.can_be_distributed()?;
        }
        if self.summary {
            let text = summary::summary(&prepared, &extent(&prepared));
            print(&text)?;
            note(&prepared);
            Run::check_kernels(&prepared)?;
            return Ok(ExitCode::SUCCESS);
        }
        let pitot = own_path()?;
        let mut text = String::new();
        for (number, shown) in (1..).zip(prepared.commands(&pitot)) {
            let _ = writeln!(text, "# cell {number}: {}\n{}\n{}\n", shown.label, shown.server, shown.load);
        }
        for (reason, cells) in skips_by_reason(&prepared.skips) {
            let _ = writeln!(text, "# skipped: {}: {reason}", shortened(&cells));
        }
        for need in &prepared.needs {
            let state = if need.is_wrong() { "NOT MET" } else { "met" };
            let _ = writeln!(text, "# needs, {state}: {}", need.sentence());
            let _ = writeln!(text, "#   {} ({})", need.rule.why, need.rule.source);
            if let Some(fix) = need.verdict.fix() {
                let _ = writeln!(text, "#   to fix it: {}", fix.by_hand);
            }
        }
        text.push_str(&faults::shown(&prepared.plan));
        text.extend(Run::where_gvisor_is(&prepared.plan).map(|line| format!("# {line}\n")));
        let _ = writeln!(text, "# {}", extent(&prepared));
        print(&text)?;
        note(&prepared);
        // The commands are shown all the same: what lacks may be what is to be installed next.
        Run::check_kernels(&prepared)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Prints the report, or the comparison with the baseline, if it is not to be quiet, and writes the report as HTML.
    fn conclude(&self, outcome: &Outcome, is_quiet: bool) -> Result<(RunFile, ExitCode), Failure> {
        let run = report::open(&outcome.path)?;
        let mut exit_code = ExitCode::SUCCESS;
        if run.cells.iter().any(|c| !c.repetitions.is_empty()) {
            let mut shown = run.clone();
            shown.withhold_private_facts();
            match (is_quiet, self.gates.are_given()) {
                (true, false) => report::page(&shown)?,
                (false, false) => report::summary_and_page(&shown, Color::AUTO)?,
                (_, true) => {
                    report::page(&shown)?;
                    exit_code = self.gates.conclude(&shown, is_quiet)?;
                }
            }
        }
        if outcome.state != RunState::Complete {
            return Err(Failure::run(
                "the run was stopped early; finished repetitions are kept",
                format!("continue with: pitot run{} --resume {}", self.bus_words(), outcome.path.display()),
            ));
        }
        // Those of earlier parts of a run that was resumed count, and those of its controls do not.
        let mut all = run.cells.iter().flat_map(|c| &c.repetitions);
        if all.all(|r| r.verdict.kind == VerdictKind::Failed) {
            return Err(Failure::run(
                "every repetition failed",
                "see the reasons and the last output of the programs in the report",
            ));
        }
        match failed_cells(&run) {
            // A cell that failed meets the conditions, or leaves them undecided.
            Some(failure) if exit_code == ExitCode::SUCCESS => Err(failure),
            _ => Ok((run, exit_code)),
        }
    }
}

/// The failure of a run of which some cells failed: whatever the others show, the question of the plan is not answered.
fn failed_cells(run: &pitot_record::Run) -> Option<Failure> {
    let failed: Vec<String> =
        run.cells.iter().filter(|c| c.verdict().kind == VerdictKind::Failed).map(|c| c.label()).collect();
    let (count, total) = (failed.len(), run.cells.len());
    (count > 0).then(|| {
        Failure::run(
            format!("{count} of {} failed: {}", counted(total as u64, "cell", "cells"), shortened(&failed)),
            "see the reasons and the last output of the programs in the report",
        )
    })
}
