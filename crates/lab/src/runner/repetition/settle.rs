//! The warm-up of a target whose rate rises for seconds, before its load begins.

use super::context::{Abort, Context};
use super::stop::wait_for_end;
use crate::runner::executor::Role;
use crate::runner::held::Held;
use crate::runner::settling::{WarmUp, warm_up};

/// What the load generator calls the connections of the warm-up.
const NAME: &str = "c1";

/// Loads a target that needs it until its rate has settled, by a load generator of its own. `None` if the cell's server needs
/// none, or if its load cannot be held: then the load itself begins with a warm-up.
pub(super) fn until_settled(context: &mut Context<'_>) -> Result<Option<WarmUp>, Abort> {
    let (cell, shared) = (context.cell, context.shared);
    let Some(within_s) = cell.target().and_then(|target| target.settles_within_s) else { return Ok(None) };
    if shared.plan.warmup_s == 0.0 || cell.program.is_some() || !cell.is_timed() || !cell.helpers.is_empty() {
        return Ok(None);
    }
    context.start_conversing(Role::WarmUp, [shared.pitot, "load", "--hold"].map(str::to_owned).to_vec())?;
    let target = cell.held_target(&context.at);
    let mut held = Held::new(context.executor, Role::WarmUp, shared.stop);
    let mut warmed = None;
    if held.open(NAME, &target)?.is_ok() {
        let rate = |part_s| {
            let slice = held.slice(NAME, part_s)?.ok();
            Ok(slice
                .map(|slice| slice.requests as f64 / ((slice.duration_us + slice.drain_us) / 1e6).max(1e-9)))
        };
        warmed = warm_up(within_s, rate)?;
    }
    held.quit();
    wait_for_end(context, Role::WarmUp)?;
    context.check_server("while it was warmed up")?;
    Ok(warmed)
}
