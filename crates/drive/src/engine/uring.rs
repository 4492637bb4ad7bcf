//! The loop on io_uring(7): receives are multishot into buffers that all connections share, sends go to the kernel with
//! the wait, and one system call serves a whole batch of replies.

use std::io;

use pitot_client::Payload;
use pitot_meter::{Nanos, now};
use pitot_sys::ring::{Chunk, Completion, Options, Ring, RingFd};
use pitot_sys::{Token, connect, ring};

use super::entry::{Engine, EngineEntry, EngineError};
use super::route::Route;
use crate::connections::{Connections, Next, Wire};
use crate::sample::ErrorPhase;
use crate::tally::Tally;

pub(super) const ENTRY: EngineEntry = EngineEntry {
    name: "uring",
    summary: "io_uring: one system call per batch of requests",
    doc: "The least CPU time per request, where the kernel supports it. All replies of a batch get the time at which the \
          wait for them ended, since they had all arrived by then; the requests that follow get the same time and \
          are sent once the batch is handled, so that service time may include that handling (a few microseconds \
          per reply of the batch), just as it includes the time a reply waits to be read with any other client.",
    resolves: false,
    available: || ring::probe().map(|_| ()),
    open,
};

fn options() -> Options {
    Options { submissions: 1024, buffers: 512, buffer_bytes: 8 * 1024, ..Options::default() }
}

/// A request up to this length always fits in the send buffer of a connection on which nothing else is under way
/// (tcp(7), tcp_wmem: at least 4 KiB), so that its send can go unwatched.
const UNWATCHED_MAX: usize = 4096;

/// Buffers kept for sends, and the size up to which they are.
const SPARE_MAX: usize = 256;
const SPARE_BYTES_MAX: usize = 16 * 1024;

/// Submissions that were requested while a buffer of the ring was borrowed.
enum Action {
    Connect(Token),
    Fixed(Token, &'static [u8]),
    Bytes(Token, Vec<u8>),
    /// Whether something is in flight on it.
    Close(RingFd, bool),
}

struct UringWire {
    route: Route,
    sockets: Vec<Socket>,
    actions: Vec<Action>,
    /// Every send is known to be short and the only one in flight on its connection.
    unwatched: bool,
    /// Empty buffers of sends that are done.
    spare: Vec<Vec<u8>>,
}

/// The engine's part of a slot.
#[derive(Default)]
struct Socket {
    fd: Option<RingFd>,
    generation: u32,
    /// A connect is in flight.
    connecting: bool,
    /// A multishot receive is armed.
    receiving: bool,
    /// A watched send is in flight; what is to follow waits, since two sends may be carried out in any order.
    sending: bool,
    #[expect(clippy::box_collection, reason = "8 bytes instead of 24 for each of 100,000 connections")]
    waiting: Option<Box<Vec<u8>>>,
}

impl UringWire {
    /// A copy of bytes to be sent.
    fn copy(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.extend_from_slice(bytes);
        copy
    }

    /// Takes a buffer back for the next copy, unless it is large.
    fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < SPARE_MAX && buffer.capacity() <= SPARE_BYTES_MAX {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    fn token(&self, slot: u32) -> Token {
        Token::new(slot, self.sockets[slot as usize].generation)
    }

    /// The socket of a token, if it is still the same connection.
    fn socket(&mut self, token: Token) -> Option<&mut Socket> {
        let socket = &mut self.sockets[token.index() as usize];
        (socket.generation == token.generation() && socket.fd.is_some()).then_some(socket)
    }
}

impl Wire for UringWire {
    fn connect(&mut self, slot: u32) -> io::Result<()> {
        let fd = connect::open(self.route.target.clone(), self.route.source(slot))?;
        let socket = &mut self.sockets[slot as usize];
        *socket = Socket {
            fd: Some(RingFd::Plain(fd)),
            generation: (socket.generation + 1) % Token::GENERATIONS,
            connecting: true,
            ..Socket::default()
        };
        self.actions.push(Action::Connect(self.token(slot)));
        Ok(())
    }

    fn send(&mut self, slot: u32, payload: Payload<'_>) -> io::Result<()> {
        let token = self.token(slot);
        match payload {
            Payload::Fixed(bytes) if self.unwatched => self.actions.push(Action::Fixed(token, bytes)),
            Payload::Fixed(bytes) | Payload::Scratch(bytes) => {
                let copy = self.copy(bytes);
                self.actions.push(Action::Bytes(token, copy));
            }
        }
        Ok(())
    }

