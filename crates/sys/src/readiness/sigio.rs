//! Realtime signals (fcntl(2), F_SETSIG): the kernel queues a signal, with the descriptor in it, each time a
//! descriptor becomes ready; the loop takes them one by one with sigtimedwait(2).
//!
//! The trigger is an edge. When the queue is full (RLIMIT_SIGPENDING) the kernel sends a plain SIGIO instead, and
//! the loop has to ask for all descriptors once with poll(2). Signals go to one thread (F_SETOWN_EX), which must
//! have them blocked, as must every other thread.
//!
//! Owner and signal belong to the open file, not to the descriptor: of several threads or processes that share a listener
//! only the one that watched it last gets its signals, with its own number of the descriptor.
//!
//! **Sockets that are files** (unix(7), streams) signal room only after a send that failed for lack of it while O_ASYNC was
//! set: that send sets the flag SOCKWQ_ASYNC_NOSPACE (`sock_alloc_send_pskb` in net/core/sock.c, `sk_set_bit` in
//! include/net/sock.h), without which `sock_wake_async` (net/socket.c) sends nothing. Those of TCP set it in poll(2) too
//! (`tcp_poll`), and `unix_poll` does not. So a socket that was full before it was watched is reported as having room, once,
//! for its owner to fail again. And between that a send finds the socket full and that it sets the flag there is no lock, as
//! TCP has, so that room that comes then is not signalled: its owner asks for it by `rewatch`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use super::interface::{Interest, Readiness, Ready, Trigger, ready_from_bits};
use crate::Token;

/// Signals taken in one wait, so that no connection waits forever behind others.
const BATCH: usize = 512;

/// What a poll(2) in place of lost signals asks for: input, and its end, which may be behind input that is still to be
/// received and whose own signal is among those lost.
const INPUT: libc::c_short = libc::POLLIN | libc::POLLRDHUP;

// glibc's headers have these; the libc crate lacks them for this target.
const F_SETSIG: libc::c_int = 10;
const F_SETOWN_EX: libc::c_int = 15;
const F_OWNER_TID: libc::c_int = 0;

#[repr(C)]
struct OwnerEx {
    kind: libc::c_int,
    id: libc::pid_t,
}

fn is_unix(fd: BorrowedFd<'_>) -> bool {
    rustix::net::sockopt::socket_domain(fd).is_ok_and(|domain| domain == rustix::net::AddressFamily::UNIX)
}

/// The signal that carries readiness. The first two are left to the C library's users by custom.
fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 2
}

fn signals() -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set, and the signals added are valid ones.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGIO);
        set.assume_init()
    }
}

/// Blocks the signals of this mechanism in the calling thread and in the threads it starts from now on. To be called
/// before any thread is started, as a signal that is not blocked ends the process.
pub fn block_signals() {
    let set = signals();
    // SAFETY: the set is initialised; the old mask is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
}

/// Readiness by realtime signals (fcntl(2), F_SETSIG).
#[derive(Debug)]
pub struct SigIo {
    thread: libc::pid_t,
    signals: libc::sigset_t,
    /// By descriptor; `None` if it is not watched.
    tokens: Vec<Option<Token>>,
    /// Descriptors that were ready when they were first watched, for which no signal will come.
    ready_at_watch: Vec<Ready>,
    overflows: u64,
}

impl Readiness for SigIo {
    fn trigger(&self) -> Trigger {
        Trigger::Edge
    }

    fn new() -> io::Result<SigIo> {
        block_signals();
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        Ok(SigIo { thread, signals: signals(), tokens: Vec::new(), ready_at_watch: Vec::new(), overflows: 0 })
    }

    fn watch(&mut self, fd: BorrowedFd<'_>, token: Token, interest: Interest) -> io::Result<()> {
        let raw = fd.as_raw_fd();
        let index = raw as usize;
        if self.tokens.len() <= index {
            self.tokens.resize(index + 1, None);
        }
        let owner = OwnerEx { kind: F_OWNER_TID, id: self.thread };
        // SAFETY: the commands take a pointer to an f_owner_ex, a signal number, nothing, and flags, as passed.
        let failed = unsafe {
            libc::fcntl(raw, F_SETOWN_EX, &raw const owner) < 0
                || libc::fcntl(raw, F_SETSIG, signal()) < 0
                || {
                    let flags = libc::fcntl(raw, libc::F_GETFL);
                    flags < 0 || libc::fcntl(raw, libc::F_SETFL, flags | libc::O_ASYNC) < 0
                }
        };
        if failed {
            return Err(io::Error::last_os_error());
        }
        self.tokens[index] = Some(token);
        // For what is so already no signal comes: input, its end, and room that came since the socket was last found full.
        let events = if interest.writes() { INPUT | libc::POLLOUT } else { INPUT };
        let mut now = libc::pollfd { fd: raw, events, revents: 0 };
        // SAFETY: the pointer is to one pollfd, which the kernel may write to.
        let mut ready = unsafe { libc::poll(&raw mut now, 1, 0) } == 1;
        if interest.writes() && now.revents & libc::POLLOUT == 0 && is_unix(fd) {
            now.revents |= libc::POLLOUT;
            ready = true;
        }
        if ready {
            self.ready_at_watch.push(ready_from_bits(token, now.revents));
        }
        Ok(())
    }

