//! The loop on edge-triggered epoll(7): one epoll_ctl(2) in the life of a connection.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};

use pitot_client::Payload;
use pitot_meter::{Nanos, now};
use pitot_sys::connect::Peer;
use pitot_sys::readiness::{EpollEdge, Interest, Readiness, Ready};
use pitot_sys::{Token, connect, socket};

use super::entry::{Engine, EngineEntry, EngineError};
use super::lookups::Lookups;
use super::route::Route;
use crate::connections::{Connections, Next, Wire};
use crate::sample::ErrorPhase;
use crate::tally::Tally;

pub(super) const ENTRY: EngineEntry = EngineEntry {
    name: "epoll",
    summary: "edge-triggered epoll: one send and one receive per request",
    doc: "Works on every kernel. The clock is read after each receive, so that no time depends on how many replies are \
          handled in one wake-up.",
    resolves: true,
    available: || Ok(()),
    open,
};

/// Bytes received in one call, into a buffer that all connections of the thread share.
const RECEIVE_BYTES: usize = 64 * 1024;
/// Calls on one connection before the others have their turn.
const RECEIVES_MAX: usize = 16;
/// The most events that one call returns; if it returned as many, there may be more.
const FULL_BATCH: usize = 512;

struct EpollWire {
    epoll: EpollEdge,
    route: Route,
    /// Of a target whose name is looked up for each connection.
    lookups: Option<Lookups>,
    sockets: Vec<Socket>,
}

/// The token of the socket of lookups, which is no slot.
const LOOKUPS: u32 = u32::MAX;

/// The engine's part of a slot.
#[derive(Default)]
struct Socket {
    fd: Option<OwnedFd>,
    /// Counts the connections of the slot, so that an event for an earlier one is recognised.
    generation: u32,
    connecting: bool,
    /// The lookup that the connection waits for.
    lookup: Option<u16>,
    /// What the kernel has not accepted yet. Rare, so it is on the heap.
    #[expect(clippy::box_collection, reason = "8 bytes instead of 24 for each of 100,000 connections")]
    unsent: Option<Box<Vec<u8>>>,
}

impl EpollWire {
    fn connect_to(&mut self, slot: u32, target: Peer) -> io::Result<()> {
        let socket = &mut self.sockets[slot as usize];
        socket.generation = (socket.generation + 1) % Token::GENERATIONS;
        let fd = connect::open(target.clone(), self.route.source(slot))?;
        connect::start(&fd, target)?;
        // Watched after the connect has begun: a socket that has never connected is reported as broken.
        self.epoll.watch(fd.as_fd(), Token::new(slot, socket.generation), Interest::ReadWrite)?;
        socket.connecting = true;
        socket.fd = Some(fd);
        Ok(())
    }
}

impl Wire for EpollWire {
    fn connect(&mut self, slot: u32) -> io::Result<()> {
        if let Some(lookups) = &mut self.lookups {
            self.sockets[slot as usize].lookup = Some(lookups.ask(slot, now())?);
            return Ok(());
        }
        self.connect_to(slot, self.route.target.clone())
    }

    fn send(&mut self, slot: u32, payload: Payload<'_>) -> io::Result<()> {
        let socket = &mut self.sockets[slot as usize];
        let bytes = payload.as_slice();
        if let Some(unsent) = &mut socket.unsent {
            unsent.extend_from_slice(bytes);
            return Ok(());
        }
        let Some(fd) = &socket.fd else { return Err(io::ErrorKind::NotConnected.into()) };
        let sent = send_some(fd, bytes)?;
        if sent < bytes.len() {
            socket.unsent = Some(Box::new(bytes[sent..].to_vec()));
        }
        Ok(())
    }

