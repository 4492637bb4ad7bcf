//! Private memory straight from the kernel.

use std::io;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Zeroed private memory (mmap(2), MAP_ANONYMOUS), of which the kernel has given nothing yet: a page comes with its first
/// touch. It is unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: *mut u8,
    bytes: usize,
}

impl Mapping {
    /// Maps so many bytes, at least one.
    ///
    /// # Errors
    /// ENOMEM.
    pub fn new(bytes: usize) -> io::Result<Mapping> {
        // SAFETY: a new mapping at an address that the kernel chooses touches nothing that exists.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )?
        };
        Ok(Mapping { start: start.cast(), bytes })
    }

    /// From now on the kernel gives pages of the smallest size (MADV_NOHUGEPAGE), where it knows others.
    pub fn without_huge_pages(self) -> Mapping {
        // SAFETY: the advice concerns the mapping alone, and changes nothing of its contents.
        let _ = unsafe { madvise(self.start.cast(), self.bytes, Advice::LinuxNoHugepage) };
        self
    }

    /// Writes a byte in every `stride` bytes.
    pub fn touch(&mut self, stride: usize) {
        for offset in (0..self.bytes).step_by(stride) {
            // SAFETY: the address is within the mapping, which this value owns; the write must not be left out.
            unsafe { self.start.add(offset).write_volatile(1) };
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nothing refers to it any more.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_mapping_can_be_touched() {
        Mapping::new(1 << 20).unwrap().touch(4096);
        Mapping::new(1).unwrap().touch(4096);
    }
}
