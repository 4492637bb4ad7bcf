//! A plan made ready for this machine: its cells, its commands, and how long it will take.

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
use super::settling::rule as settling_rule;
use super::way::{Ways, slow_start_s};

/// Length of the first try's load.
pub(super) const MOMENT_S: f64 = 0.2;

/// Seconds that a repetition takes besides warm-up and measurement: two processes start, connect, and stop.
pub(super) const OVERHEAD_S: f64 = 0.3;
/// Seconds that a load takes that has no duration.
const UNTIMED_GUESS_S: f64 = 0.5;

/// With KVM a guest starts within so many seconds, or the processor is emulated: the trial of KVM waits no longer.
pub const GUEST_START_MAX_S: f64 = 15.0;
/// CPU time that the start of a guest takes on an emulated processor, seconds, as docs/kernels.md has measured it.
const EMULATED_START_S: f64 = 40.0;

/// All looks at servers in the trial together take at most this part of a run.
pub(super) const LOOKS_SHARE: f64 = 0.2;
/// What a decision is foreseen to take may be longer than the time by this share, since it is an estimate.
const OVERRUN_MAX: f64 = 0.05;

/// Reasons that are named where nothing of a plan can be run.
const SHOWN_MAX: usize = 3;
/// The port in commands that are shown.
const SHOWN_PORT: u16 = 18080;

/// A plan made ready for this machine.
#[derive(Debug)]
pub struct Prepared {
    /// The plan.
    pub plan: Plan,
    /// As its author wrote it.
    pub source: String,
    /// What will be run.
    pub cells: Vec<Cell>,
    /// How they will be measured.
    pub ways: Ways,
    /// What will not, and why.
    pub skips: Vec<SkipRecord>,
    /// Which CPUs do what.
    pub cpus: CpuSplit,
    /// Sentences for the reader of the report.
    pub warnings: Vec<String>,
    /// What the rules say of the machine that the plan needs to be checked for.
    pub needs: Vec<Judgement>,
    /// For each generation the order of the levels of the factor `settings`; by lot where there is none.
    pub(super) orders: Vec<Vec<usize>>,
    /// Seconds after which the run is to be over: it ends with the last generation or block that fits.
    pub(super) within_s: Option<f64>,
    /// It is so short that no server is looked at for longer than a moment before.
    pub(super) has_no_time_to_look: bool,
}

/// A cell's commands as a user could paste them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownCell {
    /// The levels.
    pub label: String,
    /// Starts the server; several lines if it needs files.
    pub server: String,
    /// Makes the load, once the server is ready.
    pub load: String,
}

/// Where a plan is made ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// For this machine, and the hosts that it names.
    Here,
    /// For machines that are not known yet: programs, CPUs and settings are not looked for here.
    Elsewhere,
}

