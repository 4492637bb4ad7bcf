//! Buffers provided to the kernel for receives (io_uring_register_buf_ring(3)).

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Received bytes in one buffer of the ring, or in some that lie side by side. It is given back by
/// [`Ring::recycle`](super::Ring::recycle).
#[derive(Debug)]
#[must_use = "a chunk that is not recycled is a buffer lost"]
pub struct Chunk {
    id: u16,
    buffers: u16,
    len: u32,
}

impl Chunk {
    /// Bytes received.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Never: the end of input has no chunk.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The buffers and the queue of those that the kernel may fill, in one mapping: first the queue, then the buffers.
pub(super) struct Buffers {
    mapping: NonNull<u8>,
    mapping_bytes: usize,
    queue_bytes: usize,
    count: u16,
    buffer_bytes: u32,
    tail: u16,
    /// Where each buffer was last put into the queue.
    places: Vec<u16>,
    is_leaked: bool,
}

impl Buffers {
    pub(super) fn new(ring: &IoUring, group: u16, count: u16, buffer_bytes: u32) -> io::Result<Buffers> {
        assert!(count.is_power_of_two());
        let page = rustix::param::page_size();
        let queue_bytes = (usize::from(count) * size_of::<BufRingEntry>()).next_multiple_of(page);
        let mapping_bytes = queue_bytes + usize::from(count) * buffer_bytes as usize;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches no memory that exists.
        let mapping = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapping_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        };
        let mapping = NonNull::new(mapping.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let mut buffers = Buffers {
            mapping,
            mapping_bytes,
            queue_bytes,
            count,
            buffer_bytes,
            tail: 0,
            places: vec![0; usize::from(count)],
            is_leaked: false,
        };
        // SAFETY: the queue is page aligned, has `count` entries, and stays mapped until `self` is dropped, which the
        // ring does after it has cancelled every operation, or never where it has not seen the end of one.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(mapping.as_ptr() as u64, count, group, 0)?;
        }
        buffers.recycle(Chunk { id: 0, buffers: count, len: 0 });
        Ok(buffers)
    }

    /// What the kernel has put into this buffer, and into those that follow it in the queue as far as they lie side by side; second,
    /// the buffer that has the rest.
    pub(super) fn chunk(&self, id: u16, len: u32) -> (Chunk, Option<u16>) {
        assert!(id < self.count);
        let mut chunk = Chunk { id, buffers: 1, len: len.min(self.buffer_bytes) };
        while chunk.len < len {
            let next = self.next(id + chunk.buffers - 1);
            if next != id + chunk.buffers {
                return (chunk, Some(next));
            }
            chunk.buffers += 1;
            chunk.len = len.min(u32::from(chunk.buffers) * self.buffer_bytes);
        }
        (chunk, None)
    }

    /// The buffer that follows in the queue, from which the kernel takes them in turn. Its entry is still there: one is only written
    /// over when a buffer that was taken later comes back.
    fn next(&self, id: u16) -> u16 {
        let place = self.places[usize::from(id)].wrapping_add(1) & (self.count - 1);
        // SAFETY: the entry is within the queue, and the kernel does not write the number of a buffer.
        unsafe { (*self.queue().add(usize::from(place))).bid() }
    }

    fn queue(&self) -> *mut BufRingEntry {
        self.mapping.as_ptr().cast()
    }

    pub(super) fn bytes(&self, chunk: &Chunk) -> &[u8] {
        // SAFETY: a chunk names buffers side by side that the kernel has filled with that many bytes and will not touch until they
        // are recycled, for which the chunk is given up.
        unsafe { std::slice::from_raw_parts(self.start(chunk.id), chunk.len as usize) }
    }

    pub(super) fn recycle(&mut self, chunk: Chunk) {
        for id in chunk.id..chunk.id + chunk.buffers {
            let place = self.tail & (self.count - 1);
            // SAFETY: the entry is within the queue and the kernel does not read it before the tail has passed it. Only
            // the fields are written, as the tail itself lies in the padding of the first entry.
            unsafe {
                let entry = &mut *self.queue().add(usize::from(place));
                entry.set_addr(self.start(id) as u64);
                entry.set_len(self.buffer_bytes);
                entry.set_bid(id);
            }
            self.places[usize::from(id)] = place;
            self.tail = self.tail.wrapping_add(1);
        }
        // SAFETY: the address is that of the tail, which the kernel reads with acquire ordering.
        unsafe {
            let tail = BufRingEntry::tail(self.queue()).cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }

    /// Leaves the buffers mapped permanently, as the kernel may still write into them.
    pub(super) fn leak(&mut self) {
        self.is_leaked = true;
    }

    fn start(&self, id: u16) -> *mut u8 {
        let offset = self.queue_bytes + usize::from(id) * self.buffer_bytes as usize;
        debug_assert!(offset + self.buffer_bytes as usize <= self.mapping_bytes);
        // SAFETY: the offset lies within the mapping.
        unsafe { self.mapping.as_ptr().add(offset) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if self.is_leaked {
            return;
        }
        // SAFETY: the range is the one that was mapped; the ring, dropped before, has seen the end of all receives into it.
        let _ = unsafe { munmap(self.mapping.as_ptr().cast(), self.mapping_bytes) };
    }
}
