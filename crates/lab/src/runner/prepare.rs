//! Prepares a plan for this machine: its cells, how each is measured, and what cannot be.

use pitot_meter::units::counted;
use pitot_results::Failure;

use pitot_host::check::{self, Judgement, refusal};
use pitot_host::journal::{self, Wanted};
use pitot_host::setting::Change;
use pitot_host::{CpuSplit, Facts, Machine, split_cpus};
use pitot_plan::{
    Catalog, Cell, HostLimits, OWN, Plan, Program, REPLICATE_FACTOR, SERVER_FACTOR, ServerSpec, SkipKind,
    SkipRecord, expand, label, masked_levels,
};

use super::demand::demand;
use super::profiled::recordable;
use super::warming::rule as warm_up_rule;
use super::way::Ways;

/// Maximum number of reasons in the error that nothing can be run.
const SHOWN_MAX: usize = 3;

/// A plan prepared for this machine.
#[derive(Debug)]
pub struct Prepared {
    /// The plan.
    pub plan: Plan,
    /// As its author wrote it.
    pub source: String,
    /// The cells to run.
    pub cells: Vec<Cell>,
    /// How they are measured.
    pub ways: Ways,
    /// The skipped combinations, and why.
    pub skips: Vec<SkipRecord>,
    /// The CPUs of both sides.
    pub cpus: CpuSplit,
    /// Sentences for the reader of the report.
    pub warnings: Vec<String>,
    /// The results of the checks of `needs`.
    pub needs: Vec<Judgement>,
    /// For each generation the order of the levels of the factor `settings`; random if empty.
    pub(super) orders: Vec<Vec<usize>>,
    /// Time limit of the run, seconds: it ends with the last generation or block that fits.
    pub(super) within_s: Option<f64>,
    /// The limit is a share of a longer time, so that a decision counts more.
    pub decides_first: bool,
    /// The limit leaves no time for looks at servers.
    pub(super) has_no_time_to_look: bool,
}

/// Where a prepared plan will run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// On this machine and the hosts that it names.
    Here,
    /// On machines that are not known yet, so that programs, CPUs and settings are not checked.
    Elsewhere,
}

/// Prepares a plan.
///
/// # Errors
/// If nothing can be run, or the CPUs that the plan names do not exist.
pub fn prepare(mut plan: Plan, source: String, catalog: &Catalog, at: Where) -> Result<Prepared, Failure> {
    let is_here = at == Where::Here;
    let host = limits(&plan, is_here);
    let (cells, mut skips) = expand(&plan, catalog, &host);
    let cells = if is_here { those_that_can_be_set(cells, &mut skips) } else { cells };
    if cells.is_empty() {
        let mut first: Vec<&SkipRecord> = Vec::new();
        for skip in &skips {
            if first.iter().all(|other| other.reason != skip.reason) {
                first.push(skip);
            }
        }
        first.truncate(SHOWN_MAX);
        let shown: Vec<String> =
            first.iter().map(|skip| format!("{}: {}", label(&skip.factors), skip.reason)).collect();
        let why = if shown.is_empty() { "it has no cells".to_owned() } else { shown.join("; ") };
        let fix = match first.first() {
            Some(skip) if skip.kind == SkipKind::Page => skip.kind.fix(),
            _ => "use another plan; `pitot list pairs` shows what can be run",
        };
        return Err(Failure::misuse(format!("nothing of the plan can be run here: {why}"), fix));
    }
    check_levels(&plan, &cells)?;
    let cpus = {
        // CPUs of other hosts are not checked here.
        let here =
            |list: &Option<String>, side_is_here: bool| list.clone().filter(|_| is_here && side_is_here);
        let server = here(&plan.server_cpus, plan.server_host.is_none());
        split_cpus(server.as_deref(), here(&plan.load_cpus, plan.load_hosts.is_empty()).as_deref())
    }
    .map_err(|failure| with_line(failure, &plan.name, &source))?;
    let cpus = plan.cpus(cpus);
    let mut warnings = Vec::new();
    // In a guest they always share.
    if is_here && cpus.is_shared() && plan.is_on_one_host() && !plan.is_in_guests() {
        warnings.push(format!(
            "Servers and load generator share CPU {}, which limits the throughput of both together. Compare cells with \
             each other and by CPU per request, not with figures of other machines.",
            cpus.server_list()
        ));
    }
    warnings.extend(settling_targets(&cells));
    if is_here {
        warnings.extend(foreign_servers(&plan));
    }
    let ways = Ways::of(&plan, &cells, &host);
    if ways.sliced() > 0 && plan.generations.is_none() {
        plan.generations = Some(ways.generations());
    }
    if !plan.profile.is_empty() {
        check_profile(&plan, &cells, is_here)?;
        let (possible, left_out) = recordable(&plan.profile)?;
        plan.profile = possible;
        warnings.extend(left_out);
    }
    let needs = match is_here && plan.hosts.is_empty() {
        true => needs(&plan, &cells, catalog),
        // The checks are for this machine.
        false => Vec::new(),
    };
    Ok(Prepared {
        plan,
        source,
        cells,
        ways,
        skips,
        cpus,
        warnings,
        needs,
        orders: Vec::new(),
        within_s: None,
        decides_first: false,
        has_no_time_to_look: false,
    })
}

