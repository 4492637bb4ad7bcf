//! POSIX AIO (aio(7)) as glibc has it: a pool of helper threads behind aio_read(3).
//!
//! The library reports a completion in one of three ways: not at all (the caller polls each request with aio_error(3),
//! or sleeps in aio_suspend(3)), by a realtime signal, or by a new thread. An event loop cannot wait for either of the
//! last two, so both write the number of the finished slot to a pipe, which it can wait for (the self-pipe trick, in
//! `hints.rs`). What is in the pipe is a hint only; aio_error(3) decides. A request whose hint was lost (the queue of
//! signals is bounded, and creating a thread may fail) is found by polling all requests when no hint has come for a
//! while.
//!
//! Facts of this implementation that decide its speed: requests to one *descriptor* are served one at a time, those to
//! different ones in parallel by up to 20 helpers ([`set_helper_threads`]).

mod glibc;
mod hints;

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::time::Duration;

use super::operation::{Finished, Operation, Refused, Transfer, Wait};
use crate::Unavailable;

pub use glibc::set_helper_threads;
use hints::Hints;
pub use hints::{DEPTH_MAX, Notification};

/// If no hint comes for this long although operations are in flight, all of them are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long to sleep in aio_suspend(3), which is given a bounded number of requests, before the others are polled.
const SUSPEND_INTERVAL: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// Operations in flight through POSIX AIO. Dropping it cancels what has not started and waits for the rest.
#[derive(Debug)]
pub struct PosixAio<F> {
    /// An array of control blocks, to which helper threads hold pointers; made and freed as a boxed slice.
    blocks: NonNull<MaybeUninit<libc::aiocb>>,
    held: Box<[Option<Operation<F>>]>,
    /// Slots without an operation.
    free: Vec<u32>,
    /// Slots with an operation, in no order.
    busy: Vec<u32>,
    /// None if the caller polls.
    hints: Option<Hints>,
}

impl<F: AsFd> PosixAio<F> {
    /// Room for `depth` operations.
    ///
    /// # Errors
    /// No descriptors for the pipe, too many instances with notifications, or a signal that is in use.
    pub fn new(depth: u32, notification: Notification) -> Result<PosixAio<F>, Unavailable> {
        let depth = depth.clamp(1, DEPTH_MAX);
        let hints = Hints::new(notification)?;
        let blocks: Box<[MaybeUninit<libc::aiocb>]> = (0..depth).map(|_| MaybeUninit::zeroed()).collect();
        Ok(PosixAio {
            blocks: NonNull::from(Box::leak(blocks)).cast(),
            held: (0..depth).map(|_| None).collect(),
            free: (0..depth).rev().collect(),
            busy: Vec::with_capacity(depth as usize),
            hints,
        })
    }

    /// Hands an operation to the library at once; there is nothing to commit.
    ///
    /// # Errors
    /// [`Refused::Full`] beyond the depth or the library's own limits (EAGAIN), otherwise why it failed.
    pub fn submit(&mut self, operation: Operation<F>) -> Result<(), Refused<F>> {
        if matches!(operation.transfer, Transfer::Send { .. }) {
            return Err(failed(operation, io::ErrorKind::Unsupported.into()));
        }
        let Some(&slot) = self.free.last() else {
            return Err(Refused::Full(operation));
        };
        let (start, len) = operation.transfer.memory();
        let block = self.block(slot);
        // SAFETY: the slot is free, so no helper thread knows its block; zeroes are a valid aiocb. The memory is owned
        // by the operation, which is held in the slot until aio_error says that the request is over; likewise the
        // descriptor.
        let result = unsafe {
            block.write_bytes(0, 1);
            (*block).aio_fildes = operation.file.as_fd().as_raw_fd();
            (*block).aio_buf = start.cast();
            (*block).aio_nbytes = len;
            (*block).aio_offset = operation.offset as libc::off_t;
            hints::describe(self.hints.as_ref(), slot, &raw mut (*block).aio_sigevent);
            match operation.transfer {
                Transfer::Read { .. } => libc::aio_read(block),
                Transfer::Write { .. } => libc::aio_write(block),
                Transfer::Sync { data_only: true } => libc::aio_fsync(libc::O_DSYNC, block),
                Transfer::Sync { data_only: false } | Transfer::Send { .. } => {
                    libc::aio_fsync(libc::O_SYNC, block)
                }
            }
        };
        if result != 0 {
            let error = io::Error::last_os_error();
            return Err(match error.raw_os_error() {
                Some(libc::EAGAIN) if !self.busy.is_empty() => Refused::Full(operation),
                _ => failed(operation, error),
            });
        }
        self.free.pop();
        self.busy.push(slot);
        self.held[slot as usize] = Some(operation);
        if let Some(hints) = &mut self.hints {
            hints.expect_one();
        }
        Ok(())
    }

    /// Appends what has completed.
    ///
    /// # Errors
    /// Those of poll(2).
    pub fn reap(&mut self, wait: Wait, done: &mut Vec<Finished<F>>) -> io::Result<()> {
        match self.hints {
            None => self.reap_by_polling(wait, done),
            Some(_) => self.reap_by_hints(wait, done)?,
        }
        Ok(())
    }

