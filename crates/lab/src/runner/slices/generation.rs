//! One generation of a group: fresh servers, all loaded in turn.

use std::time::SystemTime;

use pitot_meter::Nanos;
use pitot_results::{VerdictKind, rfc3339};

use super::figures::Sum;
use super::group::Group;
use super::held::Held;
use crate::plan::{Cell, Placement};
use crate::record::{Repetition, Slice};
use crate::runner::executor::{Account, AddressChoice, Command, Executor, Extent, Machine, Role};
use crate::runner::judge::judge_slices;
use crate::runner::repetition::{Abort, Context, Shared, failed, left_behind, output_tail, start, stop};
use crate::statistics::{Random, lead_in, round_order};

/// The shortest slice that the pilot chooses, and the longest, seconds.
const SLICE_S: (f64, f64) = (0.04, 0.4);
/// Right replies that the slowest server is to give in a slice.
const REPLIES_WANTED: f64 = 100.0;
/// A server that uses more of a CPU than this between its slices disturbs those of the others.
const IDLE_SHARE_MAX: f64 = 0.02;

/// A generation to be run.
pub(in crate::runner) struct Request<'a> {
    pub(in crate::runner) shared: Shared<'a>,
    pub(in crate::runner) machine: &'a dyn Machine,
    /// All cells of the run, controls at the end.
    pub(in crate::runner) cells: &'a [Cell],
    pub(in crate::runner) group: &'a Group,
    pub(in crate::runner) generation: u32,
    pub(in crate::runner) seed: u64,
    /// Where the numbers of its private directories begin.
    pub(in crate::runner) number: usize,
}

/// A generation that is over.
#[derive(Default)]
pub(in crate::runner) struct Generation {
    /// By cell. Those cells are missing that turned out to be impossible to measure in slices.
    pub(in crate::runner) repetitions: Vec<(usize, Repetition)>,
    /// Cells that cannot be measured in slices, and why.
    pub(in crate::runner) impossible: Vec<(usize, String)>,
    /// A program of these cells could not be started.
    pub(in crate::runner) not_started: Vec<(usize, String)>,
}

/// A cell of the group under way.
struct Arm<'a> {
    index: usize,
    context: Context<'a>,
    sum: Sum,
    connections: u64,
    ready_s: f64,
    /// Why it is not loaded any more.
    outcome: Result<(), Abort>,
    /// Why it cannot be measured in slices at all.
    impossible: Option<String>,
    server_stats: Option<serde_json::Value>,
    /// CPU time of its server, and when it was read, after its last slice.
    last_seen: Option<(u64, u64)>,
    /// CPU time that its server used while others were loaded, and how long that was.
    idle: (u64, u64),
}

impl Arm<'_> {
    fn is_up(&self) -> bool {
        self.outcome.is_ok() && self.impossible.is_none()
    }

    fn name(&self) -> String {
        format!("c{}", self.index + 1)
    }

    /// From now on its server has nothing to do until its next slice.
    fn is_left_alone(&mut self) {
        let executor = &mut self.context.executor;
        self.last_seen = executor.cpu_time(Role::Server).map(|cpu| (cpu.0, executor.now().0));
    }

    /// Adds what its server has used since it was left alone, if that is known.
    fn add_idle(&mut self, now: Option<Nanos>, at: Nanos) {
        if let (Some(now), Some((then, since))) = (now, self.last_seen) {
            self.idle.0 += now.0.saturating_sub(then);
            self.idle.1 += at.0.saturating_sub(since);
        }
    }
}

/// Runs a generation. `None` if the user stopped it.
pub(in crate::runner) fn run(request: &Request<'_>) -> Option<Generation> {
    let started_at = rfc3339(SystemTime::now());
    let mut random = Random::new(request.seed ^ u64::from(request.generation).wrapping_mul(0x9E37_79B9));
    let mut order = request.group.cells.clone();
    random.shuffle(&mut order);
    let mut executors: Vec<Box<dyn Executor + '_>> =
        order.iter().map(|_| request.machine.executor()).collect();
    let mut client = request.machine.executor();
    let begin = client.now();
    let mut arms: Vec<Arm<'_>> = order
        .iter()
        .zip(&mut executors)
        .map(|(&index, executor)| arm(request, index, &mut **executor))
        .collect();
    let outcome = measure(request, &mut arms, &mut *client);
    if outcome == Err(Abort::Interrupted) || arms.iter().any(|a| a.outcome == Err(Abort::Interrupted)) {
        // Executors that are dropped end what they have started; what is not whole is not recorded.
        return None;
    }
    if let Err(abort) = outcome {
        for arm in &mut arms {
            if arm.outcome.is_ok() {
                arm.outcome = Err(abort.clone());
            }
        }
    }
    let elapsed_s = client.now().since(begin).as_secs_f64();
    let mut generation = Generation::default();
    let share = elapsed_s / arms.len().max(1) as f64;
    for mut arm in arms {
        if let Err(Abort::NotStarted(reason)) = &arm.outcome {
            generation.not_started.push((arm.index, reason.clone()));
        }
        match arm.impossible.take() {
            Some(reason) => {
                arm.context.executor.finish();
                generation.impossible.push((arm.index, reason));
            }
            None => {
                let mut repetition = record(&mut arm);
                repetition.block = request.generation;
                repetition.started_at.clone_from(&started_at);
                repetition.elapsed_s = share;
                generation.repetitions.push((arm.index, repetition));
            }
        }
    }
    generation.repetitions.sort_by_key(|(index, _)| *index);
    Some(generation)
}

