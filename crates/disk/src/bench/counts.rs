//! Counts between the warm-up and the end.

use std::collections::BTreeMap;
use std::time::Duration;

use pitot_meter::{Histogram, Nanos};

use super::plan::{BenchError, ERRORS_MAX};

/// The counts of a run.
pub(super) struct Counts {
    /// Reads that were right.
    pub(super) operations: u64,
    /// Bytes in those reads.
    pub(super) bytes: u64,
    /// Time that counts: without preparation, warm-up and the cooling between passes.
    pub(super) elapsed: Nanos,
    pub(super) cpu_user: Duration,
    pub(super) cpu_system: Duration,
    pub(super) latency: Histogram,
    /// Passes over the set that were begun.
    pub(super) passes: u64,
    /// Reads that failed.
    failures: u64,
    /// Failures by cause.
    pub(super) errors: BTreeMap<String, u64>,
}

impl Counts {
    pub(super) fn new() -> Counts {
        Counts {
            operations: 0,
            bytes: 0,
            elapsed: Nanos::ZERO,
            cpu_user: Duration::ZERO,
            cpu_system: Duration::ZERO,
            latency: Histogram::new(),
            passes: 0,
            failures: 0,
            errors: BTreeMap::new(),
        }
    }

    /// Reads that have ended, right or wrong.
    pub(super) fn ended(&self) -> u64 {
        self.operations + self.failures
    }

    pub(super) fn add_read(&mut self, bytes: usize, latency: Nanos) {
        self.operations += 1;
        self.bytes += bytes as u64;
        self.latency.record(latency);
    }

    /// Counts a failure.
    ///
    /// # Errors
    /// Too many failures.
    pub(super) fn add_failure(&mut self, cause: String) -> Result<(), BenchError> {
        *self.errors.entry(cause).or_default() += 1;
        self.failures += 1;
        if self.failures < ERRORS_MAX {
            return Ok(());
        }
        let most = self.errors.iter().max_by_key(|(_, count)| **count);
        let most = most.map_or(String::new(), |(cause, _)| cause.clone());
        Err(BenchError::Errors { count: self.failures, most })
    }
}
