//! What `pitot disk read --json` and `pitot disk files --json` print.

use serde::{Deserialize, Serialize};

use crate::latency::Latency;

/// The schema of [`DiskRead`] and [`DiskFiles`].
pub const SCHEMA: &str = "pitot-disk/1";
/// The command of [`DiskRead`].
pub const READ: &str = "read";
/// The command of [`DiskFiles`].
pub const FILES: &str = "files";

/// Reads of a set of files, by one engine or several in turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskRead {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`READ`].
    pub command: String,
    /// The version of the program that printed it.
    pub version: String,
    /// When the command started, RFC 3339.
    pub started_at: String,
    /// The type of the file system, such as `ext4`; empty if it is not known.
    pub file_system: String,
    /// The files.
    pub set: ReadSet,
    /// One run for each engine that could be measured.
    pub runs: Vec<ReadRun>,
    /// The engines that could not.
    pub skipped: Vec<SkippedEngine>,
}

/// The files that are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadSet {
    /// How many.
    pub files: u64,
    /// The size of each, bytes.
    pub file_size_bytes: u64,
    /// The seed of their contents.
    pub seed: u64,
}

/// The reads of one engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadRun {
    /// The engine's name.
    pub engine: String,
    /// The options as they took effect.
    pub options: ReadOptions,
    /// Reads that count.
    pub operations: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// The time that counts, seconds: without preparation, warm-up and the cooling between passes.
    pub elapsed_s: f64,
    /// Reads per second.
    pub iops: f64,
    /// Bytes per second.
    pub throughput_bytes_per_s: f64,
    /// From the submission of a read to its completion, nanoseconds.
    pub latency_ns: Latency,
    /// The same: base64 of the HdrHistogram V2 deflate encoding.
    pub histogram: String,
    /// CPU time of the reads.
    pub cpu: ReadCpu,
    /// Passes over the set that were begun.
    pub passes: u64,
    /// Reads that helper threads had to do because their bytes were not in memory.
    pub misses: u64,
    /// What the page cache held of the set.
    pub cache: ReadCache,
    /// Failed reads, by what failed.
    pub errors: Vec<ReadErrors>,
}

/// The options of a run as they took effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadOptions {
    /// Where the bytes go: `buffer` or `socket`.
    pub target: String,
    /// The order of the reads.
    pub pattern: String,
    /// The state of the page cache before each pass.
    pub state: String,
    /// Bytes of one read.
    pub block_bytes: u64,
    /// Reads in flight.
    pub depth: u64,
    /// Reads queued before they are submitted.
    pub batch: u64,
    /// Helper threads.
    pub threads: u64,
    /// How completions are notified.
    pub notify: String,
    /// Each read in flight has a descriptor of its own.
    pub descriptor_per_slot: bool,
    /// mincore(2) tells whether a block is in memory before it is read.
    pub mincore: bool,
    /// Buffers are registered with the kernel.
    pub fixed_buffers: bool,
    /// Files are registered with the kernel.
    pub fixed_files: bool,
    /// The page cache is bypassed.
    pub direct: bool,
    /// Completions are awaited in an event loop.
    pub event_loop: bool,
    /// The caller waits for the disk when a block is not in memory.
    pub blocks_on_cold: bool,
}

/// CPU time of all threads of the process, without the time that discarding sent bytes took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadCpu {
    /// In user mode, seconds.
    pub user_s: f64,
    /// In the kernel, seconds.
    pub system_s: f64,
    /// Both together per read, microseconds.
    pub per_operation_us: f64,
}

/// What the page cache held of the set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadCache {
    /// Before the first pass.
    pub before: CacheResidency,
    /// At the end.
    pub after: CacheResidency,
}

/// How much of some files is in the page cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheResidency {
    /// Pages in memory.
    pub resident_pages: u64,
    /// All their pages.
    pub pages: u64,
    /// The system call that counted them.
    pub witness: String,
}

/// Reads that failed in the same way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadErrors {
    /// What failed.
    pub what: String,
    /// How many.
    pub count: u64,
}

/// An engine that could not be measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkippedEngine {
    /// Its name.
    pub engine: String,
    /// Why, in one sentence.
    pub why: String,
}

/// Many small files of each size, created, written and read back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskFiles {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`FILES`].
    pub command: String,
    /// The version of the program that printed it.
    pub version: String,
    /// When the command started, RFC 3339.
    pub started_at: String,
    /// The type of the file system, such as `ext4`; empty if it is not known.
    pub file_system: String,
    /// The options as they took effect.
    pub options: FilesOptions,
    /// One entry for each size, in the order asked for.
    pub sizes: Vec<FilesOfSize>,
}

/// The options of `pitot disk files` as they took effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilesOptions {
    /// The directory.
    pub dir: String,
    /// Files of each size.
    pub count: u64,
    /// Their sizes, bytes.
    pub sizes: Vec<u64>,
    /// Threads that share the work.
    pub parallel: u64,
    /// Each file is synced before it is closed.
    pub fsync: bool,
    /// The files are dropped from the page cache before they are read back.
    pub cold: bool,
    /// stat(2) is timed, too.
    pub stat: bool,
    /// The removal is timed, too.
    pub delete: bool,
    /// The seed of their contents.
    pub seed: u64,
}

/// All files of one size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilesOfSize {
    /// The size of each, bytes.
    pub size_bytes: u64,
    /// The time of the phases that the published comparison counts, seconds.
    pub elapsed_s: f64,
    /// Files per second of that time.
    pub files_per_s: f64,
    /// The phases in their order.
    pub phases: Vec<FilesPhase>,
    /// What the page cache held before the files were read back, where they were dropped from it.
    pub cache_before_read: Option<CacheResidency>,
}

/// One phase over all files of a size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilesPhase {
    /// `create`, `write`, `read`, `stat` or `delete`.
    pub phase: String,
    /// How long it took, seconds.
    pub elapsed_s: f64,
    /// Files per second.
    pub files_per_s: f64,
    /// The time of one file, nanoseconds.
    pub latency_ns: Latency,
    /// The same: base64 of the HdrHistogram V2 deflate encoding.
    pub histogram: String,
}
