//! `pitot run --self-check`: whether the lab finds the differences that exist, and no others.

use pitot_meter::{Nanos, burn, median, now};

/// The suite that compares a server with itself.
pub(crate) const SAME: &str = "self-check";
/// The suite that compares it with a slower one.
pub(crate) const POWER: &str = "self-check-power";

/// By how much the slower server is slowed.
const SLOWDOWN: f64 = 0.05;
/// The lines of the suite that say how much CPU time a reply burns.
const BURN_LINE: &str = "burn = \"250ns\"";

/// The plan of [`POWER`], with a burn that is 5% of what a reply costs the plain server.
pub(crate) fn calibrated(text: &str, plain_cpu_ns: f64) -> String {
    let asked = argument_for(plain_cpu_ns * SLOWDOWN, cost_ns);
    text.replace(BURN_LINE, &format!("burn = \"{asked}ns\""))
}

/// What must be asked for so that burning really takes `target_ns`: the clock is read at least twice, and time goes
/// on between its last reading and the end.
fn argument_for(target_ns: f64, cost_ns: impl Fn(u64) -> f64) -> u64 {
    const STEPS: usize = 6;
    let mut asked = target_ns;
    for _ in 0..STEPS {
        asked = (asked + target_ns - cost_ns(asked.round() as u64)).max(1.0);
    }
    // Nothing at all would be no burning, and so no reading of the clock either.
    asked.round().max(1.0) as u64
}

/// What burning really takes: the median of some batches, as one may be interrupted.
fn cost_ns(asked_ns: u64) -> f64 {
    const BATCHES: usize = 15;
    const BATCH: u32 = 2_000;
    let mut batches: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let start = now();
            for _ in 0..BATCH {
                burn(Nanos(asked_ns));
            }
            now().since(start).0 as f64 / f64::from(BATCH)
        })
        .collect();
    median(&mut batches).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_clock_adds_is_taken_off() {
        assert_eq!(argument_for(300.0, |asked| asked as f64 + 80.0), 220);
        assert_eq!(argument_for(50.0, |asked| asked as f64 + 80.0), 1, "less cannot be burnt");
    }

    #[test]
    fn burning_costs_at_least_what_it_was_asked_for() {
        assert!(cost_ns(1_000) >= 1_000.0);
    }

    #[test]
    fn the_suite_has_the_lines_that_are_calibrated() {
        let text = pitot_plan::suite(POWER).unwrap().text;
        assert_eq!(text.matches(BURN_LINE).count(), text.matches("[servers.slowed-").count());
        let calibrated = calibrated(text, 10_000.0);
        assert!(!calibrated.contains(BURN_LINE) && calibrated.contains("[servers.slowed-1]"));
        pitot_plan::Plan::parse("p.toml", &calibrated, &crate::catalog::catalog().unwrap()).unwrap();
    }
}
