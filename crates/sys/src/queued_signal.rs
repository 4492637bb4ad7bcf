//! A realtime signal that a thread sends to itself and takes from its queue.

use std::io;

/// A realtime signal, blocked in the thread that made this, so that it stays queued until it is taken.
#[derive(Debug)]
pub struct QueuedSignal {
    number: libc::c_int,
    set: libc::sigset_t,
    process: libc::pid_t,
    thread: libc::pid_t,
}

impl QueuedSignal {
    /// Blocks the signal in the calling thread, which alone may use the value.
    pub fn new() -> QueuedSignal {
        let number = libc::SIGRTMIN() + 4;
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset initialises the set, to which a valid signal is added; the old mask is not asked for.
        let set = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), number);
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
            set.assume_init()
        };
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        QueuedSignal { number, set, process: std::process::id() as libc::pid_t, thread }
    }

    /// Queues the signal for this thread (tgkill(2)).
    ///
    /// # Errors
    /// EAGAIN: the user has RLIMIT_SIGPENDING signals queued.
    pub fn send(&self) -> io::Result<()> {
        // SAFETY: the call takes numbers alone, and the thread has the signal blocked.
        match unsafe { libc::syscall(libc::SYS_tgkill, self.process, self.thread, self.number) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Takes the signal from the queue (sigtimedwait(2)), without waiting. False if none is queued.
    pub fn take(&self) -> bool {
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the set is initialised, no information is asked for, and the time outlives the call.
        unsafe {
            libc::sigtimedwait(&raw const self.set, std::ptr::null_mut(), &raw const now) == self.number
        }
    }
}

impl Default for QueuedSignal {
    fn default() -> QueuedSignal {
        QueuedSignal::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_sent_is_taken_once() {
        let signal = QueuedSignal::new();
        assert!(!signal.take());
        (0..3).for_each(|_| signal.send().unwrap());
        assert!((0..3).all(|_| signal.take()));
        assert!(!signal.take());
    }
}