/// Makes a plan ready.
///
/// # Errors
/// If nothing can be run, or the CPUs that the plan names are not there.
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
        let cure = match first.first() {
            Some(skip) if skip.kind == SkipKind::Page => skip.kind.fix(),
            _ => "use another plan; `pitot list pairs` shows what can be run",
        };
        return Err(Failure::misuse(format!("nothing of the plan can be run here: {why}"), cure));
    }
    check_levels(&plan, &cells)?;
    let cpus = {
        // CPUs of other hosts are not looked for here.
        let here =
            |list: &Option<String>, side_is_here: bool| list.clone().filter(|_| is_here && side_is_here);
        let server = here(&plan.server_cpus, plan.server_host.is_none());
        split_cpus(server.as_deref(), here(&plan.load_cpus, plan.load_hosts.is_empty()).as_deref())
    }
    .map_err(|failure| with_line(failure, &plan.name, &source))?;
    let cpus = plan.cpus(cpus);
    let mut warnings = Vec::new();
    // In a guest they always do.
    if is_here && cpus.is_shared() && plan.is_on_one_host() && !plan.is_in_guests() {
        warnings.push(format!(
            "Servers and load generator share CPU {}: throughput is that of both together. Compare cells with each \
             other and by CPU per request, not with figures of other machines.",
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
    let needs = match is_here && plan.hosts.is_empty() {
        true => needs(&plan, &cells, catalog),
        // This machine is not the one to look at.
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
        has_no_time_to_look: false,
    })
}

/// Refuses levels that would all be called `***`: nobody could tell them apart in a report, or resume the run.
fn check_levels(plan: &Plan, cells: &[Cell]) -> Result<(), Failure> {
    let secrets = plan.secrets();
    for (index, cell) in cells.iter().enumerate() {
        let shown = masked_levels(&cell.factors, &secrets);
        if shown != cell.factors
            && cells[..index].iter().any(|other| masked_levels(&other.factors, &secrets) == shown)
        {
            return Err(Failure::misuse(
                format!("cells differ in a secret alone, and secrets are masked: {}", label(&shown)),
                "describe a server for each in [servers], whose name is its level",
            ));
        }
    }
    Ok(())
}

/// What of this machine decides which cells can be run; programs are looked for where the plan is carried out here.
pub(super) fn limits(plan: &Plan, is_here: bool) -> HostLimits {
    let descriptors =
        pitot_sys::limits::raise_descriptors().unwrap_or_else(|_| pitot_sys::limits::descriptors());
    HostLimits { descriptors, missing: if is_here { missing(plan) } else { Vec::new() } }
}

/// The cells whose settings of the host this user can set here; the others are skipped.
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
                reason: format!("{}; {}", refusal.what, refusal.cure),
                kind: SkipKind::Setting,
            }),
        }
    }
    settable
}

/// What is said of targets that are loaded until their rates have settled: a sentence for those of one rule.
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

/// What is said of servers on systems without an agent.
fn foreign_servers(plan: &Plan) -> Vec<String> {
    let sentence = |server: &ServerSpec| {
        let Program::External(program) = &server.program else { return None };
        let foreign = program.foreign.as_ref()?;
        let cpu = match &foreign.cpu_time[..] {
            [] => "Its CPU time was not seen, nor".to_owned(),
            command => format!(
                "Its CPU time is what `{}` said before and after the load, warm-up included. Not seen were",
                command.join(" ")
            ),
        };
        Some(format!(
            "The server `{}` was at {}, on a system without an agent. {cpu} its memory, processes, threads, context switches \
             and interrupts, and what else ran there.",
            server.name, foreign.address
        ))
    };
    plan.servers.iter().filter_map(sentence).collect()
}

/// What the rules say of this machine for the cells of a plan.
fn needs(plan: &Plan, cells: &[Cell], catalog: &Catalog) -> Vec<Judgement> {
    let Some(subject) = plan.needs else { return Vec::new() };
    let demands = cells.iter().map(|cell| demand(cell, catalog)).collect();
    check::needs(subject, Facts::collect(&Machine::here()), demands)
}

