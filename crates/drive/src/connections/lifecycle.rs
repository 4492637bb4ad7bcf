//! Opening, losing and reopening connections.

use std::io;

use pitot_client::{Handshake, Opening};
use pitot_meter::Nanos;

use super::slot::{History, Link, Open, Pause};
use super::state::{Connections, Pacing, Stage};
use super::timers::Alarm;
use super::wire::Wire;
use crate::sample::{ErrorKind, ErrorPhase};
use crate::workload::{ConnectAt, Usage};

/// The first back-off; it doubles with each failure in a row.
const BACK_OFF_MIN: Nanos = Nanos::from_millis(10);
/// A connection that ends sooner, without a reply, counts as a failure to open one, so that a server that accepts and
/// closes is not flooded with connects.
const SHORT_LIFE: Nanos = Nanos::from_secs(1);

/// The longest time between two moments at which idle connections of a thread send.
const TRICKLE_TICK_MAX: Nanos = Nanos::from_micros(62_500);
/// Such moments between two requests of one of them, at least.
const TRICKLE_TICKS_MIN: u64 = 16;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// In order, by the server.
    ByPeer,
    /// With an error that the kernel reported.
    Broken,
    /// Closed by us because it took too long.
    TimedOut,
    /// Closed by us because of what the server sent.
    Faulty,
    /// Closed by us as the workload wants.
    ByUs,
}

impl Connections {
    /// Opens the next of the slots that are opened before or at the start.
    pub(super) fn open_next(&mut self, wire: &mut impl Wire, now: Nanos) {
        if let Some(slot) = self.to_open.next() {
            self.open_slot(wire, slot, now);
        }
    }

    pub(super) fn open_slot(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        self.connecting += 1;
        let s = &mut self.slots[slot as usize];
        s.link = Link::Connecting { since: now };
        s.spent = false;
        s.room = self.pipeline;
        s.tail.clear();
        match wire.connect(slot) {
            Ok(()) => self.set_expiry(slot, now + self.timeout),
            Err(e) => {
                let why = (ErrorPhase::Connect, ErrorKind::from(&e));
                self.connect_failed(wire, slot, now, why);
            }
        }
    }

    /// A connect that was started is over.
    pub fn connected(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos, result: io::Result<()>) {
        match result {
            Ok(()) => self.established(wire, slot, now),
            Err(e) => {
                let why = (ErrorPhase::Connect, ErrorKind::from(&e));
                self.connect_failed(wire, slot, now, why);
            }
        }
    }

    /// The target's name could not be looked up for a connection.
    pub fn unresolved(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos, why: ErrorKind) {
        self.connect_failed(wire, slot, now, (ErrorPhase::Resolve, why));
    }

    fn established(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        self.connecting -= 1;
        let s = &mut self.slots[slot as usize];
        let again = s.history == History::Established;
        let since = match s.link {
            Link::Connecting { since } => since,
            Link::Closed | Link::Greeting { .. } | Link::Open(_) => now,
        };
        self.recorder.opened(now, now.since(since), again);
        self.out.clear();
        if self.layers {
            s.conn.clock(now.0);
        }
        let opening = s.conn.open(&mut self.out);
        s.link = match opening {
            Opening::Ready => Link::Open(Open::new(since)),
            Opening::Greeting => {
                self.greeting += 1;
                Link::Greeting { since, established: now }
            }
        };
        if opening == Opening::Ready {
            self.opened_up(slot, now);
        }
        if self.transmit(wire, slot, now) && opening == Opening::Ready {
            self.usable(wire, slot, now);
        }
    }

    pub(super) fn connect_failed(
        &mut self,
        wire: &mut impl Wire,
        slot: u32,
        now: Nanos,
        (phase, kind): (ErrorPhase, ErrorKind),
    ) {
        self.connecting -= 1;
        self.tried(slot, History::Failed);
        self.recorder.connect_failed();
        let retransmits = wire.close(slot);
        self.recorder.retransmitted(retransmits);
        let s = &mut self.slots[slot as usize];
        s.link = Link::Closed;
        s.failures = s.failures.saturating_add(1);
        self.fail(slot, now, (phase, kind), true, 0);
        self.recover(wire, slot, now);
    }

    /// An attempt to open a connection is over, greetings and all.
    pub(super) fn tried(&mut self, slot: u32, outcome: History) {
        let s = &mut self.slots[slot as usize];
        match (s.history, outcome) {
            (History::Established, _) => {}
            (History::Untried, _) => {
                s.history = outcome;
                if self.life(slot).connect_at == ConnectAt::BeforeStart {
                    self.untried -= 1;
                    self.gate.count_tried();
                }
            }
            (History::Failed, _) => s.history = outcome,
        }
    }

