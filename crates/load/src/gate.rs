//! How the threads of a run, which share nothing else, start and stop together.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pitot_meter::Nanos;

/// The start, at the same moment for all threads, and the request to stop early.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// Zero while it is not known.
    start_at: AtomicU64,
    stop: AtomicBool,
}

impl Gate {
    /// Lets all threads start at that moment.
    pub(crate) fn open(&self, at: Nanos) {
        self.start_at.store(at.0, Ordering::Release);
    }

    /// When to start, once it is known.
    pub(crate) fn start_at(&self) -> Option<Nanos> {
        match self.start_at.load(Ordering::Acquire) {
            0 => None,
            at => Some(Nanos(at)),
        }
    }

    /// Ends the run now, with everything recorded so far.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// True if the run is to end.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}
