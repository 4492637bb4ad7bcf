//! Delays between restarts of a program that ends at once.

/// A program that has run for so long is stable, and the delay is reset, seconds.
const STEADY_S: f64 = 60.0;
/// The longest delay, seconds.
const LONGEST_S: f64 = 60.0;
/// The first delay that is doubled, seconds.
const FIRST_S: f64 = 1.0;

/// The delays of one program, doubled each time that it ends soon after its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct BackOff {
    started_s: f64,
    wait_s: f64,
}

impl BackOff {
    /// Notes that it is started now.
    pub(super) fn started(&mut self, now_s: f64) {
        self.started_s = now_s;
    }

    /// When it may be restarted after it has ended or failed to start. The first delay is `least_s`.
    pub(super) fn ended(&mut self, now_s: f64, least_s: f64) -> f64 {
        let at = now_s + self.wait_s.max(least_s);
        let was_steady = now_s - self.started_s >= STEADY_S;
        if was_steady {
            self.wait_s = FIRST_S;
            return now_s + least_s;
        }
        self.wait_s = (self.wait_s * 2.0).clamp(FIRST_S, LONGEST_S);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_minute_and_begin_anew_after_a_steady_time() {
        let mut back_off = BackOff::default();
        let mut now_s = 0.0;
        let mut waits = Vec::new();
        for _ in 0..10 {
            back_off.started(now_s);
            now_s += 0.5;
            let at_s = back_off.ended(now_s, 0.0);
            waits.push(at_s - now_s);
            now_s = at_s;
        }
        assert_eq!(waits, [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]);
        back_off.started(now_s);
        assert_eq!(back_off.ended(now_s + 100.0, 0.0), now_s + 100.0);
        back_off.started(now_s + 100.0);
        assert_eq!(back_off.ended(now_s + 101.0, 0.0), now_s + 102.0);
        // A load is never started at once.
        assert_eq!(BackOff::default().ended(5.0, 1.0), 6.0);
    }
}
