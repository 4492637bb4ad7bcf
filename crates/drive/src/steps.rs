//! Right replies and errors in steps of a second (`--steps`), for whom a second is too long: how long a server was away is
//! a matter of milliseconds.

use pitot_meter::Nanos;
use pitot_results::Failure;
use pitot_results::load::{StepErrors, Steps};
use serde::{Deserialize, Serialize};

use crate::sample::{ErrorKind, ErrorPhase};

/// The shortest step: finer ones would count the generator's own wake-ups.
const STEP_MIN: Nanos = Nanos::from_millis(1);
const SECOND: Nanos = Nanos::from_secs(1);

/// Checks the length of a step.
pub fn check(step: Option<Nanos>) -> Result<Option<Nanos>, Failure> {
    match step {
        Some(step)
            if step < STEP_MIN
                || step > SECOND
                || step == Nanos::ZERO
                || !SECOND.0.is_multiple_of(step.0) =>
        {
            Err(Failure::misuse(
                format!("steps of {step} do not make up a second"),
                "give --steps a length of 1ms to 1s of which so many are a second, such as 10ms",
            ))
        }
        step => Ok(step),
    }
}

/// What one second had, by its steps. Empty where steps are not asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StepCounts {
    /// Right replies of each step, up to the last that had one.
    right: Vec<u32>,
    /// Errors, by step and kind; steps ascend.
    errors: Vec<StepError>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StepError {
    step: u32,
    phase: String,
    kind: String,
    count: u32,
}

impl StepCounts {
    pub(crate) fn clear(&mut self) {
        self.right.clear();
        self.errors.clear();
    }

    /// A right reply came in this step.
    pub fn right(&mut self, step: usize) {
        if self.right.len() <= step {
            self.right.resize(step + 1, 0);
        }
        self.right[step] += 1;
    }

    /// An error was counted in this step.
    pub fn error(&mut self, step: usize, phase: ErrorPhase, kind: ErrorKind) {
        let step = step as u32;
        self.add_error(&StepError { step, phase: phase.name().to_owned(), kind: kind.name(), count: 1 });
    }

    fn add_error(&mut self, error: &StepError) {
        let same = |e: &&mut StepError| e.phase == error.phase && e.kind == error.kind;
        match self
            .errors
            .iter_mut()
            .rev()
            .take_while(|e| e.step >= error.step)
            .find(|e| e.step == error.step && same(e))
        {
            Some(mine) => mine.count += error.count,
            None => {
                let at = self.errors.partition_point(|e| e.step <= error.step);
                self.errors.insert(at, error.clone());
            }
        }
    }

    /// Adds what another source had in the same second.
    pub fn merge(&mut self, other: &StepCounts) {
        if self.right.len() < other.right.len() {
            self.right.resize(other.right.len(), 0);
        }
        self.right.iter_mut().zip(&other.right).for_each(|(mine, count)| *mine += count);
        other.errors.iter().for_each(|error| self.add_error(error));
    }

    /// Adds this second to the steps of the whole run.
    pub fn append_to(&self, steps: &mut Steps, second: u64) {
        let first = second * (SECOND.0 / steps.length_ns);
        let end = first as usize + self.right.len();
        if steps.right.len() < end {
            steps.right.resize(end, 0);
        }
        for (all, count) in steps.right[first as usize..].iter_mut().zip(&self.right) {
            *all += u64::from(*count);
        }
        for error in &self.errors {
            let at = (first + u64::from(error.step), u64::from(error.count));
            match steps.errors.iter_mut().find(|e| e.phase == error.phase && e.kind == error.kind) {
                Some(row) => row.at.push(at),
                None => steps.errors.push(StepErrors {
                    phase: error.phase.clone(),
                    kind: error.kind.clone(),
                    at: vec![at],
                }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_two_threads_become_steps_of_the_run() {
        let (mut one, mut other) = (StepCounts::default(), StepCounts::default());
        [0, 3, 3].into_iter().for_each(|step| one.right(step));
        [3, 9].into_iter().for_each(|step| other.right(step));
        for step in [7, 2, 2] {
            one.error(step, ErrorPhase::Timeout, ErrorKind::Word("request"));
        }
        other.error(2, ErrorPhase::Timeout, ErrorKind::Word("request"));
        one.merge(&other);
        let mut steps = Steps { length_ns: 100_000_000, ..Steps::default() };
        one.append_to(&mut steps, 1);
        assert_eq!(steps.right.len(), 20);
        assert_eq!((steps.right[10], steps.right[13], steps.right[19]), (1, 3, 1));
        assert_eq!(steps.errors.len(), 1);
        assert_eq!(steps.errors[0].at, [(12, 3), (17, 1)]);
    }

    #[test]
    fn a_step_divides_a_second() {
        assert_eq!(check(Some(Nanos::from_millis(10))).unwrap(), Some(Nanos::from_millis(10)));
        assert_eq!(check(None).unwrap(), None);
        for ms in [0, 3, 300, 2000] {
            assert!(
                check(Some(Nanos::from_millis(ms))).unwrap_err().what.contains("do not make up a second")
            );
        }
    }
}
