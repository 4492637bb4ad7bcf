//! poll(2): the whole set passes into the kernel and is scanned by both sides in every wait.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use super::interface::{Interest, Readiness, Ready, Trigger, ready_from_bits, timespec};
use crate::Token;

/// poll(2).
#[derive(Debug)]
pub struct Poll {
    set: Vec<libc::pollfd>,
    tokens: Vec<Token>,
    /// By descriptor: its place in `set`.
    places: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl Readiness for Poll {
    fn trigger(&self) -> Trigger {
        Trigger::Level
    }

    fn new() -> io::Result<Poll> {
        Ok(Poll { set: Vec::new(), tokens: Vec::new(), places: Vec::new() })
    }

    fn watch(&mut self, fd: BorrowedFd<'_>, token: Token, interest: Interest) -> io::Result<()> {
        let index = fd.as_raw_fd() as usize;
        if self.places.len() <= index {
            self.places.resize(index + 1, NOWHERE);
        }
        debug_assert_eq!(self.places[index], NOWHERE, "a descriptor is watched once");
        self.places[index] = self.set.len() as u32;
        self.set.push(libc::pollfd { fd: fd.as_raw_fd(), events: events(interest), revents: 0 });
        self.tokens.push(token);
        Ok(())
    }

    fn rewatch(&mut self, fd: BorrowedFd<'_>, token: Token, interest: Interest) -> io::Result<()> {
        let place = self.place(fd).ok_or(io::ErrorKind::NotFound)?;
        self.set[place].events = events(interest);
        self.tokens[place] = token;
        Ok(())
    }

    fn unwatch(&mut self, fd: BorrowedFd<'_>, _: bool) {
        let Some(place) = self.place(fd) else { return };
        self.places[fd.as_raw_fd() as usize] = NOWHERE;
        self.set.swap_remove(place);
        self.tokens.swap_remove(place);
        if let Some(moved) = self.set.get(place) {
            self.places[moved.fd as usize] = place as u32;
        }
    }

    fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        let timeout = timeout.map(timespec);
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the set is an array of that many pollfd, which the kernel may write to; the timeout is null or a
        // timespec that outlives the call (rustix's is the kernel's struct); no signal mask is passed.
        let n = unsafe {
            libc::ppoll(
                self.set.as_mut_ptr(),
                self.set.len() as libc::nfds_t,
                timeout.cast(),
                std::ptr::null(),
            )
        };
        if n < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        let reported = self.set.iter().zip(&self.tokens).filter(|(entry, _)| entry.revents != 0);
        ready.extend(reported.take(n as usize).map(|(entry, &token)| ready_from_bits(token, entry.revents)));
        Ok(())
    }
}

impl Poll {
    fn place(&self, fd: BorrowedFd<'_>) -> Option<usize> {
        self.places.get(fd.as_raw_fd() as usize).filter(|&&p| p != NOWHERE).map(|&p| p as usize)
    }
}

fn events(interest: Interest) -> libc::c_short {
    match interest {
        Interest::Nothing => 0,
        Interest::Read => libc::POLLIN,
        Interest::Write => libc::POLLOUT,
        Interest::ReadWrite => libc::POLLIN | libc::POLLOUT,
    }
}
