//! epoll(7), level triggered with EPOLLONESHOT: a descriptor that was reported is disarmed until it is armed again.
//!
//! That is the contract of programs in which several threads wait on one epoll instance: the thread given a descriptor
//! has it to itself until it arms it again. Its price is an epoll_ctl(2) for each report. Here descriptors are armed
//! again right before the next wait, so that the user of this type sees a level trigger.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use rustix::event::epoll::{self, EventData, EventFlags};

use super::epoll::{Epoll, level_flags};
use super::interface::{Interest, Readiness, Ready, Trigger};
use crate::Token;

/// epoll with level trigger and EPOLLONESHOT.
#[derive(Debug)]
pub struct EpollOneShot {
    epoll: Epoll,
    /// By descriptor, which is also what the kernel reports: what it is watched for.
    watched: Vec<Option<Watched>>,
    /// Descriptors that were reported and are to be armed again before the next wait, unless they are gone by then.
    disarmed: Vec<(RawFd, Token)>,
}

#[derive(Clone, Copy, Debug)]
struct Watched {
    token: Token,
    interest: Interest,
}

fn flags(interest: Interest) -> EventFlags {
    level_flags(interest) | EventFlags::ONESHOT
}

fn data(fd: RawFd) -> EventData {
    EventData::new_u64(fd as u64)
}

impl EpollOneShot {
    fn watched(&self, fd: RawFd) -> Option<Watched> {
        self.watched.get(fd as usize).copied().flatten()
    }

    fn set(&mut self, fd: BorrowedFd<'_>, watched: Option<Watched>) {
        let index = fd.as_raw_fd() as usize;
        if self.watched.len() <= index {
            self.watched.resize(index + 1, None);
        }
        self.watched[index] = watched;
    }

    /// Arms what was reported. A descriptor that was closed or given to another meanwhile has no such token any more.
    fn arm(&mut self) -> io::Result<()> {
        for (fd, token) in std::mem::take(&mut self.disarmed) {
            if let Some(watched) = self.watched(fd).filter(|watched| watched.token == token) {
                // SAFETY: a descriptor that is watched is open, as it is unwatched before it is closed.
                let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
                epoll::modify(&self.epoll.fd, borrowed, data(fd), flags(watched.interest))?;
            }
        }
        Ok(())
    }
}

impl Readiness for EpollOneShot {
    fn trigger(&self) -> Trigger {
        Trigger::Level
    }

    fn new() -> io::Result<EpollOneShot> {
        Ok(EpollOneShot { epoll: Epoll::new()?, watched: Vec::new(), disarmed: Vec::new() })
    }

    fn watch(&mut self, fd: BorrowedFd<'_>, token: Token, interest: Interest) -> io::Result<()> {
        epoll::add(&self.epoll.fd, fd, data(fd.as_raw_fd()), flags(interest))?;
        self.set(fd, Some(Watched { token, interest }));
        Ok(())
    }

    fn rewatch(&mut self, fd: BorrowedFd<'_>, token: Token, interest: Interest) -> io::Result<()> {
        epoll::modify(&self.epoll.fd, fd, data(fd.as_raw_fd()), flags(interest))?;
        self.set(fd, Some(Watched { token, interest }));
        Ok(())
    }

    fn unwatch(&mut self, fd: BorrowedFd<'_>, closing: bool) {
        self.set(fd, None);
        self.epoll.unwatch(fd, closing);
    }

    fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.arm()?;
        let before = ready.len();
        self.epoll.wait(timeout, ready)?;
        for ready in &mut ready[before..] {
            let fd = ready.token.index() as RawFd;
            if let Some(watched) = self.watched(fd) {
                ready.token = watched.token;
                self.disarmed.push((fd, watched.token));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_what_a_mechanism_must() {
        crate::readiness::tests::all::<EpollOneShot>();
    }
}
