//! A recorded fault.

use serde::{Deserialize, Serialize};

/// One fault of a run, with its begin and its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FaultRecord {
    /// Its position in the plan, from 0.
    pub number: u32,
    /// Its name among [`FAULTS`](crate::FAULTS).
    pub kind: String,
    /// Its planned begin, seconds from the start of the measured part.
    pub due_s: f64,
    /// When it began, `CLOCK_MONOTONIC` in nanoseconds; 0 if it was not made.
    pub began_ns: u64,
    /// When it ended; 0 if it did not end, or was not made.
    pub ended_ns: u64,
    /// What was done: `SIGSTOP to process 4711 (pitot)`; or why nothing was.
    pub what: String,
    /// The command that repeats it.
    pub command: String,
    /// Whether the server died in it, and was restarted at its end.
    pub server_died: bool,
}

impl FaultRecord {
    /// Whether it was made.
    pub fn was_made(&self) -> bool {
        self.began_ns > 0
    }
}