    fn close(&mut self, slot: u32) -> u32 {
        let socket = &mut self.sockets[slot as usize];
        socket.waiting = None;
        let Some(fd) = socket.fd.take() else { return 0 };
        let retransmits = match &fd {
            RingFd::Plain(fd) => connect::retransmits(fd).unwrap_or(0),
            RingFd::Direct(_) => 0,
        };
        let busy = socket.connecting || socket.receiving || socket.sending;
        self.actions.push(Action::Close(fd, busy));
        retransmits
    }
}

struct UringLoop {
    ring: Ring,
    wire: UringWire,
    /// Receives that ended for want of buffers, to be armed again once the buffers are back.
    rearm: Vec<Token>,
    /// Everything that had happened by then has been reported.
    seen: Nanos,
}

fn open(connections: &Connections, route: Route) -> Result<Box<dyn Engine>, EngineError> {
    let unwatched = connections.request_bytes_max().is_some_and(|bytes| bytes <= UNWATCHED_MAX);
    let per_slot = std::iter::repeat_with(Socket::default).take(connections.slots()).collect();
    Ok(Box::new(UringLoop {
        ring: Ring::new(options())?,
        wire: UringWire {
            route,
            sockets: per_slot,
            actions: Vec::with_capacity(64),
            unwatched,
            spare: Vec::new(),
        },
        rearm: Vec::new(),
        seen: now(),
    }))
}

impl Engine for UringLoop {
    fn drive(
        &mut self,
        connections: &mut Connections,
        ready: &mut dyn FnMut(&Connections),
    ) -> Result<(), EngineError> {
        let UringLoop { ring, wire, rearm, seen } = self;
        let mut ready_reported = false;
        loop {
            let time = now();
            let next = connections.tick(wire, time, *seen);
            submit(ring, wire);
            let Next::Wait(until) = next else {
                // What was wanted last must not wait for the next time that the loop is driven.
                ring.submit();
                return Ok(());
            };
            if !ready_reported && connections.is_ready() {
                ready_reported = true;
                ready(connections);
            }
            ring.wait(Some(until.since(time).into()))?;
            // All that completed had happened by now. What is sent in answer carries the same time and goes to the
            // kernel in the next wait: see the entry's doc for what that means.
            *seen = now();
            while let Some(completion) = ring.next_completion() {
                handle(connections, wire, ring, completion, *seen, rearm);
                submit(ring, wire);
            }
            for token in rearm.drain(..) {
                if let Some(Socket { fd: Some(fd), .. }) = wire.socket(token) {
                    ring.receive(token, fd);
                }
            }
        }
    }

    fn finish(&mut self, connections: Connections) -> Tally {
        let tally = connections.finish(&mut self.wire, now());
        submit(&mut self.ring, &mut self.wire);
        self.ring.submit();
        tally
    }
}

fn handle(
    connections: &mut Connections,
    wire: &mut UringWire,
    ring: &mut Ring,
    completion: Completion,
    time: Nanos,
    rearm: &mut Vec<Token>,
) {
    match completion {
        Completion::Received { token, result, last } => {
            received(connections, wire, ring, token, result, time);
            if last && let Some(socket) = wire.socket(token) {
                // Ended for want of a buffer, or because the kernel let others have their turn.
                socket.receiving = true;
                rearm.push(token);
            }
        }
        Completion::Connected { token, result } => {
            let Some(socket) = wire.socket(token) else { return };
            socket.connecting = false;
            if result.is_ok() {
                socket.receiving = true;
                if let Some(fd) = &socket.fd {
                    ring.receive(token, fd);
                }
            }
            connections.connected(wire, token.index(), time, result);
        }
        Completion::Sent { token, result, mut payload } => {
            let sent = match result {
                Ok(sent) => sent,
                Err(e) => {
                    payload.clear();
                    ring.recycle_payload(payload);
                    if wire.socket(token).is_some() {
                        connections.broke(wire, token.index(), time, ErrorPhase::Send, &e);
                    }
                    return;
                }
            };
            payload.advance(sent, |buffer| wire.recycle(buffer));
            let Some(socket) = wire.socket(token) else { return };
            if payload.is_empty()
                && let Some(waiting) = socket.waiting.take()
            {
                payload.push_bytes(*waiting, 0);
            }
            match &socket.fd {
                Some(fd) if !payload.is_empty() => ring.send(token, fd, payload, false),
                _ => {
                    socket.sending = false;
                    payload.clear();
                    ring.recycle_payload(payload);
                }
            }
        }
        Completion::Accepted { .. } | Completion::Read { .. } | Completion::Readable { .. } => {}
    }
}

fn received(
    connections: &mut Connections,
    wire: &mut UringWire,
    ring: &mut Ring,
    token: Token,
    result: io::Result<Option<Chunk>>,
    time: Nanos,
) {
    let slot = token.index();
    let known = wire.socket(token).is_some();
    match result {
        Ok(Some(chunk)) => {
            if known {
                connections.received(wire, slot, time, ring.chunk(&chunk));
            }
            ring.recycle(chunk);
        }
        Ok(None) if known => {
            if let Some(socket) = wire.socket(token) {
                socket.receiving = false;
            }
            connections.ended(wire, slot, time);
        }
        Err(e) if known && e.raw_os_error() != Some(pitot_sys::errno::ENOBUFS) => {
            if let Some(socket) = wire.socket(token) {
                socket.receiving = false;
            }
            connections.broke(wire, slot, time, ErrorPhase::Receive, &e);
        }
        Ok(None) | Err(_) => {}
    }
}

/// Submits what was requested.
fn submit(ring: &mut Ring, wire: &mut UringWire) {
    let mut actions = std::mem::take(&mut wire.actions);
    for action in actions.drain(..) {
        match action {
            Action::Connect(token) => {
                let target = wire.route.target.clone();
                if let Some(Socket { fd: Some(fd), .. }) = wire.socket(token) {
                    ring.connect(token, fd, target);
                }
            }
            Action::Fixed(token, bytes) => {
                if let Some(Socket { fd: Some(fd), .. }) = wire.socket(token) {
                    ring.send_static(token, fd, bytes);
                }
            }
            Action::Bytes(token, bytes) => {
                let Some(socket) = wire.socket(token) else { continue };
                if socket.sending {
                    socket.waiting.get_or_insert_default().extend_from_slice(&bytes);
                    wire.recycle(bytes);
                } else if let Some(fd) = &socket.fd {
                    let mut payload = ring.payload();
                    payload.push_bytes(bytes, 0);
                    socket.sending = true;
                    ring.send(token, fd, payload, false);
                }
            }
            Action::Close(fd, busy) => {
                if busy {
                    ring.cancel_all(&fd);
                }
                ring.close(fd);
            }
        }
    }
    wire.actions = actions;
}
