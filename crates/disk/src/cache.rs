//! Making the page cache cold or hot for a set of files, and verifying it.

use std::io;

use pitot_sys::disk::pagecache::{self, Witness};
use rustix::fs::{Advice, fadvise, fdatasync};
use rustix::io::pread;

use crate::DiskFile;

/// How much of a set of files is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Residency {
    /// Pages in memory.
    pub resident: u64,
    /// Pages of all files, in memory or not.
    pub total: u64,
    /// The system call that found it.
    pub witness: Witness,
}

impl Residency {
    /// The share in memory, from 0 to 1; 0 for a set without pages.
    pub fn share(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.resident as f64 / self.total as f64 }
    }
}

/// Asks the page cache about files.
///
/// # Errors
/// Those of cachestat(2), or mincore(2) where that is missing.
pub fn residency<'a>(files: impl IntoIterator<Item = &'a DiskFile>) -> io::Result<Residency> {
    let mut sum = Residency { resident: 0, total: 0, witness: Witness::Cachestat };
    for file in files {
        let one = pagecache::residency(file, file.len_now()?)?;
        sum.resident += one.resident;
        sum.total += one.total;
        sum.witness = one.witness;
    }
    Ok(sum)
}

/// Drops a file's pages from memory: writes dirty pages, removes the mapping, and calls posix_fadvise(2) with
/// POSIX_FADV_DONTNEED. Pages that other processes have mapped stay, and so does everything on a file system in memory.
///
/// # Errors
/// Those of fdatasync(2) and posix_fadvise(2).
pub fn make_cold(file: &DiskFile) -> io::Result<()> {
    file.unmap();
    fdatasync(file)?;
    // Pages that are locked at the moment, or in a CPU's batch, stay the first time.
    for _ in 0..DROPS_MAX {
        fadvise(file, 0, None, Advice::DontNeed)?;
        if residency([file])?.resident == 0 {
            break;
        }
        std::thread::sleep(DROP_PAUSE);
    }
    Ok(())
}

/// Files count as cold with at most this share of their pages in memory.
pub(crate) const COLD_SHARE_MAX: f64 = 0.01;

/// Times that dropping is tried.
const DROPS_MAX: u32 = 100;
/// The pause between two tries.
const DROP_PAUSE: std::time::Duration = std::time::Duration::from_millis(2);

/// Reads a whole file, so that its pages are in memory.
///
/// # Errors
/// Those of pread(2).
pub fn make_hot(file: &DiskFile) -> io::Result<()> {
    let mut scratch = vec![0; 1 << 20];
    let mut at = 0;
    loop {
        match pread(file, &mut scratch[..], at)? {
            0 => return Ok(()),
            n => at += n as u64,
        }
    }
}
