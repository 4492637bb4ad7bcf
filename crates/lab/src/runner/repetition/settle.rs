//! Loads a server besides its measured part: the warm-up of a target whose rate rises for seconds, and slices in which it is recorded.

use super::context::{Abort, Context};
use super::stop::wait_for_end;
use crate::monitor::{Pace, Pacer};
use crate::runner::executor::Role;
use crate::runner::held::Held;
use crate::runner::profiled::{self, Whom};
use crate::runner::rise::{LOOK_PART_S, Part};
use crate::runner::warming::{WarmUp, Warmed, warm_up};
use pitot_record::Profile;
use pitot_results::hold::Slice;
use pitot_sys::processes::ProcessTable;

/// What the load generator calls the connections of the warm-up.
const NAME: &str = "c1";
/// When the server is loaded, for errors.
const WARMING: &str = "during its warm-up";
/// Of a slice in which a server is recorded: a run that is fresh takes seconds anyway.
const PROFILE_S: f64 = 1.0;

/// Loads a server with a separate load generator until its rate has settled. `None` if the server does not need it, or if
/// its load cannot be held: then the load itself has a warm-up.
pub(super) fn until_settled(context: &mut Context<'_>) -> Result<Option<WarmUp>, Abort> {
    let (cell, shared) = (context.cell, context.shared);
    let Some(settling) = cell.settling() else { return Ok(None) };
    if shared.plan.warmup_s == 0.0 || cell.program.is_some() || !cell.is_timed() || !cell.helpers.is_empty() {
        return Ok(None);
    }
    let mut warmed = None;
    let processes = context.executor.pids(Role::Server);
    held(context, WARMING, |held| {
        warmed = warm_up(settling, |turn_s| warm(held, &processes, turn_s))?;
        Ok(())
    })?;
    Ok(warmed)
}

/// A look of so many seconds at a fresh server. Without parts if its load cannot be held, or it failed.
pub(super) fn look(
    context: &mut Context<'_>,
    seconds: f64,
    pacer: Option<&Pacer>,
) -> Result<Vec<Part>, Abort> {
    let mut parts = Vec::new();
    let processes = context.executor.pids(Role::Server);
    held(context, WARMING, |held| {
        for _ in 0..(seconds / LOOK_PART_S).ceil() as usize {
            let (busy, pace) = (held.busy(), Pace::of(pacer));
            let Some((slice, served_ns)) = served(held, &processes, LOOK_PART_S)? else {
                parts.clear();
                continue;
            };
            let busy_ns = busy.zip(held.busy()).map_or(0, |(before, after)| after.since(before).0);
            let others_s = busy_ns.saturating_sub(served_ns) as f64 / 1e9 - slice.client_cpu_us() / 1e6;
            let (pace_ns, others) = (Pace::of(pacer).since(pace), others_s / slice.elapsed_s());
            let cost_ns = served_ns as f64 / slice.requests.max(1) as f64;
            parts.extend(slice.rate().map(|rate| Part { rate, pace_ns, others, cost_ns }));
        }
        Ok(())
    })?;
    Ok(parts)
}

/// A turn of a warm-up; none if the load cannot run it.
fn warm(held: &mut Held<'_>, processes: &[u32], turn_s: f64) -> Result<Option<Warmed>, Abort> {
    let Some((slice, served_ns)) = served(held, processes, turn_s)? else { return Ok(None) };
    // The processes of a server elsewhere are not known.
    let cpu_ns = Some(served_ns).filter(|_| !processes.is_empty());
    Ok(Some(Warmed::of(&slice, cpu_ns)))
}

/// Loads it for so long. What came, and the CPU time of its processes, nanoseconds; none if the load cannot run it.
fn served(held: &mut Held<'_>, processes: &[u32], seconds: f64) -> Result<Option<(Box<Slice>, u64)>, Abort> {
    let before = cpu_ns(processes);
    let slice = held.slice(NAME, seconds)?;
    let served_ns = cpu_ns(processes).saturating_sub(before);
    Ok(slice.ok().map(|slice| (slice, served_ns)))
}

/// Records what a server does after its measured part, if the plan wants it and its load can be held.
pub(super) fn profiles(context: &mut Context<'_>) -> Result<Vec<Profile>, Abort> {
    let (cell, shared) = (context.cell, context.shared);
    let mut profiles = Vec::new();
    if shared.plan.profile.is_empty() || cell.program.is_some() || !cell.is_timed() {
        return Ok(profiles);
    }
    let processes = context.executor.pids(Role::Server);
    held(context, "while it was recorded", |held| {
        for &what in &shared.plan.profile {
            let whom = Whom::Processes(&processes);
            let mut recorder = profiled::recorder(what, whom, shared.cpus)
                .map_err(|unavailable| Abort::Failed(format!("{unavailable} ({})", unavailable.fix)))?;
            let before = cpu_ns(&processes);
            if let Ok(answer) = profiled::slice(held, NAME, PROFILE_S, &mut recorder)? {
                let served_ns = cpu_ns(&processes).saturating_sub(before);
                profiles.push(profiled::of_slice(what, &answer, Some(served_ns), &mut recorder));
            }
        }
        Ok(())
    })?;
    Ok(profiles)
}

/// CPU time of these processes and of what they have started, nanoseconds.
fn cpu_ns(processes: &[u32]) -> u64 {
    ProcessTable::read().of_all(processes).iter().map(|process| process.cpu_ns()).sum()
}

/// Lets a separate load generator load the server of a cell. `load` is not called if the load cannot be held. `when` is for errors.
fn held(
    context: &mut Context<'_>,
    when: &str,
    load: impl FnOnce(&mut Held<'_>) -> Result<(), Abort>,
) -> Result<(), Abort> {
    let (cell, shared) = (context.cell, context.shared);
    context.start_conversing(Role::WarmUp, [shared.pitot, "load", "--hold"].map(str::to_owned).to_vec())?;
    let target = cell.held_target(&context.at);
    let mut held = Held::new(context.executor, Role::WarmUp, shared.stop);
    if held.open(NAME, &target)?.is_ok() {
        load(&mut held)?;
    }
    held.quit();
    wait_for_end(context, Role::WarmUp)?;
    context.check_server(when)
}
