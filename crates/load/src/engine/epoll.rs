//! The loop on epoll(7) with edge trigger: one epoll_ctl(2) in the life of a connection.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};

use pitot_meter::now;
use pitot_proto::client::Payload;
use pitot_sys::readiness::{EpollEdge, Interest, Readiness, Ready};
use pitot_sys::{Token, connect, socket};

use super::{EngineEntry, EngineError, Route, span};
use crate::fleet::{Fleet, Next, Wire};
use crate::sample::Phase;
use crate::tally::Tally;

pub(super) const ENTRY: EngineEntry = EngineEntry {
    name: "epoll",
    summary: "epoll with edge trigger: a send and a receive for each request",
    doc: "Works everywhere. Each reply is stamped after its own receive, so that no time depends on how many replies \
          are handled in one go.",
    available: || Ok(()),
    run,
};

/// Bytes received in one call, into a buffer that all connections of the thread share.
const RECEIVE_BYTES: usize = 64 * 1024;
/// Calls on one connection before the others have their turn.
const RECEIVES_MAX: usize = 16;
/// As many events as the mechanism takes in one call; if it took so many, there may be more.
const FULL_BATCH: usize = 512;

struct Sockets {
    epoll: EpollEdge,
    route: Route,
    places: Vec<Place>,
}

/// The engine's part of a slot.
#[derive(Default)]
struct Place {
    fd: Option<OwnedFd>,
    /// Counts the connections of the slot, so that an event for an earlier one is told apart.
    generation: u32,
    connecting: bool,
    /// What the kernel would not take yet. Rare, so it is not kept in place.
    #[expect(clippy::box_collection, reason = "8 bytes instead of 24 for each of 100,000 connections")]
    unsent: Option<Box<Vec<u8>>>,
}

impl Wire for Sockets {
    fn connect(&mut self, slot: u32) -> io::Result<()> {
        let place = &mut self.places[slot as usize];
        place.generation = (place.generation + 1) % Token::GENERATIONS;
        let fd = connect::open(self.route.target, self.route.source())?;
        connect::start(&fd, self.route.target)?;
        // Watched after the connect has begun: a socket that has never connected is told as broken.
        self.epoll.watch(fd.as_fd(), Token::new(slot, place.generation), Interest::ReadWrite)?;
        place.connecting = true;
        place.fd = Some(fd);
        Ok(())
    }

    fn send(&mut self, slot: u32, payload: Payload<'_>) -> io::Result<()> {
        let place = &mut self.places[slot as usize];
        let bytes = payload.as_slice();
        if let Some(unsent) = &mut place.unsent {
            unsent.extend_from_slice(bytes);
            return Ok(());
        }
        let Some(fd) = &place.fd else { return Err(io::ErrorKind::NotConnected.into()) };
        let sent = send_some(fd, bytes)?;
        if sent < bytes.len() {
            place.unsent = Some(Box::new(bytes[sent..].to_vec()));
        }
        Ok(())
    }

    fn close(&mut self, slot: u32) -> u32 {
        let place = &mut self.places[slot as usize];
        place.unsent = None;
        place.connecting = false;
        // A closed descriptor leaves epoll by itself.
        place.fd.take().and_then(|fd| connect::retransmits(&fd).ok()).unwrap_or(0)
    }
}

/// Sends as much as the kernel takes.
fn send_some(fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    while sent < bytes.len() {
        match socket::send(fd, &[IoSlice::new(&bytes[sent..])], false) {
            Ok(n) => sent += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(sent)
}

fn run(mut fleet: Fleet, route: Route, ready: &mut dyn FnMut(&Fleet)) -> Result<Tally, EngineError> {
    let places = std::iter::repeat_with(Place::default).take(fleet.slots()).collect();
    let mut sockets = Sockets { epoll: EpollEdge::new()?, route, places };
    let mut events: Vec<Ready> = Vec::with_capacity(FULL_BATCH);
    let mut buffer = vec![0; RECEIVE_BYTES];
    let mut told_ready = false;
    let mut seen = now();
    loop {
        let time = now();
        let until = match fleet.tick(&mut sockets, time, seen) {
            Next::Wait(until) => until,
            Next::Over => break,
        };
        if !told_ready && fleet.is_ready() {
            told_ready = true;
            ready(&fleet);
        }
        events.clear();
        sockets.epoll.wait(Some(span(time, until)), &mut events)?;
        let woke = now();
        for event in &events {
            handle(&mut fleet, &mut sockets, *event, &mut buffer);
        }
        if events.len() < FULL_BATCH {
            seen = woke;
        }
    }
    let time = now();
    Ok(fleet.finish(&mut sockets, time))
}

fn handle(fleet: &mut Fleet, sockets: &mut Sockets, event: Ready, buffer: &mut [u8]) {
    let slot = event.token.index();
    let generation = event.token.generation();
    let place = &mut sockets.places[slot as usize];
    let Some(fd) = place.fd.as_ref().filter(|_| place.generation == generation) else { return };
    if place.connecting {
        if !event.writable {
            return;
        }
        let outcome = connect::outcome(fd);
        place.connecting = false;
        fleet.connected(sockets, slot, now(), outcome);
    } else if event.writable
        && place.unsent.is_some()
        && let Err(e) = send_rest(place)
    {
        return fleet.broke(sockets, slot, now(), Phase::Send, &e);
    }
    if event.readable {
        receive(fleet, sockets, slot, generation, event.ended, buffer);
    }
}

fn send_rest(place: &mut Place) -> io::Result<()> {
    if let (Some(fd), Some(unsent)) = (&place.fd, &mut place.unsent) {
        let sent = send_some(fd, unsent)?;
        unsent.drain(..sent);
        if unsent.is_empty() {
            place.unsent = None;
        }
    }
    Ok(())
}

/// Receives what is there. A receive that does not fill the buffer has emptied the socket, and what comes later makes
/// a new event, so that EAGAIN need not be asked for; only an end that was told with the event is.
fn receive(
    fleet: &mut Fleet,
    sockets: &mut Sockets,
    slot: u32,
    generation: u32,
    ended: bool,
    buffer: &mut [u8],
) {
    for _ in 0..RECEIVES_MAX {
        let place = &sockets.places[slot as usize];
        let Some(fd) = place.fd.as_ref().filter(|_| place.generation == generation) else { return };
        match socket::recv(fd, buffer) {
            Ok(0) => return fleet.ended(sockets, slot, now()),
            Ok(n) => {
                fleet.received(sockets, slot, now(), &buffer[..n]);
                if n < buffer.len() && !ended {
                    return;
                }
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return fleet.broke(sockets, slot, now(), Phase::Receive, &e),
        }
    }
    // More is there than fits in its turn: told again in the next wait.
    let place = &sockets.places[slot as usize];
    if let Some(fd) = place.fd.as_ref().filter(|_| place.generation == generation) {
        let token = Token::new(slot, generation);
        sockets.epoll.unwatch(fd.as_fd(), false);
        if let Err(e) = sockets.epoll.watch(fd.as_fd(), token, Interest::ReadWrite) {
            fleet.broke(sockets, slot, now(), Phase::Receive, &e);
        }
    }
}