    /// The keys of a layer below the protocol are agreed on.
    pub(super) fn secured(&mut self, slot: u32, now: Nanos, handshake: Handshake) {
        if let Link::Greeting { established, .. } = self.slots[slot as usize].link {
            self.recorder.handshake(now.since(established), handshake);
        }
    }

    /// The greetings are over.
    pub(super) fn greeted(&mut self, slot: u32, now: Nanos) {
        let link = &mut self.slots[slot as usize].link;
        if let Link::Greeting { since, .. } = *link {
            self.greeting -= 1;
            *link = Link::Open(Open::new(since));
            self.opened_up(slot, now);
        }
    }

    /// Requests can be sent on a connection from now on.
    fn opened_up(&mut self, slot: u32, now: Nanos) {
        self.tried(slot, History::Established);
        if let Some(storm) = &mut self.storm {
            storm.established = self.recorder.open() - self.greeting;
            storm.last_at_ns = now.since(self.start_at).0;
        }
    }

    /// The connection can carry requests from now on.
    fn usable(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        self.dispatch(wire, slot, now);
        if self.slots[slot as usize].is_open() {
            self.settle(wire, slot, now);
        }
    }

    /// The server has finished sending.
    pub fn ended(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        if let Some(tag) = self.oldest_tag(slot)
            && let Some(reply) = self.slots[slot as usize].conn.end_of_input(Some(tag))
        {
            self.complete(slot, now, 0, reply);
        }
        let kind = match &self.slots[slot as usize].link {
            Link::Greeting { .. } if self.slots[slot as usize].conn.is_shaking_hands() => {
                return self.lose(wire, slot, now, ErrorPhase::Handshake, ErrorKind::CLOSED, End::Broken);
            }
            Link::Open(Open { reply: Some(_), .. }) => ErrorKind::TRUNCATED,
            Link::Open(_) | Link::Greeting { .. } | Link::Connecting { .. } | Link::Closed => {
                ErrorKind::CLOSED
            }
        };
        self.lose(wire, slot, now, ErrorPhase::Receive, kind, End::ByPeer);
    }

    /// A send or a receive has failed.
    pub fn broke(
        &mut self,
        wire: &mut impl Wire,
        slot: u32,
        now: Nanos,
        phase: ErrorPhase,
        error: &io::Error,
    ) {
        let s = &self.slots[slot as usize];
        let is_handshake = matches!(s.link, Link::Greeting { .. }) && s.conn.is_shaking_hands();
        let phase = if is_handshake { ErrorPhase::Handshake } else { phase };
        self.lose(wire, slot, now, phase, ErrorKind::from(error), End::Broken);
    }

    /// An established connection is over: it is closed, what was under way on it has failed, and another one replaces
    /// it.
    pub(super) fn lose(
        &mut self,
        wire: &mut impl Wire,
        slot: u32,
        now: Nanos,
        phase: ErrorPhase,
        kind: ErrorKind,
        end: End,
    ) {
        let given_back = self.slots[slot as usize].given_back();
        let retransmits = wire.close(slot);
        self.recorder.closed(now, matches!(end, End::ByPeer | End::Broken), retransmits);
        let s = &mut self.slots[slot as usize];
        s.spent = end == End::ByUs;
        if matches!(s.link, Link::Greeting { .. }) {
            self.greeting -= 1;
            if s.conn.is_shaking_hands() {
                self.recorder.handshake_failed();
            }
            self.tried(slot, History::Failed);
        }
        let s = &mut self.slots[slot as usize];
        let served_nothing_since = match std::mem::replace(&mut s.link, Link::Closed) {
            Link::Greeting { since, .. } | Link::Open(Open { since, served: 0, .. }) => Some(since),
            Link::Open(_) | Link::Connecting { .. } | Link::Closed => None,
        };
        let failed =
            end != End::ByUs && served_nothing_since.is_some_and(|since| now.since(since) < SHORT_LIFE);
        s.failures = if failed { s.failures.saturating_add(1) } else { 0 };
        let is_error = matches!(end, End::Broken | End::TimedOut | End::Faulty);
        self.fail(slot, now, (phase, kind), is_error, given_back);
        self.recover(wire, slot, now);
    }

    /// Goes on with a slot whose connection is gone: at once, or after a pause if that was a failure.
    fn recover(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let failures = self.slots[slot as usize].failures;
        if failures > 0 {
            let pause = Nanos(BACK_OFF_MIN.0 << (failures - 1).min(10)).min(self.back_off_max);
            self.pause(slot, Pause::BackOff { until: now + pause });
        } else {
            self.reopen(wire, slot, now);
        }
    }

