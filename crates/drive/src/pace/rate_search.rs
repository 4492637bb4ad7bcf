//! The search for the highest rate that a server sustains.

use crate::condition::{Condition, Figures};
use pitot_results::MISSED_SHARE_MAX;

/// The search ends when the bounds are this close.
const PRECISION: f64 = 1.05;
/// The most runs of one search.
pub const STEPS_MAX: usize = 40;
/// No rate below this is tried.
const RATE_MIN: f64 = 1.0;

/// What to search for.
#[derive(Clone, Debug)]
pub struct Search {
    pub(super) conditions: Vec<Condition>,
    /// The first rate to try, in requests per second.
    pub(super) from: f64,
}

impl Search {
    /// True if a run met all conditions and could send what was due.
    pub fn passes(&self, figures: &Figures<'_>) -> bool {
        let due = figures.attempted + figures.missed;
        figures.missed as f64 <= due as f64 * MISSED_SHARE_MAX
            && self.conditions.iter().all(|c| c.met(figures, false))
    }

    /// What a rate has to meet.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The conditions as the user wrote them, with those that always hold.
    pub fn describe(&self) -> String {
        self.conditions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    /// The rate that is tried first, in requests per second.
    pub fn first_rate(&self) -> f64 {
        self.from
    }

    /// Starts the search.
    pub fn explore(&self) -> Explorer {
        Explorer { passed: None, failed: None, next: Some(self.from), failed_once: false, steps: 0 }
    }
}

/// A search under way: which rate to try next. It knows no clock and runs nothing.
#[derive(Debug)]
pub struct Explorer {
    passed: Option<f64>,
    failed: Option<f64>,
    next: Option<f64>,
    /// The present rate has failed once.
    failed_once: bool,
    steps: usize,
}

impl Explorer {
    /// The rate to try, or `None` at the end.
    pub fn next(&self) -> Option<f64> {
        self.next
    }

    /// The highest rate that passed.
    pub fn found(&self) -> Option<f64> {
        self.passed
    }

    /// Takes the outcome of the run at the rate of [`Explorer::next`].
    pub fn record(&mut self, passed: bool) {
        let Some(rate) = self.next else { return };
        self.steps += 1;
        if !passed && !self.failed_once {
            self.failed_once = true;
            return;
        }
        self.failed_once = false;
        if passed {
            self.passed = Some(rate);
        } else {
            self.failed = Some(rate);
        }
        self.next = match (self.passed, self.failed) {
            (Some(low), None) => Some(low * 2.0),
            (None, Some(high)) => Some(high / 2.0).filter(|&r| r >= RATE_MIN),
            (Some(low), Some(high)) if high / low > PRECISION => Some((low + high) / 2.0),
            _ => None,
        };
        if self.steps >= STEPS_MAX {
            self.next = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a server that sustains `capacity`, and how many runs that took.
    fn search(from: f64, capacity: f64, mut disturb: impl FnMut(usize) -> bool) -> (Option<f64>, usize) {
        let mut explorer = Search { conditions: Vec::new(), from }.explore();
        while let Some(rate) = explorer.next() {
            let disturbed = disturb(explorer.steps);
            explorer.record(rate <= capacity && !disturbed);
        }
        (explorer.found(), explorer.steps)
    }

    #[test]
    fn the_capacity_is_found_from_below_and_from_above() {
        for (from, capacity) in [(1000.0, 87_654.0), (1000.0, 313.0), (1000.0, 1000.0), (5.0, 1e7)] {
            let (found, steps) = search(from, capacity, |_| false);
            let found = found.unwrap();
            assert!(found <= capacity && found >= capacity / PRECISION, "{found} of {capacity}");
            assert!(steps < 40, "{steps}");
        }
    }

    #[test]
    fn one_disturbance_decides_nothing() {
        let (found, _) = search(1000.0, 50_000.0, |step| step % 4 == 2);
        assert!(found.unwrap() > 47_000.0);
    }

    #[test]
    fn a_server_that_sustains_nothing_ends_the_search() {
        assert_eq!(search(1000.0, 0.0, |_| false).0, None);
    }
}
