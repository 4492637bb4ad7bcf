//! Memory that the kernel may read or write asynchronously.

use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Alignment and granularity of buffers: enough for O_DIRECT on every common device.
pub const PAGE: usize = 4096;

/// A bounded set of page-aligned buffers of one size, in one stretch of memory.
///
/// A buffer that is dropped, on whatever thread, goes back; the memory is returned when the pool and all its buffers
/// are gone. So a pool is also the bound on the memory that a server spends on file contents.
#[derive(Clone)]
pub struct BufferPool(Arc<Slab>);

/// One page-aligned buffer, with one owner.
pub struct Buffer {
    slab: Arc<Slab>,
    index: u32,
}

struct Slab {
    start: NonNull<u8>,
    /// Bytes per buffer, a multiple of [`PAGE`].
    stride: usize,
    count: u32,
    free: Mutex<Vec<u32>>,
}

// SAFETY: the memory is reached only through `Buffer`s, each of which owns its own stretch; the free list is locked.
unsafe impl Send for Slab {}
// SAFETY: as above.
unsafe impl Sync for Slab {}

impl Slab {
    fn bytes(&self) -> usize {
        self.stride * self.count as usize
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `BufferPool::new`; no buffer is left, since each keeps the slab alive.
        unsafe {
            let _ = munmap(self.start.as_ptr().cast(), self.bytes());
        }
    }
}

impl BufferPool {
    /// `count` buffers of at least `size` bytes each (rounded up to whole pages), all zero.
    ///
    /// # Errors
    /// ENOMEM; EINVAL if `count` or `size` is zero or their product is too large.
    pub fn new(count: u32, size: usize) -> io::Result<BufferPool> {
        let stride = size.checked_next_multiple_of(PAGE).filter(|&s| s > 0 && count > 0);
        let Some((stride, bytes)) = stride.and_then(|s| Some((s, s.checked_mul(count as usize)?))) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        // SAFETY: a fresh private mapping at an address of the kernel's choice touches no memory that exists.
        let start = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            mmap_anonymous(std::ptr::null_mut(), bytes, access, MapFlags::PRIVATE)?
        };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        // The lowest index is handed out first, so a pool that is little used stays in few pages.
        let free = Mutex::new((0..count).rev().collect());
        Ok(BufferPool(Arc::new(Slab { start, stride, count, free })))
    }

    /// A buffer, unless all are in use. Its contents are whatever its last user left.
    pub fn take(&self) -> Option<Buffer> {
        let index = self.0.free.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        Some(Buffer { slab: Arc::clone(&self.0), index })
    }

    /// The number of buffers, free or in use.
    pub fn count(&self) -> u32 {
        self.0.count
    }

    /// The number of free buffers.
    pub fn free(&self) -> usize {
        self.0.free.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The index of a buffer of this pool, which io_uring needs for registered buffers; none for a buffer of another pool.
    pub(super) fn index_of(&self, buffer: &Buffer) -> Option<u16> {
        if !Arc::ptr_eq(&self.0, &buffer.slab) {
            return None;
        }
        u16::try_from(buffer.index).ok()
    }

    /// All buffers, as io_uring_register_buffers(3) takes them.
    pub(super) fn as_iovecs(&self) -> Vec<libc::iovec> {
        let slab = &self.0;
        (0..slab.count as usize)
            .map(|i| libc::iovec {
                iov_base: slab.start.as_ptr().wrapping_add(i * slab.stride).cast(),
                iov_len: slab.stride,
            })
            .collect()
    }
}

impl fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufferPool({} x {} bytes)", self.0.count, self.0.stride)
    }
}

impl Buffer {
    /// A single buffer of at least `size` bytes that belongs to no pool.
    ///
    /// # Errors
    /// Those of [`BufferPool::new`].
    pub fn alone(size: usize) -> io::Result<Buffer> {
        let pool = BufferPool::new(1, size)?;
        pool.take().ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// The start of the buffer. It stays where it is until the buffer is dropped, however the `Buffer` is moved.
    pub(super) fn start(&self) -> *mut u8 {
        self.slab.start.as_ptr().wrapping_add(self.index as usize * self.slab.stride)
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: this stretch of the slab is initialised (anonymous memory is zero) and owned by this buffer alone.
        unsafe { std::slice::from_raw_parts(self.start(), self.slab.stride) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; the exclusive borrow of the only owner makes it the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.slab.stride) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.slab.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.index);
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.slab.stride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_a_bound_and_dropped_buffers_come_back() {
        let pool = BufferPool::new(2, 5000).unwrap();
        let (mut one, two) = (pool.take().unwrap(), pool.take().unwrap());
        assert_eq!(one.len(), 8192);
        assert!(pool.take().is_none());
        one.fill(7);
        assert!(two.iter().all(|&b| b == 0), "buffers overlap");
        assert_eq!(one.as_ptr() as usize % PAGE, 0);
        std::thread::spawn(move || drop(one)).join().unwrap();
        assert_eq!(pool.free(), 1);
        drop(pool);
        assert_eq!(two[8191], 0, "a buffer outlives the handle of its pool");
    }

    #[test]
    fn impossible_sizes_are_errors() {
        for (count, size) in [(0, 1), (1, 0), (u32::MAX, usize::MAX / 2), (1, usize::MAX)] {
            assert!(BufferPool::new(count, size).is_err(), "{count} x {size}");
        }
    }
}