    /// Opens the connection of a slot again if it should be open without a request, or gives it its next request.
    fn reopen(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let s = &self.slots[slot as usize];
        if s.is_closed() && s.under_way > 0 {
            return self.open_slot(wire, slot, now);
        }
        if self.is_between_slices() {
            return;
        }
        let waits_for_requests =
            matches!(self.pace, Pacing::Closed { .. }) && self.stage == Stage::Running && !self.is_idle(slot);
        if self.life(slot).connect_at == ConnectAt::OnDemand || waits_for_requests {
            self.settle(wire, slot, now);
        } else if self.slots[slot as usize].is_closed() && self.stage != Stage::Opening {
            self.open_slot(wire, slot, now);
        }
    }

    /// Opens a connection that was lost while others were opened for the first time, or was not tried in time. Until then it would
    /// only take their turns: a server that drops one for each that it accepts would be connected to for ever.
    pub(super) fn reopen_at_start(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let s = &self.slots[slot as usize];
        let is_missing = match s.history {
            History::Established => true,
            History::Untried => self.life(slot).connect_at == ConnectAt::BeforeStart,
            History::Failed => false,
        };
        if is_missing && s.is_closed() && !s.is_pausing() {
            self.reopen(wire, slot, now);
        }
    }

    /// Replaces a connection, once its requests are answered.
    pub(super) fn replace(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let s = &mut self.slots[slot as usize];
        let Link::Open(open) = &mut s.link else { return };
        open.retiring = true;
        if s.under_way == 0 {
            self.retire(wire, slot, now);
        }
    }

    /// Closes a connection whose requests are answered, and goes on with its slot.
    pub(super) fn retire(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let dismissed = matches!(self.slots[slot as usize].link, Link::Open(Open { dismissed: true, .. }));
        let end = if dismissed { End::ByPeer } else { End::ByUs };
        self.lose(wire, slot, now, ErrorPhase::Receive, ErrorKind::CLOSED, end);
    }

    /// Lets a slot do nothing for a while.
    pub(super) fn pause(&mut self, slot: u32, pause: Pause) {
        self.slots[slot as usize].pause = pause;
        if let Some(until) = pause.until() {
            self.timers.set(until, slot, Alarm::Wake);
        }
    }

    /// Lets the user of a slot think, for so long in the mean.
    pub(super) fn let_think(&mut self, slot: u32, now: Nanos, mean: Nanos) {
        let until = now + self.think_times.draw(mean, &mut self.random);
        self.pause(slot, Pause::Think { until });
    }

    /// Lets an idle connection wait for its next request, until `at` or a little earlier.
    ///
    /// Times are ticks, so that a thread with 20,000 idle connections sends what is due some sixteen times a second, and
    /// is not woken for each of them: to wake costs several times as much as to send. Threads have different ticks, so that a
    /// server does not get the requests of all of them at once.
    pub(super) fn pause_until_trickle(&mut self, slot: u32, trickle: Nanos, at: Nanos, now: Nanos) {
        let tick = Nanos(trickle.0 / TRICKLE_TICKS_MIN).min(TRICKLE_TICK_MAX).max(Nanos(1));
        let phase = tick.0 / self.share.count * self.share.index;
        let until = Nanos(at.0 - at.0.wrapping_sub(phase) % tick.0);
        self.pause(slot, Pause::Trickle { until: until.max(now + Nanos(1)) });
    }

    /// An alarm for the end of a pause has gone off.
    pub(super) fn wake(&mut self, wire: &mut impl Wire, slot: u32, at: Nanos, now: Nanos) {
        let between_slices = self.is_between_slices();
        let s = &mut self.slots[slot as usize];
        // Who thinks when a slice ends goes on thinking in the next one.
        if s.pause.until() != Some(at) || between_slices && matches!(s.pause, Pause::Think { .. }) {
            return;
        }
        let (pause, is_open) = (std::mem::replace(&mut s.pause, Pause::None), s.is_open());
        match (pause, self.life(slot).usage) {
            (Pause::Think { until }, _) if self.sessions.is_some() => {
                self.wake_session(wire, slot, until, now);
            }
            (Pause::Think { until }, _) => {
                if self.has_room(slot) {
                    self.enqueue(slot, until);
                    self.dispatch(wire, slot, now);
                }
            }
            (Pause::Trickle { .. }, Usage::Idle { trickle: Some(trickle) }) if is_open => {
                self.pause_until_trickle(slot, trickle, now + trickle, now);
                if self.slots[slot as usize].under_way == 0 {
                    self.enqueue(slot, now);
                    self.dispatch(wire, slot, now);
                }
            }
            (Pause::Trickle { .. } | Pause::BackOff { .. } | Pause::None, _) => self.reopen(wire, slot, now),
        }
    }
}
