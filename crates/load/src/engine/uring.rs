//! The loop on io_uring(7): receives are multishot into buffers that all connections share, sends go to the kernel with
//! the wait, and one system call serves a whole batch of replies.

use std::io;

use pitot_meter::{Nanos, now};
use pitot_proto::client::Payload;
use pitot_sys::ring::{Chunk, Completion, Ring, RingFd, Sizes};
use pitot_sys::{Token, connect, ring};

use super::{EngineEntry, EngineError, Route, span};
use crate::fleet::{Fleet, Next, Wire};
use crate::sample::Phase;
use crate::tally::Tally;

pub(super) const ENTRY: EngineEntry = EngineEntry {
    name: "uring",
    summary: "io_uring: one system call for a batch of requests",
    doc: "The least CPU per request, where the kernel has it. All replies of a batch are stamped when the wait for them \
          ends, as they had all come by then; the requests that follow carry the same stamp and are sent when the \
          batch is worked off, so that service time may include the time that takes (a few microseconds for each \
          reply of the batch), as it includes the time a reply waits to be read with any other client.",
    available: || ring::probe().map(|_| ()),
    run,
};

const SIZES: Sizes =
    Sizes { submissions: 1024, completions: 4096, buffers: 512, buffer_bytes: 8 * 1024, direct: 0 };

/// A request up to this length always fits in the send buffer of a connection on which nothing else is under way
/// (tcp(7), tcp_wmem: at least 4 KiB), so that its send can go unwatched.
const UNWATCHED_MAX: usize = 4096;

/// Submissions that the fleet asked for while it was shown a buffer of the ring.
enum Action {
    Connect(Token),
    Fixed(Token, &'static [u8]),
    Bytes(Token, Vec<u8>),
    /// With whether something is in flight on it.
    Close(RingFd, bool),
}

struct Sockets {
    route: Route,
    places: Vec<Place>,
    actions: Vec<Action>,
    /// Every send is known to be short and alone on its connection.
    unwatched: bool,
}

/// The engine's part of a slot.
#[derive(Default)]
struct Place {
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

impl Sockets {
    fn token(&self, slot: u32) -> Token {
        Token::new(slot, self.places[slot as usize].generation)
    }

    /// The place of a token, if it is still the same connection.
    fn place(&mut self, token: Token) -> Option<&mut Place> {
        let place = &mut self.places[token.index() as usize];
        (place.generation == token.generation() && place.fd.is_some()).then_some(place)
    }
}

impl Wire for Sockets {
    fn connect(&mut self, slot: u32) -> io::Result<()> {
        let fd = connect::open(self.route.target, self.route.source())?;
        let place = &mut self.places[slot as usize];
        *place = Place {
            fd: Some(RingFd::Plain(fd)),
            generation: (place.generation + 1) % Token::GENERATIONS,
            connecting: true,
            ..Place::default()
        };
        self.actions.push(Action::Connect(self.token(slot)));
        Ok(())
    }

    fn send(&mut self, slot: u32, payload: Payload<'_>) -> io::Result<()> {
        let token = self.token(slot);
        match payload {
            Payload::Fixed(bytes) if self.unwatched => self.actions.push(Action::Fixed(token, bytes)),
            Payload::Fixed(bytes) | Payload::Scratch(bytes) => {
                self.actions.push(Action::Bytes(token, bytes.to_vec()));
            }
        }
        Ok(())
    }