fn arm<'a>(request: &Request<'a>, index: usize, executor: &'a mut dyn Executor) -> Arm<'a> {
    let shared = request.shared;
    let at = Placement {
        pitot: shared.pitot.to_owned(),
        address: String::new(),
        dir: String::new(),
        server_cpus: shared.cpus.server_list(),
        load_cpus: shared.cpus.load_list(),
        helpers: Vec::new(),
    };
    let cell = &request.cells[index];
    Arm {
        index,
        context: Context { shared, cell, executor, at, counts_cpu: true, helpers_started: 0 },
        sum: Sum::default(),
        connections: 0,
        ready_s: 0.0,
        outcome: Ok(()),
        impossible: None,
        server_stats: None,
        last_seen: None,
        idle: (0, 0),
    }
}

/// Everything between the first start and the last stop. An error is one of the load generator, and so of all cells.
fn measure(request: &Request<'_>, arms: &mut [Arm<'_>], client: &mut dyn Executor) -> Result<(), Abort> {
    let shared = request.shared;
    for (offset, arm) in arms.iter_mut().enumerate() {
        arm.outcome = start_server(arm, request.number + 1 + offset);
        if arm.outcome == Err(Abort::Interrupted) {
            return Err(Abort::Interrupted);
        }
    }
    client.begin(request.number, AddressChoice::Server)?;
    let argv = [shared.pitot, "load", "--hold"].map(str::to_owned).to_vec();
    let command = Command {
        role: Role::Load,
        argv,
        cwd: None,
        env: Vec::new(),
        cpus: shared.cpus.load.clone(),
        account: Account::Load,
        converses: true,
        cpu_is_counted: false,
    };
    client.start(&command).map_err(Abort::Failed)?;
    let outcome = slices(request, arms, &mut Held::new(client, shared.stop));
    let observed = client.finish();
    outcome?;
    if let Some(reason) = left_behind(&observed) {
        return Err(Abort::Failed(reason));
    }
    for arm in arms.iter_mut().filter(|a| a.is_up()) {
        match stop::stop(&mut arm.context) {
            Ok(stats) => arm.server_stats = stats,
            Err(abort) => arm.outcome = Err(abort),
        }
    }
    Ok(())
}

fn start_server(arm: &mut Arm<'_>, number: usize) -> Result<(), Abort> {
    let context = &mut arm.context;
    start::prepare(context, number)?;
    let begin = context.executor.now();
    start::start_server(context)?;
    arm.ready_s = context.executor.now().since(begin).as_secs_f64();
    context.executor.sample(Extent::Whole);
    Ok(())
}

/// Opens the connections, warms the servers, and loads them in turn.
fn slices(request: &Request<'_>, arms: &mut [Arm<'_>], held: &mut Held<'_>) -> Result<(), Abort> {
    let plan = request.shared.plan;
    for arm in arms.iter_mut().filter(|a| a.is_up()) {
        let arguments = arm.context.cell.held_arguments(&arm.context.at);
        match held.open(&arm.name(), &arguments)? {
            Ok(connections) => arm.connections = connections,
            Err(what) => refused(arm, what, request.generation),
        }
    }
    let mut replies_per_s = f64::INFINITY;
    for arm in arms.iter_mut().filter(|a| a.is_up()) {
        if plan.warmup_s <= 0.0 {
            continue;
        }
        match held.slice(&arm.name(), plan.warmup_s)? {
            Ok(warmup) => {
                let elapsed_s = (warmup.duration_us + warmup.drain_us) / 1e6;
                replies_per_s = replies_per_s.min(warmup.requests as f64 / elapsed_s.max(1e-6));
                arm.sum.add_uncounted(warmup.requests);
            }
            Err(what) => refused(arm, what, request.generation),
        }
    }
    let slice_s = plan.slice_s.unwrap_or_else(|| pilot(replies_per_s));
    let seed = request.seed ^ (request.group.cells[0] as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let mut predecessor = None;
    for round in 0..plan.slices.div_ceil(2) {
        let up: Vec<usize> = (0..arms.len()).filter(|&at| arms[at].is_up()).collect();
        let order = round_order(seed, request.generation, round, up.len());
        // The slice that completes the balance of predecessors; it is in no figure.
        if let Some(at) = lead_in(&order) {
            let arm = &mut arms[up[at]];
            match held.slice(&arm.name(), slice_s)? {
                Ok(uncounted) => arm.sum.add_uncounted(uncounted.requests),
                Err(what) => refused(arm, what, request.generation),
            }
            arm.is_left_alone();
            predecessor = Some(arm.index as i64 + 1);
        }
        for (position, at) in order.into_iter().enumerate() {
            let arm = &mut arms[up[at]];
            if !arm.is_up() {
                continue;
            }
            let place = Slice { round, position: position as u32, predecessor, ..Slice::default() };
            one_slice(arm, held, slice_s, place)?;
            predecessor = Some(arm.index as i64 + 1);
        }
    }
    for arm in arms.iter_mut().filter(|a| a.is_up()) {
        // The connections are still open: this is the memory that they take.
        arm.context.executor.sample(Extent::Whole);
        let (used, length) = arm.idle;
        // What the first generation has shown holds: a cell is not measured in two ways.
        if request.generation == 0 && used as f64 > length as f64 * IDLE_SHARE_MAX {
            let percent = used as f64 / length as f64 * 100.0;
            arm.impossible = Some(format!("its server uses {percent:.0}% of a CPU while it is not loaded"));
        }
    }
    held.quit();
    Ok(())
}

