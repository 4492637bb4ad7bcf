//! The plan of a run, its report, and why there may be none.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use pitot_meter::{Histogram, Nanos};
use pitot_sys::disk::PAGE;

use super::order::Pattern;
use crate::cache::Residency;
use crate::set::SetError;
use crate::{Destination, EngineEntry, EngineOptions, OptionsError, Unavailable};

/// The reads to measure.
#[derive(Clone, Debug)]
pub struct ReadPlan {
    /// The engine under test.
    pub engine: &'static EngineEntry,
    /// The options of the engine.
    pub options: EngineOptions,
    /// Where the bytes go; `None` for the engine's preference.
    pub target: Option<Destination>,
    /// The order of reads.
    pub pattern: Pattern,
    /// The state of the page cache.
    pub state: CacheState,
    /// Bytes per read.
    pub block: usize,
    /// Reads queued before they are committed; at most the depth.
    pub batch: u32,
    /// Reads made before anything is counted.
    pub warmup: Nanos,
    /// When the measurement ends.
    pub until: Until,
    /// How much of the data is checked.
    pub check: Check,
    /// The seed of the order of reads.
    pub seed: u64,
}

/// The state of the page cache at the start, and by which method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheState {
    /// As found.
    AsIs,
    /// All files were read before.
    Hot,
    /// Dropped with POSIX_FADV_DONTNEED before each pass over the set, while the clock is stopped; each block is read once
    /// per pass.
    ColdByDrop,
    /// O_DIRECT, which bypasses the page cache.
    ColdByDirect,
    /// The set is larger than the memory that this process may use, by at least [`LIMIT_FACTOR`].
    ColdByLimit,
}

impl CacheState {
    /// The word in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            CacheState::AsIs => "as-is",
            CacheState::Hot => "hot",
            CacheState::ColdByDrop => "cold (dropped)",
            CacheState::ColdByDirect => "cold (direct)",
            CacheState::ColdByLimit => "cold (memory limit)",
        }
    }
}

/// A set that is cold by a memory limit is at least this many times as large as the memory.
pub const LIMIT_FACTOR: u64 = 4;
/// A set counts as hot with at least this share in memory.
pub(super) const HOT_SHARE_MIN: f64 = 0.99;
/// A run with more errors than this is given up.
pub(super) const ERRORS_MAX: u64 = 1000;

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this time.
    Duration(Nanos),
    /// After this many reads.
    Count(u64),
}

/// How much of the data is checked. Data sent to a socket is checked by its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The first and the last word of each block: enough to identify it, at almost no cost.
    Ends,
    /// Every byte, which costs about as much as a copy.
    All,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct ReadReport {
    /// Reads that were right.
    pub operations: u64,
    /// Bytes in those reads.
    pub bytes: u64,
    /// Time that counts: without preparation, warm-up and the cooling between passes.
    pub elapsed: Nanos,
    /// From queue to reap.
    pub latency: Histogram,
    /// CPU time in user mode, of all threads of this process, less what discarding sent bytes took.
    pub cpu_user: Duration,
    /// CPU time in the kernel.
    pub cpu_system: Duration,
    /// Passes over the set that were begun.
    pub passes: u64,
    /// The page cache before the first pass.
    pub before: Residency,
    /// The page cache at the end.
    pub after: Residency,
    /// Reads that helper threads made because they were not in memory, for engines that check.
    pub misses: u64,
    /// Failures by kind, with their number.
    pub errors: BTreeMap<String, u64>,
    /// Where the bytes went.
    pub target: Destination,
}

impl ReadReport {
    /// Reads per second.
    pub fn iops(&self) -> f64 {
        per(self.operations as f64, self.elapsed.as_secs_f64())
    }

    /// Bytes per second.
    pub fn throughput(&self) -> f64 {
        per(self.bytes as f64, self.elapsed.as_secs_f64())
    }

    /// CPU time per read, in seconds.
    pub fn cpu_per_operation(&self) -> f64 {
        per((self.cpu_user + self.cpu_system).as_secs_f64(), self.operations as f64)
    }
}