/// The failure with the line of the plan whose key it begins with: CPUs are looked at when the plan is no longer text.
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
    /// Servers that the plan defines and that no cell and no skipped combination uses: most likely they were forgotten in
    /// `factors.server`.
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
                Some(_) => "as many generations as it takes".to_owned(),
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

    /// Seconds that the whole plan will take.
    pub fn estimate_s(&self) -> f64 {
        let fresh = self.cells.iter().zip(&self.ways.cells).filter(|(_, (m, _))| *m == Measure::Fresh);
        let fresh_s = fresh.map(|(cell, _)| nominal_s(&self.plan, cell)).sum::<f64>();
        fresh_s * f64::from(self.plan.repetitions) + self.sliced_s()
    }

    /// Seconds that the cells take that are measured in slices.
    fn sliced_s(&self) -> f64 {
        match (self.ways.sliced(), self.plan.until_decided_s) {
            (0, _) => 0.0,
            (_, Some(at_most_s)) => at_most_s,
            _ => self.ways.generation_s(&self.plan) * f64::from(self.plan.generations.unwrap_or(1)),
        }
    }

    /// Seconds that one block of the cells in fresh runs takes.
    fn block_s(&self) -> f64 {
        let fresh = self.cells.iter().zip(&self.ways.cells).filter(|(_, (m, _))| *m == Measure::Fresh);
        fresh.map(|(cell, _)| nominal_s(&self.plan, cell)).sum()
    }

    /// Seconds that the cells in fresh runs take, and at most their share of a time.
    pub(super) fn fresh_s(&self, within_s: f64) -> f64 {
        let share = (self.cells.len() - self.ways.sliced()) as f64 / self.cells.len().max(1) as f64;
        (self.block_s() * f64::from(self.plan.repetitions)).min(within_s * share)
    }

    /// The seconds in which the plan can come to a decision at least.
    pub fn least_s(&self) -> f64 {
        let fresh_s = self.block_s() * MEDIAN_REPETITIONS_MIN as f64;
        let sliced_s = if self.ways.sliced() > 0 { self.ways.least_s(&self.plan) } else { 0.0 };
        trial_s(&self.cells) + fresh_s + sliced_s
    }

    /// Fits the plan to a time, seconds, and has the run end with it, should the machine be slower than foreseen.
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
    /// If the time is too short for a decision, or is not known before.
    pub fn fit(&mut self, within_s: f64) -> Result<(), Failure> {
        if self.plan.is_in_guests() {
            return Err(self.unknown_on_kernels());
        }
        let (trial_s, repetitions) = (trial_s(&self.cells), self.plan.repetitions);
        self.has_no_time_to_look = self.fit_beside(within_s, trial_s + self.looks_s(within_s)).is_err();
        if self.has_no_time_to_look {
            self.plan.repetitions = repetitions;
            self.fit_beside(within_s, trial_s)?;
        }
        Ok(())
    }

    /// Why no time is kept by a plan that varies the kernel, and what of the time that it takes is known.
    fn unknown_on_kernels(&self) -> Failure {
        let mut kernels: Vec<KernelUse> = Vec::new();
        for kernel in self.cells.iter().filter_map(|cell| self.plan.kernel_of(&cell.factors)) {
            if kernels.iter().all(|known| known.name != kernel.name) {
                kernels.push(kernel);
            }
        }
        let least_s = (self.block_s() * MEDIAN_REPETITIONS_MIN as f64).ceil();
        let cells = counted(self.cells.len() as u64, "cell", "cells");
        // Each is asked first what it can run.
        let starts = |kernels: usize| kernels * (MEDIAN_REPETITIONS_MIN + 1);
        let besides = match kernels.iter().filter(|kernel| kernel.is_guest()).count() {
            0 => format!("and {} starts of the kernels besides", starts(kernels.len())),
            guests => {
                // KVM is tried once.
                let guests = starts(guests) + 1;
                let most_s = least_s + guests as f64 * GUEST_START_MAX_S;
                format!(
                    "and {guests} starts of guests besides: {most_s:.0} s at most with KVM, where a guest starts within \
                     {GUEST_START_MAX_S:.0} s. Where the processor is emulated a start takes some {EMULATED_START_S:.0} s of a CPU, and \
                     cells take many times as long"
                )
            }
        };
        Failure::misuse(
            format!(
                "how long a plan that varies the kernel takes is not known before: {MEDIAN_REPETITIONS_MIN} repetitions of {cells} take \
                 {least_s:.0} s, {besides}"
            ),
            format!(
                "leave --within out and give --repetitions {MEDIAN_REPETITIONS_MIN}, the fewest with an interval"
            ),
        )
    }

    /// The same where so many seconds go to the trial.
    fn fit_beside(&mut self, within_s: f64, trial_s: f64) -> Result<(), Failure> {
        let (block_s, least) = (self.block_s(), MEDIAN_REPETITIONS_MIN as u32);
        if self.ways.sliced() > 0 {
            // Half of the time for each way, where there are two.
            let fit = ((within_s - trial_s) / 2.0 / block_s.max(1e-9)) as u32;
            self.plan.repetitions = self.plan.repetitions.min(fit.max(least));
            let fresh_s = block_s * f64::from(self.plan.repetitions);
            return self.ways.fit(&mut self.plan, within_s, trial_s + fresh_s);
        }
        let repetitions = ((within_s - trial_s) / block_s) as u32;
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

    /// Whether the time that the run is to be kept within is enough, now that it is known how long servers take until they are
    /// ready, and that the trial took so long, seconds.
    ///
    /// # Errors
    /// If it is too short for a decision: with one that is not, also where it leaves time to look at the servers.
    pub(super) fn check_time(&self, ready_s: &[f64], trial_s: f64) -> Result<(), Failure> {
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
        let slowest_s = (0..self.cells.len()).map(start_s).fold(0.0, f64::max);
        let ways = Ways { slow_starts_s: self.ways.slow_starts_s.max(sliced_s), ..self.ways.clone() };
        let blocks_s = (self.block_s() + fresh_s) * MEDIAN_REPETITIONS_MIN as f64;
        let sliced_s = if ways.sliced() > 0 { ways.least_s(&self.plan) } else { 0.0 };
        let needed_s = trial_s + blocks_s + sliced_s;
        if slowest_s == 0.0 || needed_s <= within_s * (1.0 + OVERRUN_MAX) {
            return Ok(());
        }
        Err(Failure::misuse(
            format!(
                "{within_s:.0} s are too short: a server takes {:.1} s until it is ready and warm, and each repetition starts it anew",
                slowest_s + OVERHEAD_S
            ),
            format!(
                "allow at least {:.0} s, or leave that server out",
                (needed_s / (1.0 - LOOKS_SHARE)).ceil()
            ),
        ))
    }

    /// Whether the machine is set up for what the plan needs.
    ///
    /// # Errors
    /// What is not, and how to mend it.
    pub fn check_needs(&self) -> Result<(), Failure> {
        refusal(&self.needs).map_or(Ok(()), Err)
    }

    /// Leaves cells out, by their numbers in ascending order, each for a reason.
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

    /// Pitot as it is called where the commands of a cell are run, server and load; `pitot` on this machine.
    fn programs<'a>(&'a self, pitot: &'a str, cell: &Cell) -> [&'a str; 2] {
        let plan = &self.plan;
        if let Some(kernel) = plan.kernel_of(&cell.factors) {
            // In a guest and in a sandbox it is in PATH.
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

    /// Where the commands of a cell are run, server and load, if that is not this machine as it is.
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
            // By itself it is what is measured, where servers would be.
            _ if cell.server == CellServer::None => on(plan.server_host.as_ref()),
            // Each part says where it is.
            [_, _, ..] => None,
            hosts => on(hosts.first()),
        };
        [on(plan.server_host.as_ref()), load]
    }

    /// The arguments of each cell's server, if it is one of Pitot, and of its load, for whoever knows what they mean.
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

    /// The words of each server's command, whoever's it is; Pitot is called `pitot`.
    pub fn server_words(&self) -> Vec<Vec<String>> {
        let cells = self.cells.iter().enumerate();
        cells.map(|(number, cell)| cell.server_argv(&self.shown_placement("pitot", number))).collect()
    }

    /// The replicate of each cell.
    pub(super) fn experiments(&self) -> Vec<Option<&str>> {
        let replicate = |cell: &'_ Cell| cell.factors.iter().position(|f| f.name == REPLICATE_FACTOR);
        self.cells.iter().map(|cell| replicate(cell).map(|at| cell.factors[at].level.as_str())).collect()
    }

    /// A text in which the words in braces are filled in as where the commands of a cell are shown.
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

/// Programs that the plan calls by name and that are in no folder of `PATH`.
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

/// Seconds that a repetition of `cell` takes if nothing holds it up.
/// Seconds that it takes to try each cell before the repetitions begin.
fn trial_s(cells: &[Cell]) -> f64 {
    cells.iter().filter(|cell| cell.is_timed()).map(|cell| MOMENT_S + OVERHEAD_S + slow_start_s(cell)).sum()
}

pub(super) fn nominal_s(plan: &Plan, cell: &Cell) -> f64 {
    let load_s = if cell.is_timed() { plan.warmup_s + plan.duration_s } else { UNTIMED_GUESS_S };
    load_s + OVERHEAD_S + slow_start_s(cell)
}