/// The load generator refuses a cell. That its options make no sense for slices shows in the first generation.
fn refused(arm: &mut Arm<'_>, what: String, generation: u32) {
    match arm.context.check_server("before it was loaded") {
        Ok(()) if generation == 0 => arm.impossible = Some(what),
        Ok(()) => arm.outcome = Err(Abort::Failed(what)),
        Err(abort) => arm.outcome = Err(abort),
    }
}

/// A length of slices in which the slowest server answers often enough.
fn pilot(replies_per_s: f64) -> f64 {
    let (least, most) = SLICE_S;
    (REPLIES_WANTED / replies_per_s.max(1.0)).clamp(least, most)
}

/// Loads one server for a slice. Only what is wrong with the load generator is an error.
fn one_slice(arm: &mut Arm<'_>, held: &mut Held<'_>, slice_s: f64, place: Slice) -> Result<(), Abort> {
    let executor = &mut arm.context.executor;
    let (cpu_before, begin) = (executor.cpu_time(Role::Server), executor.now());
    arm.add_idle(cpu_before, begin);
    let steal_before = held.steal_ns();
    let answer = match held.slice(&arm.name(), slice_s)? {
        Ok(answer) => answer,
        Err(what) => {
            arm.outcome = Err(arm.context.check_server("under load").err().unwrap_or(Abort::Failed(what)));
            return Ok(());
        }
    };
    let executor = &mut arm.context.executor;
    let (cpu_after, end) = (executor.cpu_time(Role::Server), executor.now());
    arm.last_seen = cpu_after.map(|cpu| (cpu.0, end.0));
    let used = cpu_before.zip(cpu_after).map(|(before, after)| after.0.saturating_sub(before.0));
    let steal_ns = held.steal_ns().saturating_sub(steal_before);
    let place = Slice { server_cpu_ns: used, steal_ns, ..place };
    if let Err(reason) = arm.sum.add(&answer, place) {
        return Err(Abort::Failed(reason));
    }
    // A slice without a single reply is a server that is gone, or stands still.
    if answer.requests == 0 {
        let errors = arm.sum.worst_error();
        arm.outcome = Err(arm
            .context
            .check_server("under load")
            .err()
            .unwrap_or_else(|| Abort::Failed(format!("no reply was right in a slice{errors}"))));
    }
    Ok(())
}

fn record(arm: &mut Arm<'_>) -> Repetition {
    let context = &mut arm.context;
    let suspended = context.executor.is_suspended(Role::Server);
    let observed = context.executor.finish();
    let failure = match &arm.outcome {
        Err(Abort::Failed(reason) | Abort::NotStarted(reason)) if suspended => {
            Some(format!("the server was suspended by a signal such as SIGSTOP: {reason}"))
        }
        Err(Abort::Failed(reason) | Abort::NotStarted(reason)) => Some(reason.clone()),
        Err(Abort::Interrupted) => Some("it was interrupted".to_owned()),
        Ok(()) => left_behind(&observed),
    };
    let load = arm.sum.load_result(&context.at.fill(&context.cell.url), arm.connections);
    let mut used = arm.sum.resources(&observed.samples);
    used.server_cpus = context.shared.cpus.server.len() as u32;
    used.load_cpus = context.shared.cpus.load.len() as u32;
    used.memory_total_bytes = context.shared.memory_total_bytes;
    used.server_lifetime = observed.lifetime;
    let has_slices = !arm.sum.slices.is_empty();
    let verdict = match failure {
        Some(reason) => failed(reason),
        None if has_slices => judge_slices(&arm.sum.slices, &used),
        None => failed("it had no slice".to_owned()),
    };
    let output_tail = if verdict.kind == VerdictKind::Failed { output_tail(context) } else { String::new() };
    Repetition {
        id: 0,
        block: 0,
        position: 0,
        started_at: String::new(),
        elapsed_s: 0.0,
        address: context.at.address.clone(),
        ready_s: arm.ready_s,
        verdict,
        load: has_slices.then_some(load),
        server_stats: arm.server_stats.take(),
        resources: has_slices.then_some(used),
        output_tail,
        samples: observed.samples,
        slices: std::mem::take(&mut arm.sum.slices),
    }
}
