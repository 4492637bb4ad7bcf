//! How the threads of a run, which share nothing else, start and stop together.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pitot_meter::Nanos;

/// From the decision to start to the start itself, so that it has reached all threads by then.
const NOTICE_THREADS: Nanos = Nanos::from_millis(2);
/// The same for processes.
const NOTICE_PROCESSES: Nanos = Nanos::from_millis(20);

/// The start, at the same moment for all threads, and the request to stop early.
#[derive(Debug)]
pub struct Gate {
    /// Zero while it is not known.
    start_at: AtomicU64,
    stop: AtomicBool,
    /// Connections whose first connect before the start has an outcome.
    tried: AtomicU64,
    /// From the decision to start to the start itself.
    notice: Nanos,
}

impl Default for Gate {
    /// Of threads alone.
    fn default() -> Gate {
        Gate::of(1)
    }
}

impl Gate {
    /// Of as many processes.
    pub fn of(processes: u64) -> Gate {
        let notice = if processes > 1 { NOTICE_PROCESSES } else { NOTICE_THREADS };
        Gate { start_at: AtomicU64::new(0), stop: AtomicBool::new(false), tried: AtomicU64::new(0), notice }
    }

    /// From the decision to start to the start itself: all threads learn of it in this time.
    pub fn notice(&self) -> Nanos {
        self.notice
    }

    /// How often a loop that waits for the start looks. Fifty processes that look every millisecond would keep a CPU
    /// busy with that.
    pub fn interval(&self) -> Nanos {
        Nanos(self.notice.0 / 2)
    }

    /// Counts a connection that was opened before the start, or could not be.
    pub fn count_tried(&self) {
        self.tried.fetch_add(1, Ordering::Relaxed);
    }

    /// How many these are so far.
    pub fn tried(&self) -> u64 {
        self.tried.load(Ordering::Relaxed)
    }

    /// Lets all threads start at that moment.
    pub fn open(&self, at: Nanos) {
        self.start_at.store(at.0, Ordering::Release);
    }

    /// When to start, once it is known.
    pub fn start_at(&self) -> Option<Nanos> {
        match self.start_at.load(Ordering::Acquire) {
            0 => None,
            at => Some(Nanos(at)),
        }
    }

    /// Ends the run now, with everything recorded so far.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// True if the run is to end.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}
