//! By which a file is known to be the same as before.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use pitot_record::database::beside;

/// The state of a file with its write-ahead log, which has what a run writes until it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The inode of the file.
    pub inode: u64,
    /// Bytes of both.
    pub bytes: u64,
    /// When one of them was written last.
    pub modified: Option<SystemTime>,
    /// Whether it has a log, which a file has while it is written, and after its writer was killed.
    pub has_log: bool,
}

impl Stamp {
    /// Of a file; none if it cannot be looked at.
    pub fn of(path: &Path) -> Option<Stamp> {
        let file = fs::metadata(path).ok()?;
        let log = fs::metadata(beside(path, "-wal")).ok();
        let both = [Some(&file), log.as_ref()].into_iter().flatten();
        Some(Stamp {
            inode: file.ino(),
            bytes: file.len() + log.as_ref().map_or(0, fs::Metadata::len),
            modified: both.filter_map(|about| about.modified().ok()).max(),
            has_log: log.is_some(),
        })
    }

    /// Seconds since it was written last.
    pub fn idle_s(&self) -> f64 {
        let idle = self.modified.and_then(|modified| modified.elapsed().ok());
        idle.unwrap_or_default().as_secs_f64()
    }

    /// When it was written last, in nanoseconds since 1970.
    pub(crate) fn modified_ns(&self) -> i64 {
        let since = self.modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
        since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_default()
    }
}
