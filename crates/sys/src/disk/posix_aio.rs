//! POSIX AIO (aio(7)) as glibc has it: a pool of helper threads behind aio_read(3).
//!
//! A completion is told in one of three ways: not at all (the caller asks each request with aio_error(3), or sleeps
//! in aio_suspend(3)), by a realtime signal, or by a thread that is made for it. An event loop cannot wait for either
//! of the last two, so both write the number of the finished slot to a pipe, which it can: the self-pipe trick. What
//! is in the pipe is a hint. The truth is aio_error(3), and a request whose hint was lost (the queue of signals is
//! bounded, a thread may not be made) is found by asking all requests whenever no hint comes for a while.
//!
//! Facts of this implementation that decide its speed: requests to one *descriptor* are served one at a time, those to
//! different ones in parallel by up to 20 helpers ([`set_helper_threads`]).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};

use super::{Finished, Operation, Refused, Transfer, Wait};
use crate::Unavailable;

/// How a completion is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It is not: the caller polls.
    Poll,
    /// By a realtime signal, which interrupts whatever thread it meets (SIGEV_SIGNAL).
    Signal,
    /// By a thread that the library makes for this completion (SIGEV_THREAD).
    Thread,
}

/// At most this many operations may be in flight in one instance: their hints fit the smallest pipe.
pub const DEPTH_MAX: u32 = 1000;

/// If no hint comes for this long although operations are in flight, each of them is asked.
const HINT_PATIENCE: Duration = Duration::from_millis(50);
/// At the end, hints that are still owed are waited for this long; see `Hints::drop`.
const LAST_HINT_PATIENCE: Duration = Duration::from_secs(2);

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
    hints: Option<Hints>,
    notice: Notice,
}

impl<F: AsFd> PosixAio<F> {
    /// Room for `depth` operations.
    ///
    /// # Errors
    /// No descriptors for the pipe, too many instances with a notice, or a signal that somebody else uses.
    pub fn new(depth: u32, notice: Notice) -> Result<PosixAio<F>, Unavailable> {
        let depth = depth.clamp(1, DEPTH_MAX);
        let hints = match notice {
            Notice::Poll => None,
            Notice::Signal => {
                handle_signal()?;
                Some(Hints::new()?)
            }
            Notice::Thread => Some(Hints::new()?),
        };
        let blocks: Box<[MaybeUninit<libc::aiocb>]> = (0..depth).map(|_| MaybeUninit::zeroed()).collect();
        Ok(PosixAio {
            blocks: NonNull::from(Box::leak(blocks)).cast(),
            held: (0..depth).map(|_| None).collect(),
            free: (0..depth).rev().collect(),
            busy: Vec::with_capacity(depth as usize),
            hints,
            notice,
        })
    }