    fn close(&mut self, slot: u32) -> u32 {
        let socket = &mut self.sockets[slot as usize];
        socket.unsent = None;
        socket.connecting = false;
        if let (Some(id), Some(lookups)) = (socket.lookup.take(), &mut self.lookups) {
            lookups.give_up(id);
        }
        // A closed descriptor leaves epoll by itself.
        socket.fd.take().and_then(|fd| connect::retransmits(&fd).ok()).unwrap_or(0)
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

struct EpollLoop {
    wire: EpollWire,
    events: Vec<Ready>,
    buffer: Vec<u8>,
    /// Everything that had happened by then has been reported.
    seen: Nanos,
}

fn open(connections: &Connections, route: Route) -> Result<Box<dyn Engine>, EngineError> {
    let per_slot = std::iter::repeat_with(Socket::default).take(connections.slots()).collect();
    let mut epoll = EpollEdge::new()?;
    let lookups = route.lookup.clone().map(Lookups::new).transpose()?;
    if let Some(lookups) = &lookups {
        epoll.watch(lookups.as_fd(), Token::new(LOOKUPS, 0), Interest::Read)?;
    }
    Ok(Box::new(EpollLoop {
        wire: EpollWire { epoll, route, lookups, sockets: per_slot },
        events: Vec::with_capacity(FULL_BATCH),
        buffer: vec![0; RECEIVE_BYTES],
        seen: now(),
    }))
}

impl Engine for EpollLoop {
    fn drive(
        &mut self,
        connections: &mut Connections,
        ready: &mut dyn FnMut(&Connections),
    ) -> Result<(), EngineError> {
        let mut ready_reported = false;
        loop {
            let time = now();
            let until = match connections.tick(&mut self.wire, time, self.seen) {
                Next::Wait(until) => until,
                Next::Over => return Ok(()),
            };
            if !ready_reported && connections.is_ready() {
                ready_reported = true;
                ready(connections);
            }
            self.events.clear();
            let due = self.wire.lookups.as_ref().map_or(Nanos::MAX, Lookups::due);
            self.wire.epoll.wait(Some(until.min(due).since(time).into()), &mut self.events)?;
            let woke = now();
            if let Some(lookups) = &mut self.wire.lookups {
                lookups.retry(woke);
            }
            for event in &self.events {
                handle(connections, &mut self.wire, *event, &mut self.buffer);
            }
            if self.events.len() < FULL_BATCH {
                self.seen = woke;
            }
        }
    }

    fn finish(&mut self, connections: Connections) -> Tally {
        connections.finish(&mut self.wire, now())
    }
}

fn handle(connections: &mut Connections, wire: &mut EpollWire, event: Ready, buffer: &mut [u8]) {
    let slot = event.token.index();
    if slot == LOOKUPS && wire.lookups.is_some() {
        return answers(connections, wire);
    }
    let generation = event.token.generation();
    let socket = &mut wire.sockets[slot as usize];
    let Some(fd) = socket.fd.as_ref().filter(|_| socket.generation == generation) else { return };
    if socket.connecting {
        if !event.writable {
            return;
        }
        let outcome = connect::outcome(fd);
        socket.connecting = false;
        connections.connected(wire, slot, now(), outcome);
    } else if event.writable
        && socket.unsent.is_some()
        && let Err(e) = send_rest(socket)
    {
        return connections.broke(wire, slot, now(), ErrorPhase::Send, &e);
    }
    if event.readable {
        receive(connections, wire, slot, generation, event.ended, buffer);
    }
}

/// Goes on with the connections whose lookups are answered.
fn answers(connections: &mut Connections, wire: &mut EpollWire) {
    while let Some((slot, to)) = wire.lookups.as_mut().and_then(Lookups::next) {
        wire.sockets[slot as usize].lookup = None;
        match to {
            Ok(address) => {
                if let Err(e) = wire.connect_to(slot, address.into()) {
                    connections.connected(wire, slot, now(), Err(e));
                }
            }
            Err(why) => connections.unresolved(wire, slot, now(), why),
        }
    }
}

fn send_rest(socket: &mut Socket) -> io::Result<()> {
    if let (Some(fd), Some(unsent)) = (&socket.fd, &mut socket.unsent) {
        let sent = send_some(fd, unsent)?;
        unsent.drain(..sent);
        if unsent.is_empty() {
            socket.unsent = None;
        }
    }
    Ok(())
}

/// Receives what is there. A receive that does not fill the buffer has emptied the socket, and what comes later makes
/// a new event, so that EAGAIN need not be asked for; only an end that was reported with the event is.
fn receive(
    connections: &mut Connections,
    wire: &mut EpollWire,
    slot: u32,
    generation: u32,
    ended: bool,
    buffer: &mut [u8],
) {
    for _ in 0..RECEIVES_MAX {
        let socket = &wire.sockets[slot as usize];
        let Some(fd) = socket.fd.as_ref().filter(|_| socket.generation == generation) else { return };
        match socket::recv(fd, buffer) {
            Ok(0) => return connections.ended(wire, slot, now()),
            Ok(n) => {
                connections.received(wire, slot, now(), &buffer[..n]);
                if n < buffer.len() && !ended {
                    return;
                }
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return connections.broke(wire, slot, now(), ErrorPhase::Receive, &e),
        }
    }
    // More is there than fits in its turn: the next wait reports it again.
    let socket = &wire.sockets[slot as usize];
    if let Some(fd) = socket.fd.as_ref().filter(|_| socket.generation == generation) {
        let token = Token::new(slot, generation);
        wire.epoll.unwatch(fd.as_fd(), false);
        if let Err(e) = wire.epoll.watch(fd.as_fd(), token, Interest::ReadWrite) {
            connections.broke(wire, slot, now(), ErrorPhase::Receive, &e);
        }
    }
}
