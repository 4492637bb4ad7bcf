//! Recent right replies and errors of a server's loads, in short steps.

use std::collections::VecDeque;

use pitot_fault::STEP_NS;
use pitot_results::load::{StepErrors, Steps};

/// Steps of all loads of a server, on one grid of `CLOCK_MONOTONIC`. A load's steps start with the load, so a reply may be
/// counted up to one step too late.
#[derive(Debug, Default)]
pub(super) struct Recent {
    /// The number of the first step.
    first: u64,
    right: VecDeque<u64>,
    /// Errors by phase and kind, with the numbers of their steps.
    errors: Vec<StepErrors>,
}

impl Recent {
    /// Adds steps that begin at `begins_ns`. Steps before the first one are ignored.
    pub(super) fn add(&mut self, begins_ns: u64, steps: &Steps) {
        let begin = begins_ns.div_ceil(STEP_NS);
        if self.right.is_empty() {
            self.first = begin;
        }
        let of = |step: u64| begin + step * steps.length_ns / STEP_NS;
        for (step, count) in (0..).zip(&steps.right) {
            let Some(index) = of(step).checked_sub(self.first) else { continue };
            if self.right.len() <= index as usize {
                self.right.resize(index as usize + 1, 0);
            }
            self.right[index as usize] += count;
        }
        for row in &steps.errors {
            let at = row.at.iter().map(|(step, count)| (of(*step), *count));
            match self.errors.iter_mut().find(|known| known.phase == row.phase && known.kind == row.kind) {
                Some(known) => known.at.extend(at),
                None => self.errors.push(StepErrors { at: at.collect(), ..row.clone() }),
            }
        }
    }

    /// Discards steps before this time.
    pub(super) fn forget_before(&mut self, at_ns: u64) {
        let first = at_ns / STEP_NS;
        let gone = first.saturating_sub(self.first).min(self.right.len() as u64);
        self.right.drain(..gone as usize);
        self.first += gone;
        for row in &mut self.errors {
            row.at.retain(|(step, _)| *step >= first);
        }
        self.errors.retain(|row| !row.at.is_empty());
    }

    /// The begin of the first step, nanoseconds.
    pub(super) fn begins_ns(&self) -> u64 {
        self.first * STEP_NS
    }

    /// The steps up to a time, as those of a run.
    pub(super) fn steps_until(&self, until_ns: u64) -> Steps {
        let count = (until_ns / STEP_NS).saturating_sub(self.first);
        let errors = self.errors.iter().map(|row| {
            let steps =
                row.at.iter().filter_map(|(step, errors)| Some((step.checked_sub(self.first)?, *errors)));
            let mut at: Vec<(u64, u64)> = steps.filter(|(step, _)| *step < count).collect();
            at.sort_unstable();
            StepErrors { at, ..row.clone() }
        });
        let right = self.right.iter().copied().take(count as usize);
        Steps { length_ns: STEP_NS, right: right.collect(), errors: errors.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(right: &[u64], error_at: u64) -> Steps {
        let row = StepErrors { phase: "receive".into(), kind: "reset".into(), at: vec![(error_at, 1)] };
        Steps { length_ns: STEP_NS, right: right.to_vec(), errors: vec![row] }
    }

    #[test]
    fn loads_are_added_on_one_grid_and_what_is_old_goes() {
        let mut recent = Recent::default();
        recent.add(1000 * STEP_NS, &steps(&[1, 2, 3], 0));
        // Half a step later, and a load that tells of what is past.
        recent.add(1001 * STEP_NS + STEP_NS / 2, &steps(&[10, 20], 1));
        recent.add(990 * STEP_NS, &steps(&[5; 11], 0));
        assert_eq!(
            (recent.begins_ns(), recent.steps_until(u64::MAX).right),
            (1000 * STEP_NS, vec![6, 2, 13, 20])
        );
        assert_eq!(recent.steps_until(u64::MAX).errors[0].at, [(0, 1), (3, 1)]);
        let early = recent.steps_until(1002 * STEP_NS);
        assert_eq!((early.right, &early.errors[0].at), (vec![6, 2], &vec![(0, 1)]));
        recent.forget_before(1002 * STEP_NS);
        assert_eq!((recent.begins_ns(), recent.steps_until(u64::MAX).right), (1002 * STEP_NS, vec![13, 20]));
        assert_eq!(recent.steps_until(u64::MAX).errors[0].at, [(1, 1)]);
        recent.forget_before(2000 * STEP_NS);
        assert_eq!(recent.steps_until(u64::MAX), Steps { length_ns: STEP_NS, ..Steps::default() });
        recent.add(3000 * STEP_NS, &steps(&[1], 0));
        assert_eq!(recent.begins_ns(), 3000 * STEP_NS);
    }
}
