//! Signals that stop a server: as a descriptor for loops (signalfd(2)), as an interruption for blocking calls.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

/// A signal that a supervisor waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal is gone.
    Hangup,
    /// SIGCHLD: a child has ended.
    Child,
}

impl Signal {
    /// The signals that ask a program to finish: SIGINT, SIGTERM and, unless it is ignored as under nohup(1), SIGHUP.
    pub fn that_end() -> Vec<Signal> {
        let mut signals = vec![Signal::Interrupt, Signal::Terminate];
        if !Signal::Hangup.is_ignored() {
            signals.push(Signal::Hangup);
        }
        signals
    }

    /// True for the signals that ask a program to finish.
    pub fn ends(self) -> bool {
        matches!(self, Signal::Interrupt | Signal::Terminate | Signal::Hangup)
    }

    fn is_ignored(self) -> bool {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: without a new action the call only writes the present one to the struct, which is valid zeroed.
        unsafe {
            libc::sigaction(self.number(), std::ptr::null(), action.as_mut_ptr());
            action.assume_init().sa_sigaction == libc::SIG_IGN
        }
    }

    const ALL: [Signal; 4] = [Signal::Interrupt, Signal::Terminate, Signal::Hangup, Signal::Child];

    fn number(self) -> libc::c_int {
        match self {
            Signal::Interrupt => libc::SIGINT,
            Signal::Terminate => libc::SIGTERM,
            Signal::Hangup => libc::SIGHUP,
            Signal::Child => libc::SIGCHLD,
        }
    }
}

fn set(signals: &[Signal]) -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set, and the signals added are valid ones.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal.number());
        }
        set.assume_init()
    }
}

/// Signals to be read from a descriptor instead of interrupting.
#[derive(Debug)]
pub struct SignalFd(OwnedFd);

impl SignalFd {
    /// Blocks `signals` in the calling thread, and in the threads and children it starts from now on, and opens a
    /// non-blocking descriptor that reports them.
    ///
    /// # Errors
    /// EMFILE, ENFILE, ENOMEM.
    pub fn new(signals: &[Signal]) -> io::Result<SignalFd> {
        let set = set(signals);
        // SAFETY: the set is initialised; the descriptor, if there is one, has no other owner.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            let fd = libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC);
            if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(SignalFd(OwnedFd::from_raw_fd(fd))) }
        }
    }

    /// The next signal that has come, without waiting.
    pub fn next(&self) -> Option<Signal> {
        let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
        let n = rustix::io::read(&self.0, &mut info).ok()?;
        let number = i32::from_ne_bytes(info.get(..4)?.try_into().ok()?);
        (n == info.len()).then(|| Signal::ALL.into_iter().find(|s| s.number() == number)).flatten()
    }

    /// The next signal, or `None` if none comes in time.
    pub fn wait(&self, timeout: Option<Duration>) -> Option<Signal> {
        let timeout = timeout.map(|d| rustix::event::Timespec {
            tv_sec: d.as_secs().min(i64::MAX as u64) as i64,
            tv_nsec: d.subsec_nanos().into(),
        });
        let mut fds = [rustix::event::PollFd::new(&self.0, rustix::event::PollFlags::IN)];
        let _ = rustix::event::poll(&mut fds, timeout.as_ref());
        self.next()
    }
}

impl SignalFd {
    /// Waits for a signal, or until nobody is left who could read what is written to `output`; then it is `None`. A file
    /// and a terminal always have a reader.
    pub fn wait_while_read(&self, output: BorrowedFd<'_>) -> Option<Signal> {
        use rustix::event::{PollFd, PollFlags, poll};
        loop {
            let mut fds =
                [PollFd::new(&self.0, PollFlags::IN), PollFd::from_borrowed_fd(output, PollFlags::empty())];
            let _ = poll(&mut fds, None);
            let gone = fds[1].revents().intersects(PollFlags::ERR | PollFlags::HUP);
            if let Some(signal) = self.next() {
                return Some(signal);
            }
            if gone {
                return None;
            }
        }
    }
}

impl AsFd for SignalFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Blocks signals in the calling thread, and in the threads and children it starts from now on.
pub fn block(signals: &[Signal]) {
    let set = set(signals);
    // SAFETY: the set is initialised.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
}

/// The thread to which [`forward_stop`] sends signals on.
static FORWARD_TO: AtomicI32 = AtomicI32::new(0);

/// For a process in which others (the C library) start threads that block no signal: SIGTERM and SIGINT that come to one
/// of those are sent on to the calling thread, which has blocked them and reads them from a [`SignalFd`].
pub fn forward_stop() {
    extern "C" fn handler(signal: libc::c_int) {
        // SAFETY: these system calls are safe in a signal handler (signal-safety(7)), and errno is as before for the code
        // that was interrupted.
        unsafe {
            let errno = *libc::__errno_location();
            libc::syscall(libc::SYS_tgkill, libc::getpid(), FORWARD_TO.load(Ordering::SeqCst), signal);
            *libc::__errno_location() = errno;
        }
    }
    FORWARD_TO.store(rustix::thread::gettid().as_raw_nonzero().get(), Ordering::SeqCst);
    handle_stop(handler);
}

