use pitot_meter::Nanos;
use pitot_meter::units::grouped;

use crate::watch::Progress;
use pitot_results::load::Step;

/// One line about the second that is over, to be written over the last one.
pub fn progress_line(progress: &Progress<'_>) -> String {
    let second = progress.second;
    let trying = progress.trying_rps.map(|rate| format!("trying {} rps  ", grouped(rate as u64)));
    let left = progress.left.map(|left| format!("  {:.0} s left", left.as_secs_f64()));
    format!(
        "{}{} rps  p50 {}  p99 {}  errors {}  open {}{}",
        trying.unwrap_or_default(),
        grouped(second.completed),
        Nanos(second.p50_ns),
        Nanos(second.p99_ns),
        grouped(progress.errors),
        grouped(second.open),
        left.unwrap_or_default()
    )
}

/// One line about a step of a search.
pub fn step_line(step: &Step) -> String {
    format!(
        "{:>10} rps  p50 {:>8}  p99 {:>8}  errors {}  missed {}  {}",
        grouped(step.rate_rps.round() as u64),
        Nanos(step.response_ns.p50).to_string(),
        Nanos(step.response_ns.p99).to_string(),
        grouped(step.errors),
        grouped(step.missed),
        if step.passed { "met" } else { "not met" }
    )
}
