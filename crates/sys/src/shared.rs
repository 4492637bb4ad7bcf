use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Counters that several processes share: a zeroed array of atomics on a memory file (memfd_create(2)).
///
/// A forked child has the mapping already; a child that was executed maps it again from the descriptor.
#[derive(Debug)]
pub struct SharedMemory {
    start: NonNull<AtomicU64>,
    count: usize,
    file: OwnedFd,
}

// SAFETY: the mapping is only reachable as a slice of atomics, lives as long as `self`, and is not tied to a thread.
unsafe impl Send for SharedMemory {}
// SAFETY: as above; shared references give shared references to atomics.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// A new array of `count` zeroes.
    ///
    /// # Errors
    /// EMFILE, ENFILE, ENOMEM.
    pub fn new(count: usize) -> io::Result<SharedMemory> {
        let file = memfd_create("pitot-counters", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, (count * size_of::<AtomicU64>()) as u64)?;
        SharedMemory::map(file, count)
    }

    /// The array of `count` atomics in a memory file that another process made.
    ///
    /// # Errors
    /// EINVAL if the file is shorter than that; ENOMEM.
    pub fn from_file(file: OwnedFd, count: usize) -> io::Result<SharedMemory> {
        if rustix::fs::fstat(&file)?.st_size < (count * size_of::<AtomicU64>()) as i64 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        SharedMemory::map(file, count)
    }

    fn map(file: OwnedFd, count: usize) -> io::Result<SharedMemory> {
        assert!(count > 0);
        let bytes = count * size_of::<AtomicU64>();
        // SAFETY: a fresh mapping at an address of the kernel's choice touches no memory that exists.
        let start = unsafe {
            mmap(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &file, 0)?
        };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(SharedMemory { start, count, file })
    }

    /// The shared counters, as a slice.
    pub fn counters(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds `count` aligned words (a page is), zeroed at first, and lives as long as `self`;
        // every process reaches it through atomics only.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl AsFd for SharedMemory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the range is the one that was mapped, and no reference outlives `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.count * size_of::<AtomicU64>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn two_mappings_of_one_file_see_the_same_counters() {
        let a = SharedMemory::new(3).unwrap();
        let b = SharedMemory::from_file(a.as_fd().try_clone_to_owned().unwrap(), 3).unwrap();
        a.counters()[2].store(7, Relaxed);
        assert_eq!(b.counters()[2].load(Relaxed), 7);
        assert!(SharedMemory::from_file(a.as_fd().try_clone_to_owned().unwrap(), 4).is_err());
    }
}
