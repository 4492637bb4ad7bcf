//! The time as loops need it: read once per wake-up, with a coarse (a few milliseconds) and cheap clock.

use std::time::{Duration, SystemTime};

use pitot_proto::{Tick, Worker};
use rustix::time::{ClockId, clock_gettime};

/// Sets the time of a worker's connections.
#[derive(Debug)]
pub struct Clock {
    start_s: u64,
}

impl Clock {
    /// A clock that starts at tick 0 now.
    pub fn new() -> Clock {
        Clock { start_s: clock_gettime(ClockId::MonotonicCoarse).tv_sec as u64 }
    }

    /// Reads the time.
    pub fn update(&self, worker: &mut Worker) {
        let monotonic = clock_gettime(ClockId::MonotonicCoarse);
        let seconds = (monotonic.tv_sec as u64).saturating_sub(self.start_s);
        worker.now = Tick::at(Duration::new(seconds, monotonic.tv_nsec as u32));
        let unix_s = clock_gettime(ClockId::RealtimeCoarse).tv_sec.max(0) as u64;
        if unix_s != worker.unix_s {
            worker.unix_s = unix_s;
            worker.date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(unix_s));
        }
    }
}
