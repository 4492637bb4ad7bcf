//! Receives the progress of a run.

use crate::address::BadAddress;

/// Gets reports of a run, and may stop it.
pub trait Observer {
    /// A second is over.
    fn progress(&mut self, progress: &Progress);
    /// A line of the list is not an address.
    fn bad_line(&mut self, line: u64, why: BadAddress);
    /// A warning, in one line.
    fn note(&mut self, text: &str);
    /// The number of stop requests: one ends the run in order, two at once.
    fn stop_requests(&mut self) -> u32;
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Recipients with an outcome, of this run.
    pub settled: u64,
    /// In the last second.
    pub per_second: u64,
    /// Sent or accepted, of those with an outcome.
    pub taken: u64,
    /// Waiting for their next attempt.
    pub deferred: u64,
    /// Read from the list and without an outcome, the deferred ones included.
    pub open: u64,
    /// Open connections.
    pub connections: u64,
    /// The whole list has been read.
    pub all_read: bool,
}
