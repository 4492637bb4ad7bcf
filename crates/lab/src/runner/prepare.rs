//! Prepares a plan for this machine: its cells, commands and estimated time.

use std::net::{Ipv4Addr, SocketAddr};

use pitot_meter::units::counted;
use pitot_results::Failure;

use pitot_host::check::{self, Judgement, refusal};
use pitot_host::journal::{self, Wanted};
use pitot_host::setting::{Change, file_system_of};
use pitot_host::{CpuSplit, Facts, Machine, split_cpus};
use pitot_plan::{
    Catalog, Cell, CellServer, GVISOR_KERNEL, HOST_KERNEL, Host, HostLimits, KernelUse, Measure, OWN,
    Placement, Plan, Program, REPLICATE_FACTOR, RESOLVER, SERVER_FACTOR, ServerSpec, SkipKind, SkipRecord,
    expand, label, masked_levels,
};
use pitot_stats::MEDIAN_REPETITIONS_MIN;

use super::demand::demand;
use super::profiled::recordable;
use super::settling::rule as settling_rule;
use super::way::{Ways, slow_start_s};

/// Length of the load in the smoke test, seconds.
pub(super) const MOMENT_S: f64 = 0.2;

/// Seconds of a repetition besides warm-up and measurement: two processes start, connect and stop.
pub(super) const OVERHEAD_S: f64 = 0.3;
/// The same without a server.
const ALONE_OVERHEAD_S: f64 = 0.15;
/// Estimated seconds of a load without a duration.
const UNTIMED_GUESS_S: f64 = 0.5;

/// A guest with KVM starts within so many seconds; otherwise the processor is emulated.
pub const GUEST_START_MAX_S: f64 = 15.0;
/// CPU time of a guest's start on an emulated processor, seconds, as measured in docs/kernels.md.
const EMULATED_START_S: f64 = 40.0;

/// Maximum share of a run for all looks at servers in the smoke test.
pub(super) const LOOKS_SHARE: f64 = 0.2;
/// The estimated time of a decision may exceed the limit by this share.
const OVERRUN_MAX: f64 = 0.05;

/// Maximum number of reasons in the error that nothing can be run.
const SHOWN_MAX: usize = 3;
/// The port in commands that are shown.
const SHOWN_PORT: u16 = 18080;

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

