//! Opening, losing and reopening connections.

use std::io;

use pitot_meter::Nanos;
use pitot_proto::client::Opening as Greetings;

use super::{Alarm, Fleet, Pacing, Phase, Stage, Wire};
use crate::sample::{self, Kind};
use crate::workload::{Opening, Usage};

/// The first back-off; it doubles with each failure in a row.
const BACK_OFF_MIN: Nanos = Nanos::from_millis(10);
const BACK_OFF_MAX: Nanos = Nanos::from_secs(1);
/// A connection that ends sooner, without a reply, counts as a failure to open one: a server that accepts and closes
/// is not hammered.
const SHORT_LIFE: Nanos = Nanos::from_secs(1);

impl Fleet {
    /// Opens the next of the slots that are opened before or at the start.
    pub(super) fn open_next(&mut self, wire: &mut impl Wire, now: Nanos) {
        if let Some(slot) = self.to_open.next() {
            self.open_slot(wire, slot, now);
        }
    }

    pub(super) fn open_slot(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        self.connecting += 1;
        let s = &mut self.slots[slot as usize];
        s.stage = Stage::Connecting;
        s.since = now;
        s.served = 0;
        s.first_byte = Nanos::ZERO;
        s.tail.clear();
        match wire.connect(slot) {
            Ok(()) => self.arm(slot, now + self.timeout),
            Err(e) => self.connect_ended(wire, slot, now, Err((sample::Phase::Connect, Kind::from(&e)))),
        }
    }

    /// A connect that was started is over.
    pub(crate) fn connected(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos, result: io::Result<()>) {
        let result = result.map_err(|e| (sample::Phase::Connect, Kind::from(&e)));
        self.connect_ended(wire, slot, now, result);
    }

    fn connect_ended(
        &mut self,
        wire: &mut impl Wire,
        slot: u32,
        now: Nanos,
        result: Result<(), (sample::Phase, Kind)>,
    ) {
        self.connecting -= 1;
        let opened_early = self.life(slot).opening == Opening::BeforeStart;
        let s = &mut self.slots[slot as usize];
        if opened_early && !s.tried {
            self.untried -= 1;
        }
        s.tried = true;
        match result {
            Ok(()) => {
                self.recorder.opened(now, now.since(s.since), s.opened);
                s.opened = true;
                if let Some(storm) = &mut self.storm {
                    storm.established = self.recorder.open();
                    storm.last_at_ns = now.since(self.start_at).0;
                }
                self.greet(wire, slot, now);
            }
            Err((phase, kind)) => {
                self.recorder.connect_failed();
                let retransmits = wire.close(slot);
                self.recorder.retransmitted(retransmits);
                self.slots[slot as usize].stage = Stage::Closed;
                self.slots[slot as usize].failures = self.slots[slot as usize].failures.saturating_add(1);
                self.fail_all(slot, now, phase, kind, true);
                self.recover(wire, slot, now);
            }
        }
    }

    fn greet(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        self.out.clear();
        let s = &mut self.slots[slot as usize];
        let greetings = s.conn.open(&mut self.out);
        s.stage = match greetings {
            Greetings::Ready => Stage::Open,
            Greetings::Greeting => Stage::Greeting,
        };
        if self.transmit(wire, slot, now) && greetings == Greetings::Ready {
            self.usable(wire, slot, now);
        }
    }

    /// The connection can carry requests from now on.
    pub(super) fn usable(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        self.slots[slot as usize].stage = Stage::Open;
        self.dispatch(wire, slot, now);
        if self.slots[slot as usize].stage == Stage::Open {
            self.settle(wire, slot, now);
        }
    }

    /// The server has finished sending.
    pub(crate) fn ended(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let tag = self.oldest_tag(slot);
        if let Some(reply) = self.slots[slot as usize].conn.end_of_input(tag) {
            let s = &mut self.slots[slot as usize];
            s.retiring = true;
            self.complete(slot, now, reply.verdict);
        }
        let begun = self.slots[slot as usize].first_byte != Nanos::ZERO;
        let kind = if begun { Kind::TRUNCATED } else { Kind::CLOSED };
        self.lose(wire, slot, now, sample::Phase::Receive, kind, End::ByPeer);
    }

    /// A send or a receive has failed.
    pub(crate) fn broke(
        &mut self,
        wire: &mut impl Wire,
        slot: u32,
        now: Nanos,
        phase: sample::Phase,
        error: &io::Error,
    ) {
        self.lose(wire, slot, now, phase, Kind::from(error), End::Broken);
    }

