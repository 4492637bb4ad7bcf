//! One generation of a group: fresh servers, loaded in turn.

use std::time::{Instant, SystemTime};

use pitot_results::rfc3339;

use super::arm::{Arm, Left};
use super::group::Group;
use super::neighbours::Neighbours;
use crate::runner::executor::{Account, AddressChoice, Command, Executor, Machine, Role};
use crate::runner::held::Held;
use crate::runner::repetition::{Abort, Shared, left_behind};
use pitot_plan::{Cell, Plan, Profiled};
use pitot_record::{Repetition, Slice};
use pitot_stats::{Random, lead_in, round_order};

/// The shortest slice that the pilot chooses, and the longest, seconds. Shorter ones meet the same noise as their neighbours still better,
/// and are affected more by what the others left in the caches.
pub(crate) const SLICE_S: (f64, f64) = (0.005, 0.4);
/// The time that a plan means by a slice if it does not say how long one is: if slices are shorter, there are as many more.
const USUAL_S: f64 = 0.03;
/// The same of commands, of which there are as many rounds as fit into it: one may take longer than a slice. It is longer since
/// nothing varies between generations but what other processes do, and a generation of few rounds has none to leave out.
const USUAL_EXECUTED_S: f64 = 0.05;
/// Slices that are shorter than this have a lead that does not count, seconds ...
const LEAD_BELOW_S: f64 = 0.04;
/// ... which is this part of their length.
const LEAD_PART: f64 = 0.3;
/// The shortest slice in which the CPU is sampled, seconds.
const PROFILE_S: f64 = 0.2;
/// Right replies of the slowest server in a slice that the pilot aims for: so many, or two on each connection. Up to so many come when
/// the slice is drained; of thousands of connections, most must be busy for most of it.
const REPLIES_WANTED: u64 = 100;

/// A generation to run.
pub(in crate::runner) struct Request<'a> {
    pub(in crate::runner) shared: Shared<'a>,
    pub(in crate::runner) machine: &'a dyn Machine,
    /// All cells of the run, controls at the end.
    pub(in crate::runner) cells: &'a [Cell],
    pub(in crate::runner) group: &'a Group,
    pub(in crate::runner) generation: u32,
    /// Slices of each cell.
    pub(in crate::runner) slices: u32,
    pub(in crate::runner) seed: u64,
    /// The first number of its private directories.
    pub(in crate::runner) number: usize,
}

/// The result of a generation.
#[derive(Default)]
pub(in crate::runner) struct Generation {
    /// By cell, without those that cannot be measured in slices.
    pub(in crate::runner) repetitions: Vec<(usize, Repetition)>,
    /// Cells that cannot be measured in slices, and why.
    pub(in crate::runner) impossible: Vec<(usize, String)>,
    /// Cells of which a program could not be started.
    pub(in crate::runner) not_started: Vec<(usize, String)>,
    /// Other processes that used the CPUs, as seen by the cell that was up for longest.
    pub(in crate::runner) neighbours: Neighbours,
    /// Sentences for the reader.
    pub(in crate::runner) warnings: Vec<String>,
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
        .map(|(&index, executor)| Arm::new(index, &request.cells[index], request.shared, &mut **executor))
        .collect();
    let outcome = measure(request, &mut arms, &mut *client);
    if outcome == Err(Abort::Interrupted) || arms.iter().any(Arm::is_interrupted) {
        // Dropped executors end their programs; an incomplete generation is not recorded.
        return None;
    }
    if let Err(abort) = outcome {
        arms.iter_mut().for_each(|arm| arm.fail_with(&abort));
    }
    let elapsed_s = client.now().since(begin).as_secs_f64() / arms.len().max(1) as f64;
    let warnings = if request.generation == 0 { one_way(&mut arms) } else { Vec::new() };
    let mut generation = Generation { warnings, ..Generation::default() };
    for arm in arms {
        let index = arm.index;
        generation.not_started.extend(arm.not_started().map(|reason| (index, reason.clone())));
        match arm.leave() {
            Left::Impossible(reason) => generation.impossible.push((index, reason)),
            Left::Recorded(mut repetition, neighbours) => {
                if neighbours.watched_s() > generation.neighbours.watched_s() {
                    generation.neighbours = neighbours;
                }
                repetition.block = request.generation;
                repetition.started_at.clone_from(&started_at);
                repetition.elapsed_s = elapsed_s;
                generation.repetitions.push((index, *repetition));
            }
        }
    }
    generation.repetitions.sort_by_key(|(index, _)| *index);
    Some(generation)
}