/// The commands of a cell for a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownCell {
    /// The levels.
    pub label: String,
    /// Starts the server; several lines if it needs files.
    pub server: String,
    /// Runs the load, once the server is ready.
    pub load: String,
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
        format!("Servers that warm up ({}): {}.", names.join(", "), settling_rule(*within_s))
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

    /// Estimated time of the whole plan, seconds.
    pub fn estimate_s(&self) -> f64 {
        let fresh = self.cells.iter().zip(&self.ways.cells).filter(|(_, (m, _))| *m == Measure::Fresh);
        let fresh_s = fresh.map(|(cell, _)| nominal_s(&self.plan, cell)).sum::<f64>();
        fresh_s * f64::from(self.plan.repetitions) + self.sliced_s()
    }

    /// Estimated time of the cells in slices, seconds.
    fn sliced_s(&self) -> f64 {
        match (self.ways.sliced(), self.plan.until_decided_s) {
            (0, _) => 0.0,
            (_, Some(at_most_s)) => at_most_s,
            _ => self.ways.generation_s(&self.plan) * f64::from(self.plan.generations.unwrap_or(1)),
        }
    }

    /// Estimated time of one block of fresh runs, seconds.
    fn block_s(&self) -> f64 {
        let fresh = self.cells.iter().zip(&self.ways.cells).filter(|(_, (m, _))| *m == Measure::Fresh);
        fresh.map(|(cell, _)| nominal_s(&self.plan, cell)).sum()
    }

    /// Estimated time of the cells in fresh runs, but at most their share of `within_s`.
    pub(super) fn fresh_s(&self, within_s: f64) -> f64 {
        let share = (self.cells.len() - self.ways.sliced()) as f64 / self.cells.len().max(1) as f64;
        (self.block_s() * f64::from(self.plan.repetitions)).min(within_s * share)
    }

    /// The shortest time in which the plan can come to a decision, seconds.
    pub fn least_s(&self) -> f64 {
        let fresh_s = self.block_s() * f64::from(self.ways.repetitions_least());
        let sliced_s = if self.ways.sliced() > 0 { self.ways.least_s(&self.plan) } else { 0.0 };
        smoke_test_s(&self.cells) + fresh_s + sliced_s
    }

    /// Fits the plan to a time, seconds, at which the run ends even if the machine is slower than estimated.
    ///
    /// # Errors
    /// As [`Prepared::fit`].
    pub fn keep_within(&mut self, within_s: f64) -> Result<(), Failure> {
        self.fit(within_s)?;
        self.within_s = Some(within_s);
        Ok(())
    }

    /// Fits the number of generations and slices, and of repetitions, to a time, seconds.
    ///
    /// # Errors
    /// If the time is too short for a decision, or cannot be estimated.
    pub fn fit(&mut self, within_s: f64) -> Result<(), Failure> {
        if self.plan.is_in_guests() {
            return Err(self.unknown_on_kernels());
        }
        let (smoke_test_s, repetitions) = (smoke_test_s(&self.cells), self.plan.repetitions);
        self.has_no_time_to_look = self.fit_beside(within_s, smoke_test_s + self.looks_s(within_s)).is_err();
        if self.has_no_time_to_look {
            self.plan.repetitions = repetitions;
            self.fit_beside(within_s, smoke_test_s)?;
        }
        Ok(())
    }

    /// The error that the time of a plan that varies the kernel cannot be limited, with what is known of it.
    fn unknown_on_kernels(&self) -> Failure {
        let mut kernels: Vec<KernelUse> = Vec::new();
        for kernel in self.cells.iter().filter_map(|cell| self.plan.kernel_of(&cell.factors)) {
            if kernels.iter().all(|known| known.name != kernel.name) {
                kernels.push(kernel);
            }
        }
        let least_s = (self.block_s() * MEDIAN_REPETITIONS_MIN as f64).ceil();
        let cells = counted(self.cells.len() as u64, "cell", "cells");
        // One start more, which asks the kernel what it can run.
        let starts = |kernels: usize| kernels * (MEDIAN_REPETITIONS_MIN + 1);
        let besides = match kernels.iter().filter(|kernel| kernel.is_guest()).count() {
            0 => format!("plus {} starts of the kernels", starts(kernels.len())),
            guests => {
                // One more tests KVM.
                let guests = starts(guests) + 1;
                let most_s = least_s + guests as f64 * GUEST_START_MAX_S;
                format!(
                    "plus {guests} starts of guests: {most_s:.0} s at most with KVM, where a guest starts within \
                     {GUEST_START_MAX_S:.0} s. On an emulated processor a start takes about {EMULATED_START_S:.0} s of CPU time, \
                     and cells take many times as long"
                )
            }
        };
        Failure::misuse(
            format!(
                "the time of a plan that varies the kernel cannot be estimated: {MEDIAN_REPETITIONS_MIN} repetitions of {cells} \
                 take {least_s:.0} s, {besides}"
            ),
            format!(
                "use --repetitions {MEDIAN_REPETITIONS_MIN}, the fewest with an interval, instead of --within"
            ),
        )
    }

    /// Fits the plan to a time of which the smoke test takes `smoke_test_s`.
    fn fit_beside(&mut self, within_s: f64, smoke_test_s: f64) -> Result<(), Failure> {
        let (block_s, least) = (self.block_s(), self.ways.repetitions_least());
        if self.ways.sliced() > 0 {
            // Half of the time for each if there are both slices and fresh runs.
            let fit = ((within_s - smoke_test_s) / 2.0 / block_s.max(1e-9)) as u32;
            self.plan.repetitions = self.plan.repetitions.min(fit.max(least));
            let fresh_s = block_s * f64::from(self.plan.repetitions);
            return self.ways.fit(&mut self.plan, within_s, smoke_test_s + fresh_s);
        }
        let repetitions = ((within_s - smoke_test_s) / block_s) as u32;
        if repetitions < least {
            let needed = self.least_s().ceil();
            return Err(Failure::misuse(
                format!(
                    "{within_s:.0} s are too short: {least} repetitions of {} in fresh runs take {needed:.0} s",
                    counted(self.cells.len() as u64, "cell", "cells")
                ),
                format!("allow at least {needed:.0} s, or compare fewer cells"),
            ));
        }
        self.plan.repetitions = repetitions;
        Ok(())
    }

    /// Checks the time limit again after the smoke test, which took `smoke_test_s`, with the times until servers were ready.
    ///
    /// # Errors
    /// If it is too short for a decision, with one that is long enough.
    pub(super) fn check_time(&self, ready_s: &[f64], smoke_test_s: f64) -> Result<(), Failure> {
        let Some(within_s) = self.within_s else { return Ok(()) };
        let start_s = |cell: usize| {
            let warm_up_s = self.cells[cell].rises.map_or(0.0, |settling| settling.at_least_s);
            (ready_s[cell] - OVERHEAD_S).max(0.0) + warm_up_s
        };
        let of = |measure: Measure| {
            let cells = 0..self.cells.len();
            cells.filter(move |&cell| self.ways.cells[cell].0 == measure)
        };
        let fresh_s: f64 = of(Measure::Fresh).map(start_s).sum();
        let sliced_s: f64 = of(Measure::Slices).chain(self.ways.controls.iter().copied()).map(start_s).sum();
        let slowest = (0..self.cells.len()).max_by(|a, b| start_s(*a).total_cmp(&start_s(*b)));
        let Some((slowest, slowest_s)) = slowest.map(|cell| (cell, start_s(cell))) else { return Ok(()) };
        let ways = Ways { slow_starts_s: self.ways.slow_starts_s.max(sliced_s), ..self.ways.clone() };
        let blocks_s = (self.block_s() + fresh_s) * f64::from(ways.repetitions_least());
        let sliced_s = if ways.sliced() > 0 { ways.least_s(&self.plan) } else { 0.0 };
        let needed_s = smoke_test_s + blocks_s + sliced_s;
        if slowest_s == 0.0 || needed_s <= within_s * (1.0 + OVERRUN_MAX) {
            return Ok(());
        }
        Err(Failure::misuse(
            format!(
                "{within_s:.0} s are too short: {} takes {:.1} s until it is ready and warm, and each repetition starts it again",
                self.cells[slowest].label(),
                slowest_s + OVERHEAD_S
            ),
            format!(
                "allow at least {:.0} s, or leave that server out",
                (needed_s / (1.0 - LOOKS_SHARE)).ceil()
            ),
        ))
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

    /// The commands of all cells.
    pub fn commands(&self, pitot: &str) -> Vec<ShownCell> {
        let show = |(number, cell): (usize, &Cell)| {
            let [of_server, of_load] = self.programs(pitot, cell);
            let at = self.shown_placement(of_server, number);
            let at_load = Placement { pitot: of_load.to_owned(), ..at.clone() };
            let [server, load] = self.places(cell);
            let placed = |place: Option<String>, line: String| match place {
                Some(place) if !line.is_empty() => format!("# {place}\n{line}"),
                _ => line,
            };
            ShownCell {
                label: cell.label(),
                server: placed(server, cell.server_line(&at)),
                load: placed(load, cell.load_line(&self.plan, &at_load)),
            }
        };
        self.cells.iter().enumerate().map(show).collect()
    }

    /// The path of Pitot for the commands of a cell, server and load; `pitot` on this machine.
    fn programs<'a>(&'a self, pitot: &'a str, cell: &Cell) -> [&'a str; 2] {
        let plan = &self.plan;
        if let Some(kernel) = plan.kernel_of(&cell.factors) {
            // It is in PATH of guests and sandboxes.
            let program = if kernel.kernel == HOST_KERNEL { pitot } else { OWN };
            return [program, program];
        }
        let on = |host: Option<&str>| plan.host(host).map_or(pitot, Host::pitot);
        let server = on(plan.server_host.as_deref());
        let load = match plan.load_hosts.first() {
            _ if cell.server == CellServer::None => server,
            host => on(host.map(String::as_str)),
        };
        [server, load]
    }

    /// Where the commands of a cell run, server and load, if not directly on this machine.
    fn places(&self, cell: &Cell) -> [Option<String>; 2] {
        let plan = &self.plan;
        if let Some(kernel) = plan.kernel_of(&cell.factors) {
            let append =
                if kernel.append.is_empty() { String::new() } else { format!(" with {}", kernel.append) };
            let place = match kernel.kernel.as_str() {
                HOST_KERNEL => None,
                GVISOR_KERNEL => Some("in gVisor's sandbox".to_owned()),
                name => Some(format!("in a guest of {name}{append}")),
            };
            return [place.clone(), place];
        }
        if plan.hosts.is_empty() {
            return [None, None];
        }
        let on = |host: Option<&String>| {
            Some(host.map_or_else(|| "on this machine".to_owned(), |host| format!("on {host}")))
        };
        let load = match &plan.load_hosts[..] {
            // The load itself is measured, on the server's host.
            _ if cell.server == CellServer::None => on(plan.server_host.as_ref()),
            // Each part names its host.
            [_, _, ..] => None,
            hosts => on(hosts.first()),
        };
        [on(plan.server_host.as_ref()), load]
    }

    /// The arguments of each cell's server, if it is one of Pitot, and of its load.
    pub fn arguments(&self) -> Vec<(Option<Vec<String>>, Vec<String>)> {
        let of = |(number, cell): (usize, &Cell)| {
            let at = self.shown_placement("pitot", number);
            let is_ours = matches!(cell.server, CellServer::Pitot { .. });
            (
                is_ours.then(|| cell.server_argv(&at)),
                cell.load_argv(&self.plan, cell.warmup_s(&self.plan), &at),
            )
        };
        self.cells.iter().enumerate().map(of).collect()
    }

    /// The command of each server; Pitot is called `pitot`.
    pub fn server_words(&self) -> Vec<Vec<String>> {
        let cells = self.cells.iter().enumerate();
        cells.map(|(number, cell)| cell.server_argv(&self.shown_placement("pitot", number))).collect()
    }

    /// The replicate of each cell.
    pub(super) fn experiments(&self) -> Vec<Option<&str>> {
        let replicate = |cell: &'_ Cell| cell.factors.iter().position(|f| f.name == REPLICATE_FACTOR);
        self.cells.iter().map(|cell| replicate(cell).map(|at| cell.factors[at].level.as_str())).collect()
    }

    /// Fills the placeholders in a text as in the shown commands of a cell.
    pub fn filled_as_shown(&self, cell: usize, text: &str) -> String {
        self.shown_placement("pitot", cell).fill(text)
    }

    fn shown_placement(&self, pitot: &str, number: usize) -> Placement {
        let file_system = file_system_of(&self.cells[number].host);
        let dir = file_system.unwrap_or_else(std::env::temp_dir);
        let dir = dir.join(format!("pitot-{}-{}", self.plan.name, number + 1));
        let resolver = self.plan.has_resolver.then_some(RESOLVER);
        Placement {
            pitot: pitot.to_owned(),
            address: match self.cells[number].foreign() {
                Some(foreign) => foreign.address.clone(),
                None => {
                    let host = self.plan.host(self.plan.server_host.as_deref());
                    let address = host.map_or(Ipv4Addr::LOCALHOST.into(), |host| host.address);
                    SocketAddr::new(address, SHOWN_PORT).to_string()
                }
            },
            dir: dir.to_string_lossy().into_owned(),
            server_cpus: self.cpus.server_list(),
            load_cpus: self.cpus.load_list(),
            helpers: (SHOWN_PORT + 1..)
                .zip(self.plan.helpers.iter().map(|helper| helper.name.as_str()).chain(resolver))
                .map(|(port, name)| (name.to_owned(), format!("127.0.0.1:{port}")))
                .collect(),
        }
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

/// Estimated time of the smoke test, seconds.
fn smoke_test_s(cells: &[Cell]) -> f64 {
    cells.iter().filter(|cell| cell.is_timed()).map(|cell| MOMENT_S + OVERHEAD_S + slow_start_s(cell)).sum()
}

/// Estimated time of a repetition, seconds.
pub(super) fn nominal_s(plan: &Plan, cell: &Cell) -> f64 {
    let load_s = if cell.is_timed() { plan.warmup_s + plan.duration_s } else { UNTIMED_GUESS_S };
    let overhead_s = if cell.server == CellServer::None { ALONE_OVERHEAD_S } else { OVERHEAD_S };
    // Each kind is recorded for a second.
    load_s + plan.profile.len() as f64 + overhead_s + slow_start_s(cell)
}