/// Refuses a profile of loads that cannot be held, and of other machines.
fn check_profile(plan: &Plan, cells: &[Cell], is_here: bool) -> Result<(), Failure> {
    if !plan.hosts.is_empty() || !is_here || cells.iter().any(|cell| plan.kernel_of(&cell.factors).is_some())
    {
        return Err(Failure::misuse(
            "the servers of the plan run elsewhere, and profiles are taken on this machine",
            "omit --profile, or run the plan on this machine and its own kernel",
        ));
    }
    if !plan.faults.is_empty() || cells.iter().all(|cell| cell.program.is_some() || !cell.is_timed()) {
        return Err(Failure::misuse(
            format!(
                "profiles are taken after the measured part, and the plan `{}` leaves nothing to record",
                plan.name
            ),
            "omit --profile; a plan without faults whose load is pitot load has profiles",
        ));
    }
    Ok(())
}

/// Refuses levels that would all be shown as `***`, so that a report could not distinguish them, nor the run be resumed.
fn check_levels(plan: &Plan, cells: &[Cell]) -> Result<(), Failure> {
    let secrets = plan.secrets();
    for (index, cell) in cells.iter().enumerate() {
        let shown = masked_levels(&cell.factors, &secrets);
        if shown != cell.factors
            && cells[..index].iter().any(|other| masked_levels(&other.factors, &secrets) == shown)
        {
            return Err(Failure::misuse(
                format!("these cells differ only in a secret, and secrets are masked: {}", label(&shown)),
                "describe each as a server in [servers], and use its name as the level",
            ));
        }
    }
    Ok(())
}

/// The limits of this machine. Missing programs are only reported if the plan runs here.
pub(super) fn limits(plan: &Plan, is_here: bool) -> HostLimits {
    let descriptors =
        pitot_sys::limits::raise_descriptors().unwrap_or_else(|_| pitot_sys::limits::descriptors());
    HostLimits { descriptors, missing: if is_here { missing(plan) } else { Vec::new() } }
}

/// The cells whose host settings this user can change here; the others are skipped.
fn those_that_can_be_set(cells: Vec<Cell>, skips: &mut Vec<SkipRecord>) -> Vec<Cell> {
    let machine = Machine::here();
    let refusal = |cell: &Cell| {
        let wanted =
            |change: &Change| Wanted { change: change.clone(), by: String::new(), is_required: true };
        journal::check(&machine, &cell.host.iter().map(wanted).collect::<Vec<_>>()).err()
    };
    let mut settable = Vec::new();
    for cell in cells {
        match refusal(&cell) {
            None => settable.push(cell),
            Some(refusal) => skips.push(SkipRecord {
                factors: cell.factors,
                reason: format!("{}; {}", refusal.what, refusal.fix),
                kind: SkipKind::Setting,
            }),
        }
    }
    settable
}

/// Notes on targets that warm up until their rates have settled: a sentence for each rule.
fn settling_targets(cells: &[Cell]) -> Vec<String> {
    let mut rules: Vec<(f64, Vec<&str>)> = Vec::new();
    for target in cells.iter().filter_map(Cell::target) {
        let Some(within_s) = target.settles_within_s else { continue };
        let at = rules.iter().position(|(rule, _)| *rule == within_s).unwrap_or_else(|| {
            rules.push((within_s, Vec::new()));
            rules.len() - 1
        });
        let names = &mut rules[at].1;
        if !names.contains(&target.name.as_str()) {
            names.push(&target.name);
        }
    }
    let sentence = |(within_s, names): &(f64, Vec<&str>)| {
        format!("Servers that warm up ({}): {}.", names.join(", "), warm_up_rule(*within_s))
    };
    rules.iter().map(sentence).collect()
}

