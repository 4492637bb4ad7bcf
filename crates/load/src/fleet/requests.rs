//! Starting requests and taking their replies.

use pitot_meter::Nanos;
use pitot_proto::client::{Draw, Fault, Progress, Tag, Verdict};

use super::connections::End;
use super::{Fleet, Pacing, Pending, Phase, Stage, Wire};
use crate::sample::{self, Kind, Outcome, Sample};
use crate::workload::{Opening, Usage};

/// A tail that needed more than this gives its memory back.
const TAIL_KEPT: usize = 4096;

impl Fleet {
    /// True if the slot may be given one more request.
    pub(super) fn has_room(&self, slot: u32) -> bool {
        let s = &self.slots[slot as usize];
        self.phase == Phase::Running
            && self.remaining > 0
            && !s.retiring
            && s.under_way < self.pipeline
            && (s.stage == Stage::Closed || s.served + u64::from(s.under_way) < self.life(slot).requests_max)
    }

    /// Gives a slot that is free to work what it has to do now.
    pub(super) fn settle(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let s = &self.slots[slot as usize];
        if s.pausing() || matches!(s.stage, Stage::Connecting | Stage::Greeting) {
            return;
        }
        match self.life(slot).usage {
            Usage::Silence { trickle } => {
                if let Some(trickle) = trickle
                    && s.stage == Stage::Open
                {
                    // The first time at any moment within the gap, so that not all of them speak at once.
                    let first = (self.random.unit() * trickle.0 as f64) as u64;
                    self.pause(slot, now + Nanos(first.max(1)), false);
                }
            }
            Usage::Requests => match self.pace {
                Pacing::Closed { think } if think > Nanos::ZERO => {
                    if self.has_room(slot) && s.under_way == 0 {
                        self.pause(slot, now + think, true);
                    }
                }
                Pacing::Closed { .. } => {
                    while self.has_room(slot) {
                        self.enqueue(slot, now);
                    }
                    self.dispatch(wire, slot, now);
                }
                Pacing::Open { .. } => {
                    self.list(slot);
                    self.pump(wire, now);
                }
            },
        }
    }

    /// Puts a slot in the queue of those that can take a request.
    fn list(&mut self, slot: u32) {
        if self.phase == Phase::Running && self.is_takeable(slot) && !self.slots[slot as usize].listed {
            self.slots[slot as usize].listed = true;
            self.ready.push_back(slot);
        }
    }

    /// True if the slot can take a request of an open loop now.
    fn is_takeable(&self, slot: u32) -> bool {
        let s = &self.slots[slot as usize];
        let reachable = match s.stage {
            Stage::Open => true,
            Stage::Closed => self.life(slot).opening == Opening::OnDemand && !s.pausing(),
            Stage::Connecting | Stage::Greeting => false,
        };
        reachable && self.has_room(slot)
    }

    /// The connection, among those that can take a request, that has been without one for longest.
    fn take_ready(&mut self) -> Option<u32> {
        while let Some(slot) = self.ready.pop_front() {
            self.slots[slot as usize].listed = false;
            if self.is_takeable(slot) {
                return Some(slot);
            }
        }
        None
    }

    /// Starts the requests of an open loop that are due.
    pub(super) fn pump(&mut self, wire: &mut impl Wire, now: Nanos) {
        loop {
            let Pacing::Open { arrivals, due, starved } = &mut self.pace else { return };
            if *due == Nanos::MAX || self.remaining == 0 || self.phase != Phase::Running {
                return;
            }
            let intended = self.start_at + *due;
            // What is due after the end never is, even if the loop has not noticed the end yet.
            if intended > now || intended >= self.end_at {
                *starved = false;
                return;
            }
            let was_starved = *starved;
            if now.since(intended) > self.timeout {
                // Whoever waits for a connection for so long has gone.
                *due = arrivals.next().unwrap_or(Nanos::MAX);
                self.remaining -= 1;
                self.recorder.missed(intended);
                continue;
            }
            let slot = self.take_ready();
            let Pacing::Open { arrivals, due, starved } = &mut self.pace else { return };
            let Some(slot) = slot else {
                *starved = true;
                return;
            };
            *due = arrivals.next().unwrap_or(Nanos::MAX);
            if !was_starved {
                self.recorder.lateness(intended, now.since(intended));
            }
            self.enqueue(slot, intended);
            self.list(slot);
            self.dispatch(wire, slot, now);
        }
    }