    /// Operations in flight.
    pub fn in_flight(&self) -> usize {
        self.busy.len()
    }

    /// Readable when an operation has completed; none if the caller polls.
    pub fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        self.hints.as_ref().map(AsFd::as_fd)
    }

    fn reap_by_polling(&mut self, wait: Wait, done: &mut Vec<Finished<F>>) {
        loop {
            let before = done.len();
            self.poll_all(done);
            if done.len() > before || wait == Wait::No || self.busy.is_empty() {
                return;
            }
            self.suspend();
        }
    }

    fn reap_by_hints(&mut self, wait: Wait, done: &mut Vec<Finished<F>>) -> io::Result<()> {
        let before = done.len();
        loop {
            self.follow_hints(done);
            if done.len() > before || wait == Wait::No || self.busy.is_empty() {
                return Ok(());
            }
            if !self.hints.as_ref().is_some_and(|hints| hints.wait(POLL_INTERVAL)) {
                self.poll_all(done);
            }
        }
    }

    /// Takes what the pipe says has completed.
    fn follow_hints(&mut self, done: &mut Vec<Finished<F>>) {
        let mut slots = [0u32; 64];
        while let Some(count) = self.hints.as_mut().map(|hints| hints.read(&mut slots)) {
            for &slot in &slots[..count] {
                if let Some(at) = self.busy.iter().position(|&busy| busy == slot)
                    && let Some(result) = self.poll(slot)
                {
                    done.push(self.finish(at, result));
                }
            }
            if count < slots.len() {
                return;
            }
        }
    }

    /// Takes everything that has completed.
    fn poll_all(&mut self, done: &mut Vec<Finished<F>>) {
        let mut at = 0;
        while let Some(&slot) = self.busy.get(at) {
            match self.poll(slot) {
                Some(result) => done.push(self.finish(at, result)),
                None => at += 1,
            }
        }
    }

    /// The result of a busy slot, once.
    fn poll(&mut self, slot: u32) -> Option<io::Result<usize>> {
        let block = self.block(slot);
        // SAFETY: the block was given to aio_read or one of its kin and its result has not been taken yet.
        match unsafe { libc::aio_error(block) } {
            libc::EINPROGRESS => None,
            error => {
                // SAFETY: the request is over, and this is the only place that takes its result.
                let count = unsafe { libc::aio_return(block) };
                Some(if error == 0 { Ok(count as usize) } else { Err(io::Error::from_raw_os_error(error)) })
            }
        }
    }

    fn finish(&mut self, at: usize, result: io::Result<usize>) -> Finished<F> {
        let slot = self.busy.swap_remove(at);
        self.free.push(slot);
        match self.held[slot as usize].take() {
            Some(operation) => Finished { operation, result },
            None => unreachable!("a busy slot holds an operation"),
        }
    }

    /// Sleeps until an operation completes or, if there are more than can be waited for at once, for a moment.
    fn suspend(&self) {
        let mut list = [std::ptr::null(); 64];
        let count = self.busy.len().min(list.len());
        for (entry, &slot) in list.iter_mut().zip(&self.busy) {
            *entry = self.block(slot).cast_const();
        }
        let interval = SUSPEND_INTERVAL;
        let limit = if count < self.busy.len() { &raw const interval } else { std::ptr::null() };
        // SAFETY: the list holds `count` pointers to live blocks, and the time limit lives through the call. An
        // interruption does no harm: the caller polls again.
        unsafe {
            libc::aio_suspend(list.as_ptr(), count as libc::c_int, limit);
        }
    }

    fn block(&self, slot: u32) -> *mut libc::aiocb {
        assert!((slot as usize) < self.held.len());
        self.blocks.as_ptr().wrapping_add(slot as usize).cast()
    }
}

fn failed<F>(operation: Operation<F>, error: io::Error) -> Refused<F> {
    Refused::Failed(Finished { operation, result: Err(error) })
}

impl<F> Drop for PosixAio<F> {
    fn drop(&mut self) {
        let blocks = self.blocks.as_ptr().cast::<libc::aiocb>();
        for &slot in &self.busy {
            let block = blocks.wrapping_add(slot as usize);
            // SAFETY: each busy block is known to the library until aio_error says otherwise; the descriptor is still
            // open, since the operation that keeps it is still held. Cancelling is best effort, so the loop waits.
            unsafe {
                libc::aio_cancel((*block).aio_fildes, block);
                while libc::aio_error(block) == libc::EINPROGRESS {
                    let list = [block.cast_const()];
                    libc::aio_suspend(list.as_ptr(), 1, std::ptr::null());
                }
                libc::aio_return(block);
            }
        }
        // A helper thread still notifies after the result is known, and only then forgets the block.
        drop(self.hints.take());
        let blocks = NonNull::slice_from_raw_parts(self.blocks, self.held.len());
        // SAFETY: this is the slice leaked in `new`, and every request in it is over.
        drop(unsafe { Box::from_raw(blocks.as_ptr()) });
    }
}

#[cfg(test)]
mod tests;