/// Decides in the first generation which cells can be sliced, so that no cell is measured in both ways, and cells that are
/// compared are measured alike. Returns warnings.
fn one_way(arms: &mut [Arm<'_>]) -> Vec<String> {
    let mut warnings = Vec::new();
    // A cell and its control are measured alike.
    let names: Vec<String> = arms.iter().map(Arm::label).collect();
    for (at, arm) in arms.iter_mut().enumerate().filter(|(_, arm)| arm.is_up() && names.len() > 1) {
        warnings.extend(arm.look_at_idle().filter(|_| !names[..at].contains(&names[at])));
    }
    let Some(reason) = arms.iter().find_map(Arm::why_impossible).cloned() else { return warnings };
    arms.iter_mut().for_each(|arm| arm.goes_along(&reason));
    Vec::new()
}

/// Everything between the first start and the last stop. An error is one of the load generator, so it fails all cells.
fn measure(request: &Request<'_>, arms: &mut [Arm<'_>], client: &mut dyn Executor) -> Result<(), Abort> {
    let shared = request.shared;
    for (offset, arm) in arms.iter_mut().enumerate() {
        arm.start(request.number + 1 + offset);
        if arm.is_interrupted() {
            return Err(Abort::Interrupted);
        }
    }
    client.begin(request.number, AddressChoice::Server)?;
    // All cells of a group are loaded, or are all executed.
    let is_executed = arms.iter().any(Arm::is_executed);
    let (program, cpus) = match is_executed {
        true => ("exec", [&shared.cpus.server[..], &shared.cpus.load].concat()),
        false => ("load", shared.cpus.load.clone()),
    };
    let command = Command {
        role: Role::Load,
        argv: [shared.pitot, program, "--hold"].map(str::to_owned).to_vec(),
        cwd: None,
        env: Vec::new(),
        cpus,
        account: Account::Load,
        converses: true,
        cpu_is_counted: false,
    };
    client.start(&command).map_err(Abort::Failed)?;
    let held = Held::new(client, Role::Load, shared.stop);
    let outcome = slices(request, arms, &mut if is_executed { held.executing() } else { held });
    let observed = client.finish();
    outcome?;
    if let Some(reason) = left_behind(&observed) {
        return Err(Abort::Failed(reason));
    }
    arms.iter_mut().filter(|a| a.is_up()).for_each(Arm::ask_to_stop);
    arms.iter_mut().filter(|a| a.is_up()).for_each(Arm::wait_for_stop);
    Ok(())
}

