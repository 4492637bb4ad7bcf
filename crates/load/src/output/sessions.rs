use std::fmt::Write as _;

use pitot_meter::Nanos;
use pitot_meter::units::{counted, grouped};
use pitot_results::PERCENTILES;
use pitot_results::load::SessionResult;

/// What became of sessions, as lines of the summary.
pub(super) fn sessions(text: &mut String, result: &SessionResult) {
    let asked = result.asked_per_s.map(|rate| format!(" of {rate:.1} asked for"));
    let _ = writeln!(
        text,
        "  {}: {} completed, {} failed, {} under way when the run ended; {:.1} completed a second{}",
        counted(result.begun, "session", "sessions"),
        grouped(result.completed),
        grouped(result.failed),
        grouped(result.cut),
        result.completed_per_s,
        asked.unwrap_or_default()
    );
    if result.time_ns.count > 0 {
        let figures = PERCENTILES.iter().zip(result.time_ns.percentiles());
        let figures: Vec<String> =
            figures.map(|((name, _), value)| format!("{name} {}", Nanos(value))).collect();
        let _ =
            writeln!(text, "  time of a session: {}, max {}", figures.join(", "), Nanos(result.time_ns.max));
    }
    actions(text, result);
    for failed in &result.failed_at {
        let _ =
            writeln!(text, "  {} failed at {}", counted(failed.count, "session", "sessions"), failed.step);
    }
}

/// The steps that are actions by themselves, with their shares.
fn actions(text: &mut String, result: &SessionResult) {
    if result.steps.iter().all(|step| step.share.is_none() || step.step.contains('/')) {
        return;
    }
    let _ = writeln!(
        text,
        "  {:16} {:>10} {:>7} {:>7} {:>10} {:>10} {:>10}",
        "Action", "requests", "errors", "share", "p50", "p99", "max"
    );
    for step in result.steps.iter().filter(|step| step.requests + step.errors > 0) {
        let share = step.share.map_or(String::new(), |share| format!("{:.2}%", share * 100.0));
        let [p50, p99, max] =
            [step.time_ns.p50, step.time_ns.p99, step.time_ns.max].map(|time| Nanos(time).to_string());
        let _ = writeln!(
            text,
            "  {:16} {:>10} {:>7} {share:>7} {p50:>10} {p99:>10} {max:>10}",
            step.step,
            grouped(step.requests),
            grouped(step.errors)
        );
    }
}
