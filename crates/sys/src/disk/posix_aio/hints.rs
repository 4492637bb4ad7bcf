//! Hints of completions: a signal handler, or a thread of the library, writes the number of a finished slot to a pipe.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};

use super::glibc::ThreadEvent;
use crate::Unavailable;

/// How the library reports a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// Not at all: the caller polls.
    Poll,
    /// By a realtime signal, which interrupts whatever thread receives it (SIGEV_SIGNAL).
    Signal,
    /// By a thread that the library creates for this completion (SIGEV_THREAD).
    Thread,
}

/// Where hints come from.
#[derive(Clone, Copy, Debug)]
enum By {
    Signal,
    Thread,
}

/// At most this many operations may be in flight in one instance: their hints fit the smallest pipe.
pub const DEPTH_MAX: u32 = 1000;

/// When an instance is dropped, outstanding hints are waited for this long; see `Hints::drop`.
const LAST_HINTS_TIMEOUT: Duration = Duration::from_secs(2);
/// How long one wait for them lasts.
const LAST_HINTS_INTERVAL: Duration = Duration::from_millis(50);

/// The pipe that notifies one instance of its completions.
#[derive(Debug)]
pub(super) struct Hints {
    by: By,
    reader: OwnedFd,
    /// Closed only when no handler can write to it any more.
    writer: Option<OwnedFd>,
    channel: usize,
    /// Hints that will come for operations that were started.
    owed: usize,
}

/// Where a signal handler finds the pipe of an instance: -1 for an unused channel.
static CHANNELS: [AtomicI32; 64] = [const { AtomicI32::new(-1) }; 64];

/// Bits of a hint that hold the slot; the channel is above them.
const SLOT_BITS: u32 = 16;
const _: () = assert!(DEPTH_MAX < 1 << SLOT_BITS);

fn hint(channel: usize, slot: u32) -> usize {
    channel << SLOT_BITS | slot as usize
}

impl Hints {
    /// The pipe for this kind of notification; none if the caller polls.
    pub(super) fn new(notification: Notification) -> Result<Option<Hints>, Unavailable> {
        let by = match notification {
            Notification::Poll => return Ok(None),
            Notification::Signal => {
                handle_signal()?;
                By::Signal
            }
            Notification::Thread => By::Thread,
        };
        let unavailable = |cause: String, fix: &str| Unavailable {
            what: "notification of POSIX AIO completions".into(),
            cause,
            fix: fix.into(),
        };
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
            .map_err(|e| unavailable(format!("no pipe: {e}"), "raise the limit on descriptors: ulimit -n"))?;
        let fd: RawFd = writer.as_raw_fd();
        let claim = |d: &AtomicI32| d.compare_exchange(-1, fd, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        let Some(channel) = CHANNELS.iter().position(claim) else {
            return Err(unavailable(
                format!("{} engines of this process use it already", CHANNELS.len()),
                "run fewer workers per process, or use the engine posix-aio-poll",
            ));
        };
        Ok(Some(Hints { by, reader, writer: Some(writer), channel, owed: 0 }))
    }

    /// An operation was started, whose completion will give a hint.
    pub(super) fn expect_one(&mut self) {
        self.owed += 1;
    }

    /// Reads slots and returns how many.
    pub(super) fn read(&mut self, slots: &mut [u32; 64]) -> usize {
        let mut bytes = [0u8; 256];
        // Hints are written four bytes at a time, so whole ones come out.
        let count = rustix::io::read(&self.reader, &mut bytes).unwrap_or(0) / 4;
        for (slot, chunk) in slots.iter_mut().zip(bytes.chunks_exact(4)).take(count) {
            *slot = u32::from_ne_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
        }
        self.owed = self.owed.saturating_sub(count);
        count
    }

    /// Waits until there is something to read, or until the timeout. Signals do not end the wait.
    pub(super) fn wait(&self, timeout: Duration) -> bool {
        let end = Instant::now() + timeout;
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
    /// Closes the pipe once no handler will write to it: when as many hints have come as operations were started. If one was
    /// lost the writing end stays open for good, so that a late handler cannot write to another file with that number.
    fn drop(&mut self) {
        let mut slots = [0; 64];
        let end = Instant::now() + LAST_HINTS_TIMEOUT;
        while self.owed > 0 && Instant::now() < end {
            self.wait(LAST_HINTS_INTERVAL);
            self.read(&mut slots);
        }
        if self.owed > 0
            && let Some(writer) = self.writer.take()
        {
            std::mem::forget(writer);
            return;
        }
        CHANNELS[self.channel].store(-1, Ordering::SeqCst);
    }
}

impl AsFd for Hints {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

/// Fills in how the library reports the completion of `slot`: by a hint, or not at all.
///
/// # Safety
/// `event` must point to a zeroed sigevent.
pub(super) unsafe fn describe(hints: Option<&Hints>, slot: u32, event: *mut libc::sigevent) {
    let Some(hints) = hints else {
        // SAFETY: the caller vouches for the pointer.
        unsafe { (*event).sigev_notify = libc::SIGEV_NONE };
        return;
    };
    let value = libc::sigval { sival_ptr: std::ptr::without_provenance_mut(hint(hints.channel, slot)) };
    // SAFETY: the caller vouches for the pointer, and a `ThreadEvent` is a sigevent as the library reads it.
    unsafe {
        (*event).sigev_value = value;
        match hints.by {
            By::Signal => {
                (*event).sigev_notify = libc::SIGEV_SIGNAL;
                (*event).sigev_signo = completion_signal();
            }
            By::Thread => {
                (*event).sigev_notify = libc::SIGEV_THREAD;
                (*event.cast::<ThreadEvent>()).function = Some(on_thread);
            }
        }
    }
}

/// Writes a hint to its pipe. Safe in a signal handler: one load, one write(2).
fn give_hint(hint: usize) {
    let (channel, slot) = (hint >> SLOT_BITS, hint as u32 & ((1 << SLOT_BITS) - 1));
    let fd = CHANNELS.get(channel).map_or(-1, |d| d.load(Ordering::SeqCst));
    if fd >= 0 {
        // SAFETY: the pipe of a channel is not closed while a hint to it is owed, which this one is.
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

/// The signal that reports completions: the last but one, far from those that other mechanisms count up from the first.
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
        fix: "use the engine posix-aio-thread or posix-aio-poll".into(),
    })
}
