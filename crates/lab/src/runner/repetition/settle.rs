//! The warm-up of a target whose rate rises for seconds, before its load begins.

use super::context::{Abort, Context};
use super::stop::wait_for_end;
use crate::runner::executor::Role;
use crate::runner::held::Held;
use crate::runner::settling::{LOOK_PART_S, WarmUp, warm_up};

/// What the load generator calls the connections of the warm-up.
const NAME: &str = "c1";

/// Loads a server with a separate load generator until its rate has settled. `None` if the server does not need it, or if
/// its load cannot be held: then the load itself has a warm-up.
pub(super) fn until_settled(context: &mut Context<'_>) -> Result<Option<WarmUp>, Abort> {
    let (cell, shared) = (context.cell, context.shared);
    let Some(settling) = cell.settling() else { return Ok(None) };
    if shared.plan.warmup_s == 0.0 || cell.program.is_some() || !cell.is_timed() || !cell.helpers.is_empty() {
        return Ok(None);
    }
    let mut warmed = None;
    held(context, |rate| {
        warmed = warm_up(settling, rate)?;
        Ok(())
    })?;
    Ok(warmed)
}

/// The rates of a fresh server in parts of a warm-up of so many seconds. None if its load cannot be held, or it failed.
pub(super) fn rates(context: &mut Context<'_>, seconds: f64) -> Result<Vec<f64>, Abort> {
    let mut rates = Vec::new();
    held(context, |rate| {
        for _ in 0..(seconds / LOOK_PART_S).ceil() as usize {
            match rate(LOOK_PART_S)? {
                Some(part) => rates.push(part),
                None => rates.clear(),
            }
        }
        Ok(())
    })?;
    Ok(rates)
}

/// Loads the server of a cell with a separate load generator, in parts that `load` requests. `load` is not called if the
/// load cannot be held.
fn held(
    context: &mut Context<'_>,
    load: impl FnOnce(&mut dyn FnMut(f64) -> Result<Option<f64>, Abort>) -> Result<(), Abort>,
) -> Result<(), Abort> {
    let (cell, shared) = (context.cell, context.shared);
    context.start_conversing(Role::WarmUp, [shared.pitot, "load", "--hold"].map(str::to_owned).to_vec())?;
    let target = cell.held_target(&context.at);
    let mut held = Held::new(context.executor, Role::WarmUp, shared.stop);
    if held.open(NAME, &target)?.is_ok() {
        let mut rate = |part_s| {
            let slice = held.slice(NAME, part_s)?.ok();
            Ok(slice
                .map(|slice| slice.requests as f64 / ((slice.duration_us + slice.drain_us) / 1e6).max(1e-9)))
        };
        load(&mut rate)?;
    }
    held.quit();
    wait_for_end(context, Role::WarmUp)?;
    context.check_server("during its warm-up")
}
