//! A bandwidth limit.

use pitot_meter::Nanos;

/// Maximum burst after a pause, as time at the rate.
const BURST_S: f64 = 0.01;
/// Minimum burst: a segment of loopback's usual size.
const BURST_BYTES_MIN: f64 = 1500.0;

/// A token bucket of one direction.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    rate: Option<f64>,
    tokens: f64,
    filled: Nanos,
}

impl Bucket {
    /// Sets the rate, bytes per second; `None` for no limit.
    pub(super) fn set(&mut self, rate: Option<f64>, now: Nanos) {
        *self = Bucket { rate, tokens: 0.0, filled: now };
    }

    /// The number of bytes that may pass now; if none, when some may.
    pub(super) fn allows(&mut self, now: Nanos) -> Result<usize, Nanos> {
        let Some(rate) = self.rate else { return Ok(usize::MAX) };
        let burst = (rate * BURST_S).max(BURST_BYTES_MIN);
        self.tokens = (self.tokens + rate * now.since(self.filled).as_secs_f64()).min(burst);
        self.filled = now;
        if self.tokens >= 1.0 {
            return Ok(self.tokens as usize);
        }
        // Half a burst at a time, so that a low rate does not wake the loop for every byte.
        Err(now + Nanos(((burst / 2.0 - self.tokens) / rate * 1e9) as u64 + 1))
    }

    /// Notes that so many bytes have passed.
    pub(super) fn passed(&mut self, bytes: usize) {
        if self.rate.is_some() {
            self.tokens -= bytes as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lets_through_what_the_rate_says() {
        let mut bucket = Bucket::default();
        let mut now = Nanos::from_secs(1);
        assert_eq!(bucket.allows(now), Ok(usize::MAX));
        bucket.set(Some(100_000.0), now);
        let mut passed = 0;
        while now < Nanos::from_secs(2) {
            match bucket.allows(now) {
                Ok(bytes) => {
                    bucket.passed(bytes);
                    passed += bytes;
                }
                Err(until) => {
                    assert!(until > now);
                    now = until;
                }
            }
        }
        assert!((98_000..102_000).contains(&passed), "{passed}");
    }
}
