//! The time, as loops need it: read once in a wake-up, coarse (a few milliseconds) and cheap.

use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};

/// A point in time in sixteenths of a second since some start, for time-outs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick(u32);

const TICKS_PER_SECOND: u64 = 16;

impl Tick {
    /// Later than every other.
    pub const NEVER: Tick = Tick(u32::MAX);

    /// The first tick at which `time` has surely passed since this one.
    pub fn after(self, time: Duration) -> Tick {
        let ticks = (time.as_nanos() * u128::from(TICKS_PER_SECOND)).div_ceil(1_000_000_000);
        Tick(u32::try_from(ticks).ok().and_then(|t| self.0.checked_add(t + 1)).unwrap_or(u32::MAX))
    }
}

/// A worker's clock: the time of its last wake-up.
#[derive(Debug)]
pub struct Clock {
    start_s: u64,
    tick: Tick,
    unix_s: u64,
    date: String,
}

impl Clock {
    /// A clock that shows the present.
    pub fn new() -> Clock {
        let start_s = clock_gettime(ClockId::MonotonicCoarse).tv_sec as u64;
        let mut clock = Clock { start_s, tick: Tick(0), unix_s: u64::MAX, date: String::new() };
        clock.update();
        clock
    }

    /// Reads the time.
    pub fn update(&mut self) {
        let monotonic = clock_gettime(ClockId::MonotonicCoarse);
        let seconds = (monotonic.tv_sec as u64).saturating_sub(self.start_s);
        let ticks = seconds * TICKS_PER_SECOND + monotonic.tv_nsec as u64 * TICKS_PER_SECOND / 1_000_000_000;
        self.tick = Tick(u32::try_from(ticks).unwrap_or(u32::MAX - 1));
        let unix_s = clock_gettime(ClockId::RealtimeCoarse).tv_sec.max(0) as u64;
        if unix_s != self.unix_s {
            self.unix_s = unix_s;
            self.date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(unix_s));
        }
    }

    /// The time for time-outs.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Seconds since 1970-01-01 UTC.
    pub fn unix_s(&self) -> u64 {
        self.unix_s
    }

    /// The same as an IMF-fixdate.
    pub fn date(&self) -> &str {
        &self.date
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_never_early() {
        let now = Clock::new().tick();
        assert!(now.after(Duration::ZERO) > now);
        assert_eq!(now.after(Duration::from_secs(1)), Tick(now.0 + 17));
        assert_eq!(now.after(Duration::MAX), Tick::NEVER);
    }
}