    /// An established connection is of no use any more: it is closed, what was under way on it has failed, and another
    /// takes its place.
    pub(super) fn lose(
        &mut self,
        wire: &mut impl Wire,
        slot: u32,
        now: Nanos,
        phase: sample::Phase,
        kind: Kind,
        end: End,
    ) {
        let retransmits = wire.close(slot);
        self.recorder.closed(now, matches!(end, End::ByPeer | End::Broken), retransmits);
        let s = &mut self.slots[slot as usize];
        s.stage = Stage::Closed;
        s.retiring = false;
        let short = end != End::ByUs && s.served == 0 && now.since(s.since) < SHORT_LIFE;
        s.failures = if short { s.failures.saturating_add(1) } else { 0 };
        let is_error = matches!(end, End::Broken | End::TimedOut | End::Faulty);
        self.fail_all(slot, now, phase, kind, is_error);
        self.recover(wire, slot, now);
    }

    /// Goes on with a slot whose connection is gone: at once, or after a pause if that was a failure.
    fn recover(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let failures = self.slots[slot as usize].failures;
        if failures > 0 {
            let pause = Nanos(BACK_OFF_MIN.0 << (failures - 1).min(10)).min(BACK_OFF_MAX);
            self.pause(slot, now + pause, false);
        } else {
            self.come_back(wire, slot, now);
        }
    }

    /// Opens the connection of a slot again if it should be open without a request, or gives it its next request.
    pub(super) fn come_back(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let waits_for_requests = matches!(self.pace, Pacing::Closed { .. })
            && self.phase == Phase::Running
            && !self.is_silent(slot);
        if self.life(slot).opening == Opening::OnDemand || waits_for_requests {
            self.settle(wire, slot, now);
        } else if self.slots[slot as usize].stage == Stage::Closed {
            self.open_slot(wire, slot, now);
        }
    }

    /// Replaces a connection, once its requests are answered.
    pub(super) fn replace(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let s = &mut self.slots[slot as usize];
        if s.stage != Stage::Open {
            return;
        }
        s.retiring = true;
        if s.under_way == 0 {
            self.retire(wire, slot, now);
        }
    }

    /// Closes a connection whose requests are answered, and goes on with its slot.
    pub(super) fn retire(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        self.lose(wire, slot, now, sample::Phase::Receive, Kind::CLOSED, End::ByUs);
    }

    /// Lets a slot do nothing until then.
    pub(super) fn pause(&mut self, slot: u32, until: Nanos, thinking: bool) {
        let s = &mut self.slots[slot as usize];
        s.wake_at = until;
        s.thinking = thinking;
        self.timers.set(until, slot, Alarm::Wake);
    }

    /// A pause is over.
    pub(super) fn wake(&mut self, wire: &mut impl Wire, slot: u32, at: Nanos, now: Nanos) {
        let s = &mut self.slots[slot as usize];
        if s.wake_at != at {
            return;
        }
        s.wake_at = Nanos::ZERO;
        let thought = std::mem::take(&mut s.thinking);
        match self.life(slot).usage {
            Usage::Requests if thought => {
                if self.has_room(slot) {
                    self.enqueue(slot, at);
                    self.dispatch(wire, slot, now);
                }
            }
            Usage::Silence { trickle: Some(trickle) } if self.slots[slot as usize].stage == Stage::Open => {
                self.pause(slot, now + trickle, false);
                if self.slots[slot as usize].under_way == 0 {
                    self.enqueue(slot, now);
                    self.dispatch(wire, slot, now);
                }
            }
            Usage::Requests | Usage::Silence { .. } => self.come_back(wire, slot, now),
        }
    }

    /// Looks whether the oldest request, or the connect, has timed out, and sets the alarm for the next look.
    pub(super) fn check_expiry(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos, seen: Nanos) {
        let s = &mut self.slots[slot as usize];
        s.armed = false;
        let deadline = match s.stage {
            Stage::Connecting | Stage::Greeting => s.since + self.timeout,
            Stage::Open if s.asked() > 0 => self.pending[self.place(slot, 0)].sent + self.timeout,
            Stage::Open | Stage::Closed => return,
        };
        if deadline > seen {
            // If it lies between what is seen and now it is looked at again in the next round.
            self.arm(slot, deadline.max(now + Nanos(1)));
            return;
        }
        match self.slots[slot as usize].stage {
            Stage::Connecting => {
                self.connect_ended(wire, slot, now, Err((sample::Phase::Timeout, Kind::NO_CONNECTION)));
            }
            Stage::Greeting => {
                self.lose(wire, slot, now, sample::Phase::Timeout, Kind::NO_CONNECTION, End::TimedOut);
            }
            Stage::Open | Stage::Closed => {
                self.lose(wire, slot, now, sample::Phase::Timeout, Kind::NO_REPLY, End::TimedOut);
            }
        }
    }

    pub(super) fn arm(&mut self, slot: u32, at: Nanos) {
        let s = &mut self.slots[slot as usize];
        if !s.armed {
            s.armed = true;
            self.timers.set(at, slot, Alarm::Expiry);
        }
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// In order, by the server.
    ByPeer,
    /// With an error that the kernel told.
    Broken,
    /// Closed by us as its time was over.
    TimedOut,
    /// Closed by us because of what the server sent.
    Faulty,
    /// Closed by us as the workload wants.
    ByUs,
}