/// Opens the connections, warms the servers, and loads them in turn.
fn slices(request: &Request<'_>, arms: &mut [Arm<'_>], held: &mut Held<'_>) -> Result<(), Abort> {
    let plan = request.shared.plan;
    let is_first = request.generation == 0;
    for arm in arms.iter_mut().filter(|a| a.is_up()) {
        arm.open(held, is_first)?;
    }
    // Each execution is a fresh process.
    let is_executed = arms.iter().any(Arm::is_executed);
    let wanted_s = if plan.warmup_s > 0.0 && !is_executed { warm_up(request, arms, held)? } else { 0.0 };
    let slice_s = plan.slice_s.unwrap_or(wanted_s.clamp(SLICE_S.0, SLICE_S.1));
    let lead_s = Some(slice_s * LEAD_PART).filter(|_| slice_s < LEAD_BELOW_S && !is_executed);
    let (rounds, at_most_s) = if is_executed {
        let each_s = plan.slice_s.unwrap_or(USUAL_EXECUTED_S);
        (u32::MAX, f64::from(request.slices) * arms.len() as f64 * each_s)
    } else {
        (request.slices.div_ceil(2) * parts(plan, slice_s), f64::INFINITY)
    };
    // Commands choose their CPU, and servers elsewhere have others.
    let pacer = request.machine.pacer().filter(|_| !is_executed);
    let seed = request.seed ^ (request.group.cells[0] as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let begin = Instant::now();
    let mut loaded = None;
    for round in 0..rounds {
        if begin.elapsed().as_secs_f64() > at_most_s {
            break;
        }
        let up: Vec<usize> = (0..arms.len()).filter(|&at| arms[at].is_up()).collect();
        let order = round_order(seed, request.generation, round, up.len());
        let Some(first) = lead_in(&order) else { break };
        let mut predecessor = None;
        if !is_executed {
            // This slice balances predecessors and does not count.
            let arm = &mut arms[up[first]];
            arm.warm(held, slice_s, is_first)?;
            predecessor = Some(arm.row());
            if is_first {
                leave_alone(arms, up[first], &mut loaded);
            }
        }
        for (position, at) in order.into_iter().enumerate() {
            let arm = &mut arms[up[at]];
            if let Some(lead_s) = lead_s.filter(|_| arm.is_up()) {
                arm.warm(held, lead_s, is_first)?;
            }
            if arm.is_up() {
                let place = Slice { round, position: position as u32, predecessor, ..Slice::default() };
                arm.load(held, slice_s, pacer.as_ref(), place)?;
                predecessor = Some(arm.row());
                if is_first {
                    leave_alone(arms, up[at], &mut loaded);
                }
            }
        }
    }
    for &what in &plan.profile {
        profiles(request, arms, held, what, slice_s)?;
    }
    arms.iter_mut().filter(|a| a.is_up()).for_each(Arm::settle);
    held.quit();
    Ok(())
}

/// Warms the servers up, and returns how long a slice should be, seconds.
///
/// They take turns, and go on until the last is warm: a runtime that was warm first and rested for seconds would be another than it was
/// (see docs/method-slices.md).
fn warm_up(request: &Request<'_>, arms: &mut [Arm<'_>], held: &mut Held<'_>) -> Result<f64, Abort> {
    let is_first = request.generation == 0;
    while arms.iter().any(|arm| arm.is_up() && arm.warmed_up().is_none()) {
        for arm in arms.iter_mut().filter(|arm| arm.is_up()) {
            arm.warm_up(held, is_first)?;
        }
    }
    let wanted_s = |arm: &Arm<'_>| {
        let connections = request.cells[arm.index].connections();
        let replies = REPLIES_WANTED.max(2 * connections) - connections.min(REPLIES_WANTED);
        arm.warmed_up().filter(|warm_up| warm_up.rate > 0.0).map(|warm_up| replies as f64 / warm_up.rate)
    };
    Ok(arms.iter().filter_map(wanted_s).fold(0.0, f64::max))
}

/// After a slice of one arm, the arm that was loaded before it is idle: it has gone to sleep meanwhile, which select does slowly with
/// thousands of connections. Only the first generation asks what a server uses while it is idle.
fn leave_alone(arms: &mut [Arm<'_>], at: usize, loaded: &mut Option<usize>) {
    if let Some(before) = loaded.replace(at).filter(|before| *before != at) {
        arms[before].leave_alone();
    }
}

/// How many slices of this length are one of the plan.
pub(in crate::runner) fn parts(plan: &Plan, slice_s: f64) -> u32 {
    if plan.slice_s.is_some() { 1 } else { (USUAL_S / slice_s).round().max(1.0) as u32 }
}

/// Records what the servers do in a round of slices of its own, after those that count.
fn profiles(
    request: &Request<'_>,
    arms: &mut [Arm<'_>],
    held: &mut Held<'_>,
    what: Profiled,
    slice_s: f64,
) -> Result<(), Abort> {
    let executing = arms.iter().any(Arm::is_executed).then(|| held.pid()).flatten();
    let up: Vec<usize> = (0..arms.len()).filter(|&at| arms[at].is_up()).collect();
    for at in round_order(request.seed, request.generation, request.slices, up.len()) {
        let arm = &mut arms[up[at]];
        if arm.is_up()
            && let Err(unavailable) = arm.profile(held, what, slice_s.max(PROFILE_S), executing)?
        {
            return Err(Abort::Failed(format!("{unavailable} ({})", unavailable.fix)));
        }
    }
    Ok(())
}