    fn rewatch(&mut self, fd: BorrowedFd<'_>, token: Token, interest: Interest) -> io::Result<()> {
        if interest.writes() {
            let mut now = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
            // SAFETY: the pointer is to one pollfd, which the kernel may write to.
            if unsafe { libc::poll(&raw mut now, 1, 0) } == 1 {
                self.ready_at_watch.push(ready_from_bits(token, now.revents));
            }
        }
        Ok(())
    }

    fn unwatch(&mut self, fd: BorrowedFd<'_>, closing: bool) {
        let raw = fd.as_raw_fd();
        if let Some(token) = self.tokens.get_mut(raw as usize) {
            *token = None;
        }
        if !closing {
            // SAFETY: both commands take and give flags.
            unsafe {
                let flags = libc::fcntl(raw, libc::F_GETFL);
                libc::fcntl(raw, libc::F_SETFL, flags & !libc::O_ASYNC);
            }
        }
    }

    fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        let waiting = self.ready_at_watch.is_empty();
        ready.append(&mut self.ready_at_watch);
        let mut timeout = if waiting { timeout } else { Some(Duration::ZERO) };
        for _ in 0..BATCH {
            let Some(info) = self.next_signal(timeout)? else { break };
            if info.si_signo == libc::SIGIO {
                self.overflows += 1;
                return self.ask_for_all(ready);
            }
            ready.extend(self.translate(&info));
            timeout = Some(Duration::ZERO);
        }
        Ok(())
    }
}

impl SigIo {
    /// How often the queue of signals was full and every descriptor had to be asked for.
    pub fn overflows(&self) -> u64 {
        self.overflows
    }

    fn next_signal(&self, timeout: Option<Duration>) -> io::Result<Option<libc::siginfo_t>> {
        let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
        let time = timeout.map(|d| libc::timespec {
            tv_sec: d.as_secs().min(i64::MAX as u64) as i64,
            tv_nsec: d.subsec_nanos().into(),
        });
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the set is initialised, `info` may be written to, the timeout is null or outlives the call.
        let n = unsafe { libc::sigtimedwait(&raw const self.signals, info.as_mut_ptr(), time) };
        if n < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => Ok(None),
                _ => Err(error),
            };
        }
        // SAFETY: a siginfo_t is plain data, zeroed before and filled by the call.
        Ok(Some(unsafe { info.assume_init() }))
    }

    fn translate(&self, info: &libc::siginfo_t) -> Option<Ready> {
        #[repr(C)]
        struct PollFields {
            signo: libc::c_int,
            errno: libc::c_int,
            code: libc::c_int,
            _pad: libc::c_int,
            band: libc::c_long,
            fd: libc::c_int,
        }
        const { assert!(size_of::<PollFields>() <= size_of::<libc::siginfo_t>()) };
        // SAFETY: siginfo_t is larger and as aligned, and this is how the kernel lays out si_band and si_fd for
        // signals from O_ASYNC descriptors (sigaction(2)); all fields are integers.
        let fields = unsafe { &*std::ptr::from_ref(info).cast::<PollFields>() };
        let token = (*self.tokens.get(fields.fd as usize)?)?;
        Some(ready_from_bits(token, fields.band as libc::c_short))
    }

    /// After an overflow: one poll(2) over everything finds what the lost signals reported.
    fn ask_for_all(&mut self, ready: &mut Vec<Ready>) -> io::Result<()> {
        while self.next_signal(Some(Duration::ZERO))?.is_some() {}
        let watched = self.tokens.iter().enumerate().filter_map(|(fd, token)| token.map(|t| (fd, t)));
        let (tokens, mut set): (Vec<Token>, Vec<libc::pollfd>) = watched
            .map(|(fd, token)| {
                (token, libc::pollfd { fd: fd as i32, events: INPUT | libc::POLLOUT, revents: 0 })
            })
            .unzip();
        // SAFETY: the set is an array of that many pollfd, which the kernel may write to.
        if unsafe { libc::poll(set.as_mut_ptr(), set.len() as libc::nfds_t, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let reported = tokens.into_iter().zip(&set).filter(|(_, entry)| entry.revents != 0);
        ready.extend(reported.map(|(token, entry)| ready_from_bits(token, entry.revents)));
        Ok(())
    }
}
