//! Lookups of the target's name under way, on one socket for each thread.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use pitot_meter::Nanos;

use crate::names::{ANSWER_BYTES, Lookup};
use crate::sample::ErrorKind;

/// After which time without an answer a question is asked again; a resolver that was silent is noticed to be back within it.
const RETRY: Nanos = Nanos::from_millis(500);
/// Lookups at once: each has a number of 16 bits, of which some must be left to tell late answers.
const UNDER_WAY_MAX: usize = 1 << 15;

/// Questions that wait for answers.
#[derive(Debug)]
pub(super) struct Lookups {
    lookup: Lookup,
    socket: UdpSocket,
    /// Slots by the numbers of their questions.
    slots: HashMap<u16, u32>,
    /// When which question is asked again; the answered ones among them are passed over.
    retries: VecDeque<(Nanos, u16)>,
    last_id: u16,
}

impl Lookups {
    /// Nothing is asked yet.
    pub(super) fn new(lookup: Lookup) -> io::Result<Lookups> {
        let socket = lookup.socket()?;
        socket.set_nonblocking(true)?;
        let (slots, retries) = (HashMap::new(), VecDeque::new());
        Ok(Lookups { lookup, socket, slots, retries, last_id: 0 })
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Asks for a slot. The number of the question, by which it can be [given up](Self::give_up).
    pub(super) fn ask(&mut self, slot: u32, now: Nanos) -> io::Result<u16> {
        if self.slots.len() >= UNDER_WAY_MAX {
            return Err(io::Error::from_raw_os_error(EAGAIN));
        }
        loop {
            self.last_id = self.last_id.wrapping_add(1);
            if !self.slots.contains_key(&self.last_id) {
                break;
            }
        }
        self.slots.insert(self.last_id, slot);
        self.send(self.last_id, now);
        Ok(self.last_id)
    }

    pub(super) fn give_up(&mut self, id: u16) {
        self.slots.remove(&id);
    }

    /// What is not sent now, for there is no room or nobody listens, is sent again.
    fn send(&mut self, id: u16, now: Nanos) {
        let _ = self.socket.send(&self.lookup.question(id));
        self.retries.push_back((now + RETRY, id));
    }

    /// When [`retry`](Self::retry) has something to do.
    pub(super) fn due(&self) -> Nanos {
        self.retries.front().map_or(Nanos::MAX, |(at, _)| *at)
    }

    /// Asks again what has waited for long.
    pub(super) fn retry(&mut self, now: Nanos) {
        while let Some((_, id)) = self.retries.pop_front_if(|(at, _)| *at <= now) {
            if self.slots.contains_key(&id) {
                self.send(id, now);
            }
        }
    }

    /// The next answer: its slot, and where it is to connect to or why that is not known. `None` if there is no more now.
    pub(super) fn next(&mut self) -> Option<(u32, Result<SocketAddr, ErrorKind>)> {
        let mut buffer = [0; ANSWER_BYTES];
        loop {
            match self.socket.recv(&mut buffer) {
                Ok(length) => {
                    let Some(answer) = self.lookup.answer(&buffer[..length]) else { continue };
                    let Some(slot) = self.slots.remove(&answer.id) else { continue };
                    let to = answer.address.map(|address| (address, self.lookup.port).into());
                    return Some((slot, to));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return None,
                // Nobody listens there: questions are asked again until they time out.
                Err(_) => {}
            }
        }
    }
}

/// As the kernel says it where something is short for a while (errno(3)).
const EAGAIN: i32 = 11;