    /// Starts an operation.
    ///
    /// # Errors
    /// [`Refused::Full`] beyond the depth or the library's own limits (EAGAIN), otherwise what it failed of.
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
            self.describe_notice(slot, &raw mut (*block).aio_sigevent);
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
            hints.owed += 1;
        }
        Ok(())
    }

    /// Appends what has completed.
    ///
    /// # Errors
    /// None that is known; those of poll(2).
    pub fn reap(&mut self, wait: Wait, done: &mut Vec<Finished<F>>) -> io::Result<()> {
        match self.hints {
            None => self.reap_by_asking(wait, done),
            Some(_) => self.reap_by_hints(wait, done)?,
        }
        Ok(())
    }

    /// Operations in flight.
    pub fn in_flight(&self) -> usize {
        self.busy.len()
    }

    /// Readable when an operation has completed, if the completions are told.
    pub fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        self.hints.as_ref().map(|hints| hints.reader.as_fd())
    }

    fn reap_by_asking(&mut self, wait: Wait, done: &mut Vec<Finished<F>>) {
        loop {
            let before = done.len();
            self.ask_all(done);
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
            if !self.hints.as_ref().is_some_and(|hints| hints.wait(HINT_PATIENCE)) {
                self.ask_all(done);
            }
        }
    }

    /// Takes what the pipe says has completed.
    fn follow_hints(&mut self, done: &mut Vec<Finished<F>>) {
        let mut slots = [0u32; 64];
        while let Some(count) = self.hints.as_mut().map(|hints| hints.read(&mut slots)) {
            for &slot in &slots[..count] {
                if let Some(at) = self.busy.iter().position(|&busy| busy == slot)
                    && let Some(result) = self.ask(slot)
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
    fn ask_all(&mut self, done: &mut Vec<Finished<F>>) {
        let mut at = 0;
        while let Some(&slot) = self.busy.get(at) {
            match self.ask(slot) {
                Some(result) => done.push(self.finish(at, result)),
                None => at += 1,
            }
        }
    }

    /// The result of a busy slot, once.
    fn ask(&mut self, slot: u32) -> Option<io::Result<usize>> {
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

    /// Sleeps until an operation completes or, since it looks at a bounded number of them, a moment.
    fn suspend(&self) {
        let mut list = [std::ptr::null(); 64];
        let count = self.busy.len().min(list.len());
        for (entry, &slot) in list.iter_mut().zip(&self.busy) {
            *entry = self.block(slot).cast_const();
        }
        let patience = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        let limit = if count < self.busy.len() { &raw const patience } else { std::ptr::null() };
        // SAFETY: the list holds `count` pointers to live blocks, and the time limit lives through the call. An
        // interruption is as good as a completion: the caller asks again.
        unsafe {
            libc::aio_suspend(list.as_ptr(), count as libc::c_int, limit);
        }
    }

    fn block(&self, slot: u32) -> *mut libc::aiocb {
        assert!((slot as usize) < self.held.len());
        self.blocks.as_ptr().wrapping_add(slot as usize).cast()
    }

    /// Fills in how the completion of `slot` is to be told.
    ///
    /// # Safety
    /// `event` must point to a zeroed sigevent.
    unsafe fn describe_notice(&self, slot: u32, event: *mut libc::sigevent) {
        let Some(hints) = &self.hints else {
            // SAFETY: the caller vouches for the pointer.
            unsafe { (*event).sigev_notify = libc::SIGEV_NONE };
            return;
        };
        let value = libc::sigval { sival_ptr: std::ptr::without_provenance_mut(hint(hints.desk, slot)) };
        // SAFETY: the caller vouches for the pointer, and a `ThreadEvent` is a sigevent as the library reads it.
        unsafe {
            (*event).sigev_value = value;
            if self.notice == Notice::Signal {
                (*event).sigev_notify = libc::SIGEV_SIGNAL;
                (*event).sigev_signo = completion_signal();
            } else {
                (*event).sigev_notify = libc::SIGEV_THREAD;
                (*event.cast::<ThreadEvent>()).function = Some(on_thread);
            }
        }
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
        // A helper still tells of a request after its result is known, and only then forgets the block.
        drop(self.hints.take());
        let blocks = NonNull::slice_from_raw_parts(self.blocks, self.held.len());
        // SAFETY: this is the slice leaked in `new`, and every request in it is over.
        drop(unsafe { Box::from_raw(blocks.as_ptr()) });
    }
}

/// The pipe through which the completions of one instance are hinted at.
#[derive(Debug)]
struct Hints {
    reader: OwnedFd,
    /// Closed only when nobody can write to it any more.
    writer: Option<OwnedFd>,
    desk: usize,
    /// Hints that will come for operations that were started.
    owed: usize,
}

/// Where a signal handler finds the pipe of an instance: -1 for an unused desk.
static DESKS: [AtomicI32; 64] = [const { AtomicI32::new(-1) }; 64];

/// Bits of a hint that hold the slot; the desk is above them.
const SLOT_BITS: u32 = 16;
const _: () = assert!(DEPTH_MAX < 1 << SLOT_BITS);

fn hint(desk: usize, slot: u32) -> usize {
    desk << SLOT_BITS | slot as usize
}

impl Hints {
    fn new() -> Result<Hints, Unavailable> {
        let unavailable = |cause: String, cure: &str| Unavailable {
            what: "notice of POSIX AIO completions".into(),
            cause,
            cure: cure.into(),
        };
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
            .map_err(|e| unavailable(format!("no pipe: {e}"), "raise the limit on descriptors: ulimit -n"))?;
        let fd: RawFd = writer.as_raw_fd();
        let claim = |d: &AtomicI32| d.compare_exchange(-1, fd, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        let Some(desk) = DESKS.iter().position(claim) else {
            return Err(unavailable(
                format!("{} engines of this process have it already", DESKS.len()),
                "run fewer workers per process, or take the engine posix-aio-poll",
            ));
        };
        Ok(Hints { reader, writer: Some(writer), desk, owed: 0 })
    }

    /// Reads slots and returns how many.
    fn read(&mut self, slots: &mut [u32; 64]) -> usize {
        let mut bytes = [0u8; 256];
        // Hints are written four bytes at a time, so whole ones come out.
        let count = rustix::io::read(&self.reader, &mut bytes).unwrap_or(0) / 4;
        for (slot, chunk) in slots.iter_mut().zip(bytes.chunks_exact(4)).take(count) {
            *slot = u32::from_ne_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
        }
        self.owed = self.owed.saturating_sub(count);
        count
    }

    /// Waits until there is something to read, or no longer than `patience`. Signals do not end the wait.
    fn wait(&self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let left = Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos().into() };
            let mut fds = [PollFd::new(&self.reader, PollFlags::IN)];
            match poll(&mut fds, Some(&left)) {
                Ok(ready) => return ready > 0,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}

impl Drop for Hints {
    /// Takes the pipe away once nobody will write to it: when as many hints have come as operations were started. If
    /// one was lost the writing end stays open for good, rather than that a late handler writes into a stranger.
    fn drop(&mut self) {
        let mut slots = [0; 64];
        let end = Instant::now() + LAST_HINT_PATIENCE;
        while self.owed > 0 && Instant::now() < end {
            self.wait(HINT_PATIENCE);
            self.read(&mut slots);
        }
        if self.owed > 0
            && let Some(writer) = self.writer.take()
        {
            std::mem::forget(writer);
            return;
        }
        DESKS[self.desk].store(-1, Ordering::SeqCst);
    }
}

/// Writes a hint to its pipe. Safe in a signal handler: one load, one write(2).
fn give_hint(hint: usize) {
    let (desk, slot) = (hint >> SLOT_BITS, hint as u32 & ((1 << SLOT_BITS) - 1));
    let fd = DESKS.get(desk).map_or(-1, |d| d.load(Ordering::SeqCst));
    if fd >= 0 {
        // SAFETY: the pipe of a desk is not closed while a hint to it is owed, which this one is.
        let _ = rustix::io::write(unsafe { BorrowedFd::borrow_raw(fd) }, &slot.to_ne_bytes());
    }
}

/// Runs on a thread that the library made for one completion.
extern "C" fn on_thread(value: libc::sigval) {
    give_hint(value.sival_ptr.addr());
}

/// Runs on whatever thread the signal met.
extern "C" fn on_signal(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo, and errno is this thread's own; it is put back, since the interrupted
    // code may be about to look at it.
    unsafe {
        let errno = *libc::__errno_location();
        if (*info).si_code == libc::SI_ASYNCIO {
            give_hint((*info).si_value().sival_ptr.addr());
        }
        *libc::__errno_location() = errno;
    }
}

/// The signal that tells of completions: the last but one, far from those that other mechanisms count up from the
/// first.
fn completion_signal() -> libc::c_int {
    libc::SIGRTMAX() - 1
}

/// Installs the handler and lets the signal through to this thread.
fn handle_signal() -> Result<(), Unavailable> {
    let signal = completion_signal();
    let ours = on_signal as *const () as usize;
    // SAFETY: zeroes are a valid sigaction and a valid signal set; the handler has the signature that SA_SIGINFO asks
    // for; the calls fill or read these locals only.
    let before = unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut before);
        if before.sa_sigaction == libc::SIG_DFL {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = ours;
            // Calls that can be restarted are; the waits of event loops never are, and pay for each signal.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        before.sa_sigaction
    };
    if before == libc::SIG_DFL || before == ours {
        return Ok(());
    }
    Err(Unavailable {
        what: "POSIX AIO with signals".into(),
        cause: format!("realtime signal {signal} has another handler in this process"),
        cure: "take the engine posix-aio-thread or posix-aio-poll".into(),
    })
}

/// A sigevent for SIGEV_THREAD, of which the libc crate shows no fields: the layout of `struct sigevent` in glibc.
#[repr(C)]
struct ThreadEvent {
    value: libc::sigval,
    signal: libc::c_int,
    notify: libc::c_int,
    function: Option<extern "C" fn(libc::sigval)>,
    attributes: *mut libc::pthread_attr_t,
}

const _: () = assert!(
    size_of::<ThreadEvent>() <= size_of::<libc::sigevent>()
        && std::mem::offset_of!(ThreadEvent, notify) == std::mem::offset_of!(libc::sigevent, sigev_notify)
        && std::mem::offset_of!(ThreadEvent, function)
            == std::mem::offset_of!(libc::sigevent, sigev_notify_thread_id)
);

/// The layout of `struct aioinit` in glibc, which the libc crate does not have.
#[repr(C)]
struct AioInit {
    threads: libc::c_int,
    requests: libc::c_int,
    locks: libc::c_int,
    use_dba: libc::c_int,
    debug: libc::c_int,
    users: libc::c_int,
    idle_time_s: libc::c_int,
    reserved: libc::c_int,
}

unsafe extern "C" {
    fn aio_init(init: *const AioInit);
}

/// Sets how many helper threads the library may have, for this whole process. It heeds this before the first request
/// only.
pub fn set_helper_threads(threads: u32, requests: u32) {
    let init = AioInit {
        threads: threads.clamp(1, 1024).cast_signed(),
        requests: requests.clamp(1, 65_536).cast_signed(),
        locks: 0,
        use_dba: 0,
        debug: 0,
        users: 0,
        idle_time_s: 1,
        reserved: 0,
    };
    // SAFETY: the structure is laid out as the library's and is only read during the call.
    unsafe { aio_init(&raw const init) };
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;
    use crate::disk::Buffer;

    fn read(file: &File, token: u64, offset: u64, len: usize) -> Operation<File> {
        let transfer = Transfer::Read { buffer: Buffer::alone(len).unwrap(), len };
        Operation { token, file: file.try_clone().unwrap(), offset, transfer }
    }

    fn letters() -> File {
        let path = std::env::temp_dir().join(format!(
            "pitot-aio-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.write_all(b"abcdefghijklmnopqrstuvwxyz").unwrap();
        file
    }

    #[test]
    fn every_notice_tells_of_every_completion() {
        let file = letters();
        for notice in [Notice::Poll, Notice::Signal, Notice::Thread] {
            let mut aio = PosixAio::new(8, notice).unwrap();
            for round in 0..50 {
                for i in 0..8 {
                    aio.submit(read(&file, round * 8 + i, i, 1)).map_err(|_| "refused").unwrap();
                }
                assert!(matches!(aio.submit(read(&file, 0, 0, 1)), Err(Refused::Full(_))));
                let mut done = Vec::new();
                while aio.in_flight() > 0 {
                    aio.reap(Wait::ForOne, &mut done).unwrap();
                }
                assert_eq!(done.len(), 8, "{notice:?}");
                for finished in done {
                    assert_eq!(finished.result.unwrap(), 1);
                    let expected = b'a' + (finished.operation.token % 8) as u8;
                    assert_eq!(finished.operation.transfer.buffer().unwrap()[0], expected);
                }
            }
        }
    }

    #[test]
    fn a_dropped_instance_gives_its_desk_back() {
        let file = letters();
        for _ in 0..200 {
            let mut aio = PosixAio::new(4, Notice::Thread).unwrap();
            for i in 0..4 {
                aio.submit(read(&file, i, i, 1)).map_err(|_| "refused").unwrap();
            }
        }
    }
}