    fn close(&mut self, slot: u32) -> u32 {
        let place = &mut self.places[slot as usize];
        place.waiting = None;
        let Some(fd) = place.fd.take() else { return 0 };
        let retransmits = match &fd {
            RingFd::Plain(fd) => connect::retransmits(fd).unwrap_or(0),
            RingFd::Direct(_) => 0,
        };
        let busy = place.connecting || place.receiving || place.sending;
        self.actions.push(Action::Close(fd, busy));
        retransmits
    }
}

fn run(mut fleet: Fleet, route: Route, ready: &mut dyn FnMut(&Fleet)) -> Result<Tally, EngineError> {
    let unwatched = fleet.request_bytes_max().is_some_and(|bytes| bytes <= UNWATCHED_MAX);
    let mut ring = Ring::new(SIZES)?;
    let places = std::iter::repeat_with(Place::default).take(fleet.slots()).collect();
    let mut sockets = Sockets { route, places, actions: Vec::with_capacity(64), unwatched };
    // Receives that ended for want of buffers, to be armed again once the buffers are back.
    let mut rearm: Vec<Token> = Vec::new();
    let mut told_ready = false;
    let mut seen = now();
    loop {
        let time = now();
        let next = fleet.tick(&mut sockets, time, seen);
        submit(&mut ring, &mut sockets);
        let Next::Wait(until) = next else { break };
        if !told_ready && fleet.is_ready() {
            told_ready = true;
            ready(&fleet);
        }
        ring.wait(Some(span(time, until)))?;
        // All that completed had happened by now. What the fleet sends in answer carries the same time and goes to the
        // kernel in the next wait: see the entry's doc for what that means.
        seen = now();
        while let Some(completion) = ring.next_completion() {
            handle(&mut fleet, &mut sockets, &mut ring, completion, seen, &mut rearm);
            submit(&mut ring, &mut sockets);
        }
        for token in rearm.drain(..) {
            if let Some(Place { fd: Some(fd), .. }) = sockets.place(token) {
                ring.receive(token, fd);
            }
        }
    }
    let time = now();
    let tally = fleet.finish(&mut sockets, time);
    submit(&mut ring, &mut sockets);
    Ok(tally)
}

fn handle(
    fleet: &mut Fleet,
    sockets: &mut Sockets,
    ring: &mut Ring,
    completion: Completion,
    time: Nanos,
    rearm: &mut Vec<Token>,
) {
    match completion {
        Completion::Received { token, result, last } => {
            received(fleet, sockets, ring, token, result, time);
            if last && let Some(place) = sockets.place(token) {
                // Ended for want of a buffer, or because the kernel gave others their turn.
                place.receiving = true;
                rearm.push(token);
            }
        }
        Completion::Connected { token, result } => {
            let Some(place) = sockets.place(token) else { return };
            place.connecting = false;
            if result.is_ok() {
                place.receiving = true;
                if let Some(fd) = &place.fd {
                    ring.receive(token, fd);
                }
            }
            fleet.connected(sockets, token.index(), time, result);
        }
        Completion::Sent { token, result, mut payload } => {
            let sent = match result {
                Ok(sent) => sent,
                Err(e) => {
                    payload.clear();
                    ring.recycle_payload(payload);
                    if sockets.place(token).is_some() {
                        fleet.broke(sockets, token.index(), time, Phase::Send, &e);
                    }
                    return;
                }
            };
            payload.advance(sent, drop);
            let Some(place) = sockets.place(token) else { return };
            if payload.is_empty()
                && let Some(waiting) = place.waiting.take()
            {
                payload.push_bytes(*waiting, 0);
            }
            match &place.fd {
                Some(fd) if !payload.is_empty() => ring.send(token, fd, payload, false),
                _ => {
                    place.sending = false;
                    payload.clear();
                    ring.recycle_payload(payload);
                }
            }
        }
        Completion::Accepted { .. } | Completion::Read { .. } | Completion::Readable { .. } => {}
    }
}

fn received(
    fleet: &mut Fleet,
    sockets: &mut Sockets,
    ring: &mut Ring,
    token: Token,
    result: io::Result<Option<Chunk>>,
    time: Nanos,
) {
    let slot = token.index();
    let known = sockets.place(token).is_some();
    match result {
        Ok(Some(chunk)) => {
            if known {
                fleet.received(sockets, slot, time, ring.chunk(&chunk));
            }
            ring.recycle(chunk);
        }
        Ok(None) if known => {
            if let Some(place) = sockets.place(token) {
                place.receiving = false;
            }
            fleet.ended(sockets, slot, time);
        }
        Err(e) if known && e.raw_os_error() != Some(pitot_sys::errno::ENOBUFS) => {
            if let Some(place) = sockets.place(token) {
                place.receiving = false;
            }
            fleet.broke(sockets, slot, time, Phase::Receive, &e);
        }
        Ok(None) | Err(_) => {}
    }
}

/// Submits what the fleet asked for.
fn submit(ring: &mut Ring, sockets: &mut Sockets) {
    let target = sockets.route.target;
    let mut actions = std::mem::take(&mut sockets.actions);
    for action in actions.drain(..) {
        match action {
            Action::Connect(token) => {
                if let Some(Place { fd: Some(fd), .. }) = sockets.place(token) {
                    ring.connect(token, fd, target);
                }
            }
            Action::Fixed(token, bytes) => {
                if let Some(Place { fd: Some(fd), .. }) = sockets.place(token) {
                    ring.send_static(token, fd, bytes);
                }
            }
            Action::Bytes(token, bytes) => {
                let Some(place) = sockets.place(token) else { continue };
                if place.sending {
                    place.waiting.get_or_insert_default().extend_from_slice(&bytes);
                } else if let Some(fd) = &place.fd {
                    let mut payload = ring.payload();
                    payload.push_bytes(bytes, 0);
                    place.sending = true;
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
    sockets.actions = actions;
}
