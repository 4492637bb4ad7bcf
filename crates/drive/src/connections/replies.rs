//! Taking replies: what arrived, to which request it belongs, how it is judged, and what follows from it.

use std::num::NonZeroU64;

use pitot_client::{Fault, Progress, Reply, Tag, Verdict};
use pitot_meter::Nanos;

use super::lifecycle::End;
use super::sessions::Answered;
use super::slot::{Arrival, Link, Open, Pending, Replies};
use super::state::Connections;
use super::wire::Wire;
use crate::sample::{ErrorKind, ErrorPhase, Outcome, Sample};

/// A tail that needed more than this gives its memory back.
const TAIL_KEPT: usize = 4096;

impl Connections {
    pub(super) fn oldest_tag(&self, slot: u32) -> Option<Tag> {
        (self.slots[slot as usize].unanswered() > 0).then(|| self.pending[self.pending_index(slot, 0)].tag)
    }

    /// Bytes have come.
    pub fn received(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos, input: &[u8]) {
        self.recorder.bytes_received(input.len());
        if let Link::Open(Open { reply: Some(arrival), .. }) = &mut self.slots[slot as usize].link {
            // The reply is under way: this is not its first arrival.
            let gap = arrival.more(now);
            if !self.is_idle(slot) {
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

    /// Takes whole replies from the input. Returns how many bytes are consumed, or `None` if the connection is lost.
    fn digest(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos, input: &[u8]) -> Option<usize> {
        let mut used = 0;
        let has_layers = self.layers;
        loop {
            let tag = self.oldest_tag(slot);
            let s = &mut self.slots[slot as usize];
            if let Link::Open(open) = &mut s.link
                && open.unanswered > 0
                && used < input.len()
                && !has_layers
            {
                open.reply.get_or_insert_with(|| Arrival::at(now));
            }
            self.out.clear();
            if has_layers {
                s.conn.clock(now.0);
            }
            let received = match s.conn.receive(tag, &input[used..], &mut self.out) {
                Ok(received) => received,
                Err(fault) => {
                    // The server may be owed a word on what is wrong.
                    if has_layers && !self.transmit(wire, slot, now) {
                        return None;
                    }
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
                Progress::Secured(handshake) => self.secured(slot, now, handshake),
                Progress::Ready => self.greeted(slot, now),
                Progress::Began(nth) => self.began(slot, now, nth),
                Progress::Reply(reply) => {
                    let unanswered = self.slots[slot as usize].unanswered();
                    if unanswered == 0 || unanswered == 1 && used < input.len() && !has_layers {
                        // Bytes follow the end of the last reply, or nothing was asked at all.
                        self.fault(wire, slot, now, Fault::Unasked);
                        return None;
                    }
                    if !self.replied(wire, slot, now, 0, reply) {
                        return None;
                    }
                    if used == input.len() && !has_layers {
                        return Some(used);
                    }
                }
                Progress::ReplyTo(nth, reply) => {
                    if !self.replied(wire, slot, now, nth, reply) {
                        return None;
                    }
                }
                Progress::Failed(nth, word) => {
                    self.failed(slot, now, nth, (ErrorPhase::Protocol, ErrorKind::Word(word)));
                }
                Progress::Limit(room) => {
                    self.slots[slot as usize].room = room.min(self.pipeline);
                }
                Progress::Retiring(given_back) => {
                    if let Link::Open(open) = &mut self.slots[slot as usize].link {
                        open.retiring = true;
                        open.dismissed = true;
                        open.unanswered -= given_back.min(open.unanswered);
                    }
                }
            }
        }
    }

    /// The reply to the `nth` oldest request has begun.
    fn began(&mut self, slot: u32, now: Nanos, nth: u16) {
        let index = self.pending_index(slot, nth);
        self.pending[index].first_byte = NonZeroU64::new(now.0);
        if let Link::Open(open) = &mut self.slots[slot as usize].link {
            open.reply.get_or_insert_with(|| Arrival::at(now));
        }
    }

    /// The reply to the `nth` oldest request is complete; false if it was the last one of its connection.
    #[inline(always)]
    fn replied(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos, nth: u16, reply: Reply) -> bool {
        self.complete(slot, now, nth, reply);
        if !reply.persists {
            // The server has said that it closes, so that this end is not awaited.
            let end = if self.is_spent(slot) { End::ByUs } else { End::ByPeer };
            self.lose(wire, slot, now, ErrorPhase::Receive, ErrorKind::CLOSED, end);
        }
        reply.persists
    }

    fn fault(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos, fault: Fault) {
        let phase = match fault {
            Fault::Handshake(_) => ErrorPhase::Handshake,
            _ => ErrorPhase::Protocol,
        };
        self.lose(wire, slot, now, phase, ErrorKind::Word(fault.word()), End::Faulty);
    }

    /// Takes the `nth` oldest of the unanswered requests of a slot out of the table, if its connection is open.
    #[inline(always)]
    fn take_pending(&mut self, slot: u32, nth: u16) -> Option<Pending> {
        let request = self.pending[self.pending_index(slot, nth)];
        // Those before it move up, so that the others stay in the order in which they were sent.
        for n in (0..nth).rev() {
            let (from, to) = (self.pending_index(slot, n), self.pending_index(slot, n + 1));
            self.pending[to] = self.pending[from];
        }
        let s = &mut self.slots[slot as usize];
        // Only an open connection has sent requests.
        let Link::Open(open) = &mut s.link else { return None };
        s.oldest = if s.oldest + 1 < self.pipeline { s.oldest + 1 } else { 0 };
        s.under_way -= 1;
        open.unanswered -= 1;
        open.served += 1;
        Some(request)
    }

    /// The `nth` oldest request of a slot has ended without a reply, and its connection goes on.
    pub(super) fn failed(&mut self, slot: u32, now: Nanos, nth: u16, (phase, kind): (ErrorPhase, ErrorKind)) {
        let idle = self.is_idle(slot);
        let Some(request) = self.take_pending(slot, nth) else { return };
        if idle {
            return self.recorder.connection_error(now, phase, kind);
        }
        self.under_way -= 1;
        self.recorder.failed(request.intended, now, phase, kind);
        self.slots[slot as usize].has_failed();
        if let Some(users) = &mut self.users {
            users.failed((slot, nth), now, phase);
        }
        if self.sessions.is_some() {
            self.session_failed(slot, now, request.tag);
        }
    }

    /// The `nth` oldest request of a slot has its complete reply.
    pub(super) fn complete(&mut self, slot: u32, now: Nanos, nth: u16, reply: Reply) {
        let idle = self.is_idle(slot);
        let Some(request) = self.take_pending(slot, nth) else { return };
        let s = &mut self.slots[slot as usize];
        s.failures = 0;
        s.replies = Replies::Some;
        let arrived = match &mut s.link {
            Link::Open(open) => open.reply.take().map_or(now, Arrival::first),
            Link::Closed | Link::Connecting { .. } | Link::Greeting { .. } => now,
        };
        let first_byte = request.first_byte.map_or(arrived, |at| Nanos(at.get()));
        let wrong = match reply.verdict {
            Verdict::Right => None,
            Verdict::Status(status) => Some(ErrorKind::Status(status)),
            Verdict::Length => Some(ErrorKind::Word("length")),
            Verdict::Bytes => Some(ErrorKind::Word("bytes")),
            Verdict::Refused(word) => Some(ErrorKind::Word(word)),
        };
        if idle {
            match (wrong, &mut self.idle_log) {
                (Some(kind), _) => self.recorder.connection_error(now, ErrorPhase::Content, kind),
                (None, Some(log)) => log.answered(slot, now),
                (None, None) => {}
            }
            return;
        }
        self.under_way -= 1;
        let outcome = match wrong {
            Some(kind) => Outcome::Wrong(ErrorPhase::Content, kind),
            None if now.since(request.sent) > self.timeout => {
                Outcome::Wrong(ErrorPhase::Timeout, ErrorKind::LATE)
            }
            None => Outcome::Right,
        };
        self.recorder.sample(&Sample {
            intended: request.intended,
            sent: request.sent,
            first_byte,
            done: now,
            outcome,
            status: reply.status,
            content: reply.content,
        });
        if self.users.is_some() {
            self.page_replied((slot, nth), now, &request, outcome);
        }
        if self.sessions.is_some() {
            let right = outcome == Outcome::Right;
            self.session_replied(slot, now, Answered { tag: request.tag, intended: request.intended, right });
        }
    }

    /// Replies may have made room: closes a connection that has carried all its requests, or starts what comes next.
    pub(super) fn after_input(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let s = &self.slots[slot as usize];
        let (unanswered, room) = (s.unanswered(), s.room);
        if unanswered == 0 && self.is_spent(slot) {
            return self.retire(wire, slot, now);
        }
        // What waits for the end of the greetings is under way, and not sent.
        if unanswered >= room {
            return;
        }
        self.dispatch(wire, slot, now);
        if !self.is_idle(slot) {
            self.settle(wire, slot, now);
        }
    }

    /// True if the workload wants no more requests on the slot's connection.
    fn is_spent(&self, slot: u32) -> bool {
        match &self.slots[slot as usize].link {
            Link::Open(open) => open.retiring || open.served >= self.life(slot).requests_max,
            Link::Closed | Link::Connecting { .. } | Link::Greeting { .. } => false,
        }
    }

    /// What is under way on a slot has failed, but for the last requests, so many, that the server has given back. With
    /// nothing under way it is the connection's own error, if it is one.
    pub(super) fn fail(
        &mut self,
        slot: u32,
        now: Nanos,
        (phase, kind): (ErrorPhase, ErrorKind),
        error: bool,
        given_back: u16,
    ) {
        let idle = self.is_idle(slot);
        let under_way = self.slots[slot as usize].under_way;
        // A session of which a request has failed is over, and what was given back of it is not asked for again.
        let given_back = if self.sessions.is_some() && under_way > given_back { 0 } else { given_back };
        let failed = under_way - given_back;
        if failed == 0 || idle {
            if error || failed > 0 {
                self.recorder.connection_error(now, phase, kind);
            }
        } else {
            for n in 0..failed {
                let intended = self.pending[self.pending_index(slot, n)].intended;
                self.recorder.failed(intended, now, phase, kind);
                if let Some(users) = &mut self.users {
                    users.failed((slot, 0), now, phase);
                }
            }
            self.under_way -= u64::from(failed);
            self.slots[slot as usize].has_failed();
            if self.sessions.is_some() {
                self.session_lost(slot, now);
            }
        }
        let s = &mut self.slots[slot as usize];
        s.under_way = given_back;
        s.oldest = (s.oldest + failed) % self.pipeline;
        s.tail = Vec::new();
    }
}
