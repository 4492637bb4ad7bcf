//! An estimate of the time until the end of a run.

/// It learns how much longer than nominal a repetition takes.
pub(super) struct TimeLeft {
    nominal_s: f64,
    repetitions: usize,
    surplus_s: f64,
}

impl TimeLeft {
    pub(super) fn of(nominal_s: impl Iterator<Item = f64>) -> TimeLeft {
        let start = TimeLeft { nominal_s: 0.0, repetitions: 0, surplus_s: 0.0 };
        nominal_s.fold(start, |left, s| TimeLeft {
            nominal_s: left.nominal_s + s,
            repetitions: left.repetitions + 1,
            ..left
        })
    }

    pub(super) fn passed(&mut self, nominal_s: f64, elapsed_s: f64) {
        self.nominal_s -= nominal_s;
        // A run that goes on until it is decided may take more than was foreseen.
        self.repetitions = self.repetitions.saturating_sub(1);
        self.surplus_s += (elapsed_s - nominal_s - self.surplus_s) * 0.1;
    }

    pub(super) fn seconds(&self) -> f64 {
        (self.nominal_s + self.surplus_s * self.repetitions as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_run_with_more_turns_than_were_foreseen_none_is_left() {
        let mut left = TimeLeft::of([1.0, 1.0].into_iter());
        for _ in 0..3 {
            left.passed(1.0, 2.0);
        }
        assert_eq!(left.seconds(), 0.0);
    }
}
