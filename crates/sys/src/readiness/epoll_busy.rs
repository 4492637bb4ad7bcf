//! epoll(7) that looks again and again before it sleeps.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use super::epoll::EpollEdge;
use super::interface::{Interest, Readiness, Ready, Trigger};
use crate::Token;

/// How long it looks before it sleeps: what the kernel's documentation recommends for busy reads (net.core.busy_read).
const SPIN: Duration = Duration::from_micros(50);
/// Packets that a look takes from a device at most, which needs no privilege.
const BUDGET: u16 = 8;

/// EPIOCSPARAMS of linux/eventpoll.h: `_IOW(0x8A, 1, struct epoll_params)`.
const EPIOCSPARAMS: libc::Ioctl = 0x4008_8A01;

/// `struct epoll_params` of linux/eventpoll.h.
#[repr(C)]
struct Params {
    busy_poll_usecs: u32,
    busy_poll_budget: u16,
    prefer_busy_poll: u8,
    pad: u8,
}

/// epoll with edge trigger that spins before it sleeps. Where the connections come from a network device, each look asks its queue for
/// packets (Linux 6.9); elsewhere it only spins.
#[derive(Debug)]
pub struct EpollBusy(EpollEdge);

impl Readiness for EpollBusy {
    fn trigger(&self) -> Trigger {
        self.0.trigger()
    }

    fn new() -> io::Result<EpollBusy> {
        let epoll = EpollEdge::new()?;
        let params = Params {
            busy_poll_usecs: SPIN.as_micros() as u32,
            busy_poll_budget: BUDGET,
            prefer_busy_poll: 1,
            pad: 0,
        };
        // An older kernel does not know it, and then it spins all the same.
        //
        // SAFETY: the descriptor is an epoll instance, and the kernel reads the structure within the call.
        let _ = unsafe { libc::ioctl(epoll.descriptor().as_raw_fd(), EPIOCSPARAMS, &raw const params) };
        Ok(EpollBusy(epoll))
    }

    fn watch(&mut self, fd: BorrowedFd<'_>, token: Token, interest: Interest) -> io::Result<()> {
        self.0.watch(fd, token, interest)
    }

    fn rewatch(&mut self, fd: BorrowedFd<'_>, token: Token, interest: Interest) -> io::Result<()> {
        self.0.rewatch(fd, token, interest)
    }

    fn unwatch(&mut self, fd: BorrowedFd<'_>, closing: bool) {
        self.0.unwatch(fd, closing);
    }

    fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        let known = ready.len();
        let begin = Instant::now();
        let spin = timeout.map_or(SPIN, |timeout| timeout.min(SPIN));
        loop {
            self.0.wait(Some(Duration::ZERO), ready)?;
            let spent = begin.elapsed();
            if ready.len() > known {
                return Ok(());
            }
            if spent >= spin {
                return match timeout.map(|timeout| timeout.saturating_sub(spent)) {
                    Some(Duration::ZERO) => Ok(()),
                    left => self.0.wait(left, ready),
                };
            }
            std::hint::spin_loop();
        }
    }
}
