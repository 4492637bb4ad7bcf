//! Questions to the page cache: which pages of a file are in memory?

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::Mapping;

/// What the page cache holds of a range of a file, in pages (cachestat(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CacheStat {
    /// Pages in the page cache (`nr_cache`).
    pub cached: u64,
    /// Cached and changed since they were last written.
    pub dirty: u64,
    /// Cached and being written.
    pub writeback: u64,
    /// Once cached and evicted since.
    pub evicted: u64,
    /// Evicted so recently that reading them again indicates a lack of memory.
    pub recently_evicted: u64,
}

/// How much of a file is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Residency {
    /// Pages in memory.
    pub resident: u64,
    /// Pages of the file.
    pub total: u64,
    /// The system call that found it.
    pub witness: Witness,
}

/// The system call that answered a question about the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Witness {
    /// cachestat(2), since Linux 6.5.
    Cachestat,
    /// mincore(2) over a mapping. Since Linux 5.2 it is accurate only for users who own the file or may write it.
    Mincore,
}

impl Witness {
    /// The name of the system call.
    pub const fn name(self) -> &'static str {
        match self {
            Witness::Cachestat => "cachestat",
            Witness::Mincore => "mincore",
        }
    }
}

/// The number of cachestat(2), the same on all architectures.
const SYS_CACHESTAT: libc::c_long = 451;

/// What the page cache holds of `len` bytes from `offset`; a length of zero means to the end.
///
/// # Errors
/// ENOSYS before Linux 6.5; EOPNOTSUPP on hugetlbfs; EPERM where the file is neither ours nor writable.
pub fn cachestat(file: impl AsFd, offset: u64, len: u64) -> io::Result<CacheStat> {
    let range = [offset, len];
    let mut stat = CacheStat::default();
    // SAFETY: the kernel reads two integers from `range` and writes five to `stat`, whose layout is that of its
    // `struct cachestat`; both live through the call.
    let result = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_fd().as_raw_fd(),
            range.as_ptr(),
            &raw mut stat,
            0 as libc::c_uint,
        )
    };
    if result == 0 { Ok(stat) } else { Err(io::Error::last_os_error()) }
}

/// How much of the first `len` bytes of a file is in memory, by the best witness that this kernel has.
///
/// # Errors
/// Those of [`cachestat`] other than ENOSYS, or of mmap(2) and mincore(2).
pub fn residency(file: impl AsFd, len: u64) -> io::Result<Residency> {
    let total = len.div_ceil(rustix::param::page_size() as u64);
    if len == 0 {
        return Ok(Residency { resident: 0, total, witness: Witness::Cachestat });
    }
    match cachestat(&file, 0, len) {
        Ok(stat) => Ok(Residency { resident: stat.cached.min(total), total, witness: Witness::Cachestat }),
        Err(e) if e.raw_os_error() == Some(libc::ENOSYS) => mincore(file, len, total),
        Err(e) => Err(e),
    }
}

fn mincore(file: impl AsFd, len: u64, total: u64) -> io::Result<Residency> {
    let len = usize::try_from(len).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    let resident = Mapping::new(file, len)?.resident_pages(0, len)? as u64;
    Ok(Residency { resident, total, witness: Witness::Mincore })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    #[test]
    fn both_witnesses_agree_about_a_file_just_written() {
        let path = std::env::temp_dir().join(format!("pitot-residency-{}", std::process::id()));
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.write_all(&[1; 100_000]).unwrap();
        let total = 100_000u64.div_ceil(rustix::param::page_size() as u64);
        let said = residency(&file, 100_000).unwrap();
        assert_eq!((said.resident, said.total), (total, total));
        assert_eq!(mincore(&file, 100_000, total).unwrap().resident, total);
        assert_eq!(residency(&file, 0).unwrap().total, 0);
    }
}
