//! What a run measures, its results, and why there may be none.

use std::io;
use std::path::{Path, PathBuf};

use pitot_meter::{Histogram, Nanos};

use crate::cache::Residency;

/// The files to make, and which phases to time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesPlan {
    /// A directory that is missing or empty.
    pub dir: PathBuf,
    /// Files of each size.
    pub count: u32,
    /// Their sizes in bytes, one after another.
    pub sizes: Vec<u64>,
    /// Threads that share the files of a size.
    pub threads: u32,
    /// Sync each file before it is closed, and time that.
    pub sync: bool,
    /// Drop the files from the page cache before they are read back.
    pub cold: bool,
    /// Time stat(2) of each file.
    pub stat: bool,
    /// Report the time of the removal, which always happens.
    pub delete: bool,
    /// The seed of the contents.
    pub seed: u64,
}

/// A part of the work on each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// open(2) of a file that is not there.
    Create,
    /// write(2) of its contents, and close(2) unless that follows a sync.
    Write,
    /// fsync(2) and close(2).
    Sync,
    /// open(2), read(2) to the end, and close(2).
    Read,
    /// stat(2).
    Stat,
    /// unlink(2).
    Delete,
}

impl Phase {
    /// All of them in the order of the work.
    pub const ALL: &'static [Phase] =
        &[Phase::Create, Phase::Write, Phase::Sync, Phase::Read, Phase::Stat, Phase::Delete];

    /// The word in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Create => "create",
            Phase::Write => "write",
            Phase::Sync => "sync",
            Phase::Read => "read",
            Phase::Stat => "stat",
            Phase::Delete => "delete",
        }
    }

    /// True if it is part of the time that the published experiment took: files created, written and read back.
    pub fn is_published(self) -> bool {
        !matches!(self, Phase::Stat | Phase::Delete)
    }
}

/// The measurement of one phase at one size.
#[derive(Clone, Debug)]
pub struct PhaseReport {
    /// The phase.
    pub phase: Phase,
    /// Time spent in it, the mean over the threads.
    pub elapsed: Nanos,
    /// Time per file.
    pub latency: Histogram,
}

/// The measurement at one size.
#[derive(Clone, Debug)]
pub struct SizeReport {
    /// Bytes per file.
    pub size: u64,
    /// The requested phases, in order.
    pub phases: Vec<PhaseReport>,
    /// The page cache before the files were read back, if they were to be cold.
    pub cold: Option<Residency>,
}

impl SizeReport {
    /// The time of the phases of the published experiment: create, write and read, and sync if requested.
    pub fn elapsed(&self) -> Nanos {
        self.phases.iter().filter(|p| p.phase.is_published()).fold(Nanos::ZERO, |sum, p| sum + p.elapsed)
    }
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The plan is empty.
    #[error("needs at least one file, one size of at least one byte, and 1 to as many threads as files")]
    Plan,
    /// The directory is in use.
    #[error("{0} is not empty")]
    NotEmpty(PathBuf),
    /// A system call failed.
    #[error("{path}: {error}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system call.
        error: io::Error,
    },
    /// A file came back with other bytes than were written.
    #[error("{0} does not contain what was written")]
    Content(PathBuf),
    /// The files stayed in memory.
    #[error("cannot drop the files from memory: {0:.1}% of their pages stayed")]
    StayedHot(f64),
    /// The stop flag was raised.
    #[error("interrupted; the files were removed")]
    Interrupted,
}

/// The error of a failed system call on `path`.
pub(super) fn failed(path: &Path) -> impl FnOnce(io::Error) -> FilesError + '_ {
    move |error| FilesError::Io { path: path.to_owned(), error }
}