fn per(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// Options that the engine does not support.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The plan contradicts itself.
    #[error("{0}")]
    Plan(String),
    /// This kernel or user cannot.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The set of files.
    #[error(transparent)]
    Set(#[from] SetError),
    /// The page cache could not be brought into the requested state.
    #[error("the set is not {wanted}: {share:.1}% of it is in memory, by {witness}")]
    CacheState {
        /// The name of the requested state.
        wanted: &'static str,
        /// Percent of the pages in memory.
        share: f64,
        /// The system call that found it.
        witness: &'static str,
    },
    /// A system call failed.
    #[error("{what}: {error}")]
    Io {
        /// The attempted step.
        what: &'static str,
        /// The error of the system call.
        error: io::Error,
    },
    /// Too many reads failed.
    #[error("gave up after {count} errors, most often: {most}")]
    Errors {
        /// The number of errors.
        count: u64,
        /// The most frequent error.
        most: String,
    },
    /// The stop flag was raised.
    #[error("interrupted")]
    Interrupted,
}

pub(super) fn failed(what: &'static str) -> impl FnOnce(io::Error) -> BenchError {
    move |error| BenchError::Io { what, error }
}

impl ReadPlan {
    /// Checks the plan against itself and the set.
    ///
    /// # Errors
    /// The first thing that cannot be.
    pub fn check(&self, set_bytes: u64) -> Result<Destination, BenchError> {
        self.engine.check(&self.options)?;
        let target = self.target.unwrap_or(self.engine.delivers[0]);
        if !self.engine.delivers_to(target) {
            let (engine, target) = (self.engine.name, target.name());
            return Err(BenchError::Plan(format!("the engine {engine} does not deliver to a {target}")));
        }
        let direct = self.options.direct;
        if direct && target == Destination::Socket {
            return Err(BenchError::Plan("--direct reads into memory, not to a socket".into()));
        }
        if self.block == 0 || direct && !self.block.is_multiple_of(PAGE) {
            let wanted = if direct { "a multiple of 4096 bytes with --direct" } else { "at least one byte" };
            return Err(BenchError::Plan(format!("a block must have {wanted}, not {}", self.block)));
        }
        if self.batch == 0 || self.batch > self.options.depth {
            let depth = self.options.depth;
            return Err(BenchError::Plan(format!(
                "a batch must be 1 to the depth of {depth}, not {}",
                self.batch
            )));
        }
        match self.state {
            CacheState::Hot if direct => Err(BenchError::Plan(
                "--direct bypasses the page cache and cannot be combined with a hot cache".into(),
            )),
            CacheState::ColdByDirect if !direct => {
                Err(BenchError::Plan("cold by direct needs --direct".into()))
            }
            CacheState::ColdByLimit => {
                let limit = memory_limit().map_err(failed("reading the memory limit"))?;
                if set_bytes < limit.saturating_mul(LIMIT_FACTOR) {
                    return Err(BenchError::Plan(format!(
                        "cold by limit needs a set of {LIMIT_FACTOR} times the memory limit of {limit} bytes, and \
                         this one has {set_bytes} (lower the limit: systemd-run --scope -p MemoryMax=256M pitot ...)"
                    )));
                }
                Ok(target)
            }
            _ => Ok(target),
        }
    }
}

/// The memory that this process may use: the least of the machine's and of all its control groups' bounds.
fn memory_limit() -> io::Result<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo")?;
    let kib = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = kib.and_then(|rest| rest.split_whitespace().next()).and_then(|word| word.parse::<u64>().ok());
    let mut limit = kib.map_or(u64::MAX, |kib| kib * 1024);
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    if let Some(path) = groups.lines().find_map(|line| line.strip_prefix("0::/")) {
        let root = std::path::Path::new("/sys/fs/cgroup");
        for group in root.join(path).ancestors().take_while(|group| group.starts_with(root)) {
            let max = std::fs::read_to_string(group.join("memory.max")).unwrap_or_default();
            limit = limit.min(max.trim().parse().unwrap_or(u64::MAX));
        }
    }
    Ok(limit)
}
