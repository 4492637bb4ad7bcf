//! epoll(7).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use super::interface::{Interest, Readiness, Ready, Trigger, timespec};
use crate::Token;

/// Events taken from the kernel in one call.
const BATCH: usize = 512;

/// epoll with level trigger.
#[derive(Debug)]
pub struct EpollLevel(Epoll);

/// epoll with edge trigger (EPOLLET): one epoll_ctl(2) in the life of a connection.
#[derive(Debug)]
pub struct EpollEdge(Epoll);

#[derive(Debug)]
pub(super) struct Epoll {
    pub(super) fd: OwnedFd,
    events: Box<[MaybeUninit<Event>; BATCH]>,
}

impl Epoll {
    pub(super) fn new() -> io::Result<Epoll> {
        Ok(Epoll {
            fd: epoll::create(CreateFlags::CLOEXEC)?,
            events: Box::new([MaybeUninit::uninit(); BATCH]),
        })
    }

    pub(super) fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        let timeout = timeout.map(timespec);
        let (events, _) = match epoll::wait(&self.fd, self.events.as_mut_slice(), timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(()),
            other => other?,
        };
        ready.extend(events.iter().map(|event| {
            let flags = event.flags;
            let broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
            Ready {
                token: Token::from_bits(event.data.u64()),
                readable: broken || flags.intersects(EventFlags::IN | EventFlags::RDHUP),
                writable: broken || flags.contains(EventFlags::OUT),
                ended: broken || flags.contains(EventFlags::RDHUP),
            }
        }));
        Ok(())
    }

    /// The kernel forgets a closed socket by itself, unless another descriptor refers to it.
    pub(super) fn unwatch(&mut self, fd: BorrowedFd<'_>, closing: bool) {
        if !closing {
            let _ = epoll::delete(&self.fd, fd);
        }
    }
}

impl EpollEdge {
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }
}

fn data(token: Token) -> EventData {
    EventData::new_u64(token.bits())
}

pub(super) fn level_flags(interest: Interest) -> EventFlags {
    match interest {
        Interest::Nothing => EventFlags::empty(),
        Interest::Read => EventFlags::IN,
        Interest::Write => EventFlags::OUT,
        Interest::ReadWrite => EventFlags::IN | EventFlags::OUT,
    }
}

impl Readiness for EpollLevel {
    fn trigger(&self) -> Trigger {
        Trigger::Level
    }

    fn new() -> io::Result<EpollLevel> {
        Epoll::new().map(EpollLevel)
    }

    fn watch(&mut self, fd: BorrowedFd<'_>, token: Token, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.0.fd, fd, data(token), level_flags(interest))?)
    }

    fn rewatch(&mut self, fd: BorrowedFd<'_>, token: Token, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.0.fd, fd, data(token), level_flags(interest))?)
    }

    fn unwatch(&mut self, fd: BorrowedFd<'_>, closing: bool) {
        self.0.unwatch(fd, closing);
    }

    fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.0.wait(timeout, ready)
    }
}

impl Readiness for EpollEdge {
    fn trigger(&self) -> Trigger {
        Trigger::Edge
    }

    fn new() -> io::Result<EpollEdge> {
        Epoll::new().map(EpollEdge)
    }

    fn watch(&mut self, fd: BorrowedFd<'_>, token: Token, _: Interest) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.0.fd, fd, data(token), flags)?)
    }

    fn rewatch(&mut self, _: BorrowedFd<'_>, _: Token, _: Interest) -> io::Result<()> {
        Ok(())
    }

    fn unwatch(&mut self, fd: BorrowedFd<'_>, closing: bool) {
        self.0.unwatch(fd, closing);
    }

    fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.0.wait(timeout, ready)
    }
}