    /// Adds a request to those under way on a slot. [`Fleet::dispatch`] sends it.
    pub(super) fn enqueue(&mut self, slot: u32, intended: Nanos) {
        if self.is_silent(slot) {
            self.recorder.trickled();
        } else {
            self.recorder.begun(intended);
            self.under_way += 1;
            self.remaining -= 1;
        }
        let place = self.place(slot, self.slots[slot as usize].under_way);
        self.pending[place] = Pending { intended, ..Pending::default() };
        let s = &mut self.slots[slot as usize];
        s.under_way += 1;
        s.unsent += 1;
    }

    /// Sends what is unsent on a slot, or opens its connection for it.
    pub(super) fn dispatch(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let s = &self.slots[slot as usize];
        if s.unsent == 0 {
            return;
        }
        match s.stage {
            Stage::Connecting | Stage::Greeting => return,
            Stage::Closed => return self.open_slot(wire, slot, now),
            Stage::Open => {}
        }
        self.out.clear();
        for n in s.asked()..s.under_way {
            let draw = Draw { random: self.random.next(), index: self.index };
            self.index += self.share.count;
            let tag = self.slots[slot as usize].conn.request(draw, &mut self.out);
            let place = self.place(slot, n);
            self.pending[place].sent = now;
            self.pending[place].tag = tag;
        }
        self.slots[slot as usize].unsent = 0;
        self.arm(slot, now + self.timeout);
        self.transmit(wire, slot, now);
    }

    /// Sends what the protocol wrote; false if that broke the connection.
    pub(super) fn transmit(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) -> bool {
        if self.out.is_empty() {
            return true;
        }
        let payload = self.out.payload();
        self.recorder.bytes_sent(payload.as_slice().len());
        match wire.send(slot, payload) {
            Ok(()) => true,
            Err(e) => {
                self.broke(wire, slot, now, sample::Phase::Send, &e);
                false
            }
        }
    }

    pub(super) fn oldest_tag(&self, slot: u32) -> Option<Tag> {
        (self.slots[slot as usize].asked() > 0).then(|| self.pending[self.place(slot, 0)].tag)
    }

    /// Bytes have come.
    pub(crate) fn received(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos, input: &[u8]) {
        self.recorder.bytes_received(input.len());
        let s = &mut self.slots[slot as usize];
        if s.first_byte != Nanos::ZERO {
            // The reply is under way: this is not its first arrival.
            let gap = now.since(std::mem::replace(&mut s.last_byte, now));
            if !self.is_silent(slot) {
                self.recorder.gap(now, gap);
            }
        }
        let taken = if self.slots[slot as usize].tail.is_empty() {
            self.digest(wire, slot, now, input).map(|used| {
                if used < input.len() {
                    self.slots[slot as usize].tail.extend_from_slice(&input[used..]);
                }
            })
        } else {
            let mut tail = std::mem::take(&mut self.slots[slot as usize].tail);
            tail.extend_from_slice(input);
            self.digest(wire, slot, now, &tail).map(|used| {
                tail.drain(..used);
                tail.shrink_to(TAIL_KEPT);
                self.slots[slot as usize].tail = tail;
            })
        };
        if taken.is_some() {
            self.after_input(wire, slot, now);
        }
    }