/// Notes on servers on systems without an agent.
fn foreign_servers(plan: &Plan) -> Vec<String> {
    let sentence = |server: &ServerSpec| {
        let Program::External(program) = &server.program else { return None };
        let foreign = program.foreign.as_ref()?;
        let cpu = match &foreign.cpu_time[..] {
            [] => "Not measured were its CPU time,".to_owned(),
            command => format!(
                "Its CPU time was read with `{}` before and after the load, including the warm-up. Not measured were",
                command.join(" ")
            ),
        };
        Some(format!(
            "The server `{}` was at {}, on a system without an agent. {cpu} its memory, processes, threads, context switches \
             and interrupts, and other processes there.",
            server.name, foreign.address
        ))
    };
    plan.servers.iter().filter_map(sentence).collect()
}

/// Checks this machine for what the cells of a plan need.
fn needs(plan: &Plan, cells: &[Cell], catalog: &Catalog) -> Vec<Judgement> {
    let Some(subject) = plan.needs else { return Vec::new() };
    let demands = cells.iter().map(|cell| demand(cell, catalog)).collect();
    check::needs(subject, Facts::collect(&Machine::here()), demands)
}

/// Adds the line of the key with which the failure begins, since CPUs are checked after parsing.
fn with_line(failure: Failure, name: &str, source: &str) -> Failure {
    let key = failure.what.strip_prefix('`').and_then(|rest| rest.split('`').next()).map(str::to_owned);
    let is_key = |line: &str| {
        key.as_deref().is_some_and(|key| {
            line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
        })
    };
    match source.lines().position(is_key) {
        Some(index) => Failure { what: format!("line {} of {name}: {}", index + 1, failure.what), ..failure },
        None => failure,
    }
}

impl Prepared {
    /// Servers of the plan that no level of `factors.server` names.
    pub fn unused_servers(&self) -> Vec<&str> {
        let levels = self.plan.factors.iter().filter(|f| f.name == SERVER_FACTOR).flat_map(|f| &f.levels);
        let used: Vec<String> = levels.map(ToString::to_string).collect();
        self.plan.servers.iter().map(|s| s.name.as_str()).filter(|n| !used.iter().any(|u| u == n)).collect()
    }

    /// How often cells are measured, in words: `10 generations of 10 slices`, `6 repetitions`.
    pub fn times(&self) -> String {
        let fresh = counted(self.plan.repetitions.into(), "repetition", "repetitions");
        let slices = || {
            let generations = match self.plan.until_decided_s {
                Some(_) => "generations until decided,".to_owned(),
                None => counted(self.plan.generations.unwrap_or(1).into(), "generation", "generations"),
            };
            format!("{generations} of {}", counted(self.plan.slices.into(), "slice", "slices"))
        };
        match self.ways.sliced() {
            0 => fresh,
            n if n == self.cells.len() => slices(),
            n => format!("{n} with {}, the others with {fresh}", slices()),
        }
    }

    /// Checks that the machine is set up for what the plan needs.
    ///
    /// # Errors
    /// What is not, and how to fix it.
    pub fn check_needs(&self) -> Result<(), Failure> {
        refusal(&self.needs).map_or(Ok(()), Err)
    }

    /// Skips cells, by index in ascending order, each with a reason.
    ///
    /// # Errors
    /// If none is left.
    pub fn leave_out(&mut self, cells: &[(usize, String)]) -> Result<(), Failure> {
        debug_assert!(
            self.ways.controls.is_empty(),
            "cells that are measured elsewhere have no controls here"
        );
        for (cell, reason) in cells.iter().rev() {
            self.ways.cells.remove(*cell);
            let factors = self.cells.remove(*cell).factors;
            self.skips.push(SkipRecord { factors, reason: reason.clone(), kind: SkipKind::Other });
        }
        match (&self.cells[..], self.skips.last()) {
            ([], Some(skip)) => Err(Failure::misuse(
                format!("nothing of the plan can be run: {}", skip.reason),
                "use another plan, or other kernels",
            )),
            _ => Ok(()),
        }
    }

    /// The replicate of each cell.
    pub(super) fn experiments(&self) -> Vec<Option<&str>> {
        let replicate = |cell: &'_ Cell| cell.factors.iter().position(|f| f.name == REPLICATE_FACTOR);
        self.cells.iter().map(|cell| replicate(cell).map(|at| cell.factors[at].level.as_str())).collect()
    }
}

/// Programs of the plan that are not in `PATH`.
fn missing(plan: &Plan) -> Vec<String> {
    if plan.server_host.is_some() {
        return Vec::new();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| std::env::split_paths(&folders).any(|folder| folder.join(name).is_file());
    let commands = plan.servers.iter().filter_map(|s| match &s.program {
        Program::External(program) => program.command.first(),
        Program::Pitot(_) => None,
    });
    let others = commands.filter(|name| *name != OWN && !name.contains(['/', '{']));
    others.filter(|name| !is_there(name)).cloned().collect()
}