/// From now on a write beyond the limit on the size of files (RLIMIT_FSIZE) fails with EFBIG and does not end the process. Programs
/// that it starts do not inherit that, as they would if the signal were ignored.
pub fn survive_file_size_limit() {
    extern "C" fn handler(_: libc::c_int) {}
    // SAFETY: the action is zeroed, which is a valid value, and the handler does nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGXFSZ, &raw const action, std::ptr::null_mut());
    }
}

/// From now on SIGUSR1 does not end the process.
pub fn ignore_user1() {
    // SAFETY: to ignore a signal is sound at any time.
    unsafe { libc::signal(libc::SIGUSR1, libc::SIG_IGN) };
}

/// Set by the handler of [`interrupt_receives`].
static STOPPING: AtomicBool = AtomicBool::new(false);
/// The socket on which the process waits for a request, or -1.
static WAITING_ON: AtomicI32 = AtomicI32::new(-1);

/// For a process that serves one connection with blocking calls: from now on SIGTERM and SIGINT do not end it. They
/// make [`stopping`] true and end the wait announced by [`waiting_on`] as if the peer had finished sending.
pub fn interrupt_receives() {
    extern "C" fn handler(_: libc::c_int) {
        STOPPING.store(true, Ordering::SeqCst);
        let fd = WAITING_ON.load(Ordering::SeqCst);
        if fd >= 0 {
            // SAFETY: shutdown is safe in a signal handler (signal-safety(7)), the one thread of the process keeps the
            // descriptor open while it announces it, and errno is as before for the code that was interrupted.
            unsafe {
                let errno = *libc::__errno_location();
                libc::shutdown(fd, libc::SHUT_RD);
                *libc::__errno_location() = errno;
            }
        }
    }
    on_stop(handler);
}

/// Wakes this when a process that runs a loop is to stop, or -1.
static WAKER: AtomicI32 = AtomicI32::new(-1);

/// For a process that runs a loop: from now on SIGTERM and SIGINT do not end it, but make [`stopping`] true and wake
/// the loop. The waker is kept for as long as the process lives.
pub fn wake_on_stop(waker: std::sync::Arc<crate::Waker>) {
    extern "C" fn handler(_: libc::c_int) {
        STOPPING.store(true, Ordering::SeqCst);
        // SAFETY: write is safe in a signal handler (signal-safety(7)), the descriptor is never closed, and errno
        // is as before for the code that was interrupted.
        unsafe {
            let errno = *libc::__errno_location();
            libc::write(WAKER.load(Ordering::SeqCst), b"s".as_ptr().cast(), 1);
            *libc::__errno_location() = errno;
        }
    }
    WAKER.store(waker.write_fd(), Ordering::SeqCst);
    std::mem::forget(waker);
    on_stop(handler);
}

/// Installs a handler for SIGTERM and SIGINT and unblocks them, as they may be inherited blocked.
fn on_stop(handler: extern "C" fn(libc::c_int)) {
    handle_stop(handler);
    let set = set(&[Signal::Interrupt, Signal::Terminate]);
    // SAFETY: the set is initialised.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
}

/// Installs a handler for SIGTERM and SIGINT.
fn handle_stop(handler: extern "C" fn(libc::c_int)) {
    // SAFETY: the action is a valid handler without flags, and its mask is initialised.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGTERM, &raw const action, std::ptr::null_mut());
        libc::sigaction(libc::SIGINT, &raw const action, std::ptr::null_mut());
    }
}

/// Children that did not end by exit code 0 since [`reap_children`].
static FAILED_CHILDREN: AtomicU64 = AtomicU64::new(0);

/// From now on children that end leave no zombie: a handler of SIGCHLD takes note of them at once. Their CPU time
/// counts as that of ended children, as it would not if the signal were ignored.
pub fn reap_children() {
    extern "C" fn handler(_: libc::c_int) {
        let mut status = 0;
        // SAFETY: waitpid is safe in a signal handler (signal-safety(7)), and errno is as before for the code that
        // was interrupted.
        unsafe {
            let errno = *libc::__errno_location();
            while libc::waitpid(-1, &raw mut status, libc::WNOHANG) > 0 {
                if status != 0 {
                    FAILED_CHILDREN.fetch_add(1, Ordering::Relaxed);
                }
            }
            *libc::__errno_location() = errno;
        }
    }
    // SAFETY: the action is a valid handler, and both masks are initialised.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART | libc::SA_NOCLDSTOP;
        libc::sigemptyset(&raw mut action.sa_mask);
        let set = set(&[Signal::Child]);
        libc::sigaction(libc::SIGCHLD, &raw const action, std::ptr::null_mut());
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// The children that failed since the last call, of those noted by [`reap_children`].
pub fn take_failed_children() -> u64 {
    FAILED_CHILDREN.swap(0, Ordering::Relaxed)
}

/// True once the process has been asked to stop.
pub fn stopping() -> bool {
    STOPPING.load(Ordering::SeqCst)
}

/// Announces that the process waits for a request on `fd`, or with `None` that it does not. The descriptor must stay
/// open until the announcement is taken back.
pub fn waiting_on(fd: Option<BorrowedFd<'_>>) {
    WAITING_ON.store(fd.map_or(-1, |fd| fd.as_raw_fd()), Ordering::SeqCst);
    // The signal may have come before the announcement.
    if let Some(fd) = fd
        && stopping()
    {
        let _ = crate::socket::stop_receiving(fd);
    }
}
