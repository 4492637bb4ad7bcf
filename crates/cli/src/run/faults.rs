//! The faults of a plan in a dry run.

use std::fmt::Write as _;

use pitot_fault::{find, schedule};
use pitot_plan::Plan;

/// At most so many blocks are shown.
const BLOCKS_MAX: u32 = 3;

/// When each fault of a plan will be made, and what cannot be made here. Random moments are known where the seed is.
pub(super) fn shown(plan: &Plan) -> String {
    let mut text = String::new();
    for fault in &plan.faults {
        let Some(Err(missing)) = find(&fault.kind).map(|fault| (fault.probe)()) else { continue };
        let _ = writeln!(text, "# fault `{}` will not be made: {}", fault.kind, missing.cause);
        let _ = writeln!(text, "#   to fix it: {}", missing.fix);
    }
    let is_random = plan.faults.iter().any(|fault| fault.at == pitot_fault::At::Random);
    let blocks = if is_random { plan.repetitions.min(BLOCKS_MAX) } else { 1 };
    if plan.faults.is_empty() {
        return text;
    }
    if is_random && plan.seed.is_none() {
        text.push_str("# faults at random moments: add --seed N to see when they will be made\n");
        return text;
    }
    for block in 0..blocks {
        let moments = schedule(&plan.faults, plan.seed.unwrap_or_default(), block.into(), plan.duration_s);
        let moment = |moment: &pitot_fault::Moment| {
            let fault = &plan.faults[moment.number];
            format!("{} at {:.3} s for {} s", fault.kind, moment.at_s, fault.length_s())
        };
        let moments: Vec<String> = moments.iter().map(moment).collect();
        let of = if is_random { format!(" of block {}", block + 1) } else { String::new() };
        let _ = writeln!(text, "# faults{of}: {}", moments.join(", "));
    }
    text
}
