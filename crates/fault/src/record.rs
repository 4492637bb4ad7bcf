//! A fault that was made, as it is recorded.

use serde::{Deserialize, Serialize};

/// One fault of a run, with its begin and its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FaultRecord {
    /// Its position in the plan, from 0.
    pub number: u32,
    /// Its name among [`FAULTS`](crate::FAULTS).
    pub kind: String,
    /// When it was to begin, seconds from the start of the measured part.
    pub due_s: f64,
    /// When it began, `CLOCK_MONOTONIC` in nanoseconds; 0 if it was not made.
    pub began_ns: u64,
    /// When it was taken back; 0 if it was not, or not made.
    pub ended_ns: u64,
    /// What was done: `SIGSTOP to process 4711 (pitot)`; where nothing was, why.
    pub what: String,
    /// The command that repeats it.
    pub command: String,
    /// The whole server had died with it, and was started again at its end.
    pub server_died: bool,
}

impl FaultRecord {
    /// Whether it was made.
    pub fn was_made(&self) -> bool {
        self.began_ns > 0
    }
}