    /// Takes whole replies from the input. The bytes that are done with, or `None` if the connection is lost.
    fn digest(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos, input: &[u8]) -> Option<usize> {
        let mut used = 0;
        loop {
            let tag = self.oldest_tag(slot);
            let s = &mut self.slots[slot as usize];
            if s.first_byte == Nanos::ZERO && tag.is_some() && used < input.len() {
                s.first_byte = now;
                s.last_byte = now;
            }
            self.out.clear();
            let received = match s.conn.receive(tag, &input[used..], &mut self.out) {
                Ok(received) => received,
                Err(fault) => {
                    self.fault(wire, slot, now, fault);
                    return None;
                }
            };
            used += received.consumed;
            if !self.transmit(wire, slot, now) {
                return None;
            }
            match received.progress {
                Progress::More => return Some(used),
                Progress::Ready => self.slots[slot as usize].stage = Stage::Open,
                Progress::Reply(reply) => {
                    let s = &mut self.slots[slot as usize];
                    if used < input.len() && s.asked() == 1 {
                        // The reply goes on behind its end, so that it was not the one it seemed to be.
                        self.fault(wire, slot, now, Fault::Unasked);
                        return None;
                    }
                    s.retiring |= !reply.persists;
                    self.complete(slot, now, reply.verdict);
                    if !reply.persists {
                        self.retire(wire, slot, now);
                        return None;
                    }
                    if used == input.len() {
                        return Some(used);
                    }
                }
            }
        }
    }

    fn fault(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos, fault: Fault) {
        self.lose(wire, slot, now, sample::Phase::Protocol, Kind::Word(fault.word()), End::Faulty);
    }

    /// The oldest request of a slot has its complete reply.
    pub(super) fn complete(&mut self, slot: u32, now: Nanos, verdict: Verdict) {
        let silent = self.is_silent(slot);
        let request = self.pending[self.place(slot, 0)];
        let s = &mut self.slots[slot as usize];
        let first_byte = std::mem::take(&mut s.first_byte);
        s.oldest = (s.oldest + 1) % self.pipeline;
        s.under_way -= 1;
        s.served += 1;
        s.failures = 0;
        let wrong = match verdict {
            Verdict::Right => None,
            Verdict::Status(status) => Some(Kind::Status(status)),
            Verdict::Length => Some(Kind::Word("length")),
            Verdict::Bytes => Some(Kind::Word("bytes")),
            Verdict::Refused(word) => Some(Kind::Word(word)),
        };
        if silent {
            if let Some(kind) = wrong {
                self.recorder.connection_error(now, sample::Phase::Content, kind);
            }
            return;
        }
        self.under_way -= 1;
        let outcome = match wrong {
            Some(kind) => Outcome::Wrong(sample::Phase::Content, kind),
            None if now.since(request.sent) > self.timeout => {
                Outcome::Wrong(sample::Phase::Timeout, Kind::LATE)
            }
            None => Outcome::Right,
        };
        self.recorder.sample(&Sample {
            intended: request.intended,
            sent: request.sent,
            first_byte,
            done: now,
            outcome,
        });
    }

    /// Replies may have made room: closes a connection that has served its time, or starts what comes next.
    fn after_input(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let s = &self.slots[slot as usize];
        let spent = s.retiring || s.served >= self.life(slot).requests_max;
        if spent && s.under_way == 0 {
            return self.retire(wire, slot, now);
        }
        if s.under_way >= self.pipeline {
            return;
        }
        self.dispatch(wire, slot, now);
        if !self.is_silent(slot) {
            self.settle(wire, slot, now);
        }
    }

    /// What is under way on a slot has failed. With nothing under way it is the connection's own error, if it is one.
    pub(super) fn fail_all(&mut self, slot: u32, now: Nanos, phase: sample::Phase, kind: Kind, error: bool) {
        let silent = self.is_silent(slot);
        let under_way = self.slots[slot as usize].under_way;
        if under_way == 0 || silent {
            if error || under_way > 0 {
                self.recorder.connection_error(now, phase, kind);
            }
        } else {
            for n in 0..under_way {
                let intended = self.pending[self.place(slot, n)].intended;
                self.recorder.failed(intended, now, phase, kind);
            }
            self.under_way -= u64::from(under_way);
        }
        let s = &mut self.slots[slot as usize];
        s.under_way = 0;
        s.unsent = 0;
        s.oldest = 0;
        s.first_byte = Nanos::ZERO;
        s.tail = Vec::new();
    }
}
