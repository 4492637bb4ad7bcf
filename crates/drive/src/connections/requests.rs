//! Starting requests: which connection takes one, and when.

use pitot_client::Draw;
use pitot_meter::Nanos;

use super::slot::{Link, Pending, Replies};
use super::state::{Connections, Pacing, Stage};
use super::wire::Wire;
use crate::sample::ErrorPhase;
use crate::workload::{ConnectAt, Usage};

impl Connections {
    /// True if the slot may be given one more request.
    #[inline(always)]
    pub(super) fn has_room(&self, slot: u32) -> bool {
        let s = &self.slots[slot as usize];
        if self.stage != Stage::Running || s.under_way >= s.room {
            return false;
        }
        if self.sessions.is_some() {
            if !self.session_has_room(slot) {
                return false;
            }
        } else if self.remaining == 0 {
            return false;
        }
        let requests_max = self.life(slot).requests_max;
        match &s.link {
            Link::Closed => true,
            Link::Connecting { .. } | Link::Greeting { .. } => u64::from(s.under_way) < requests_max,
            Link::Open(open) => !open.retiring && open.served + u64::from(s.under_way) < requests_max,
        }
    }

    /// Gives a slot that is free to work what it has to do now.
    pub(super) fn settle(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let s = &self.slots[slot as usize];
        if s.is_pausing() || matches!(s.link, Link::Connecting { .. } | Link::Greeting { .. }) {
            return;
        }
        match self.life(slot).usage {
            Usage::Idle { trickle } => {
                if let Some(trickle) = trickle
                    && s.is_open()
                {
                    // The first at a random moment within the gap, so that they do not all send at once.
                    let first = Nanos((self.random.unit() * trickle.0 as f64) as u64);
                    self.pause_until_trickle(slot, trickle, now + first, now);
                }
            }
            Usage::Pages { .. } => self.browse(wire, slot, now),
            Usage::Requests if self.sessions.is_some() => self.settle_session(wire, slot, now),
            Usage::Requests => match self.pace {
                Pacing::Closed { think } if think > Nanos::ZERO => {
                    if self.has_room(slot) && s.under_way == 0 {
                        self.let_think(slot, now, think);
                    }
                }
                Pacing::Closed { .. } if self.slice_is_over(now) => {}
                Pacing::Closed { .. } => {
                    while self.has_room(slot) {
                        self.enqueue(slot, now);
                    }
                    self.dispatch(wire, slot, now);
                }
                Pacing::Open { .. } => {
                    self.offer(slot);
                    self.send_due(wire, now);
                }
            },
        }
    }

    /// Puts a slot in the queue of those that can take a request.
    pub(super) fn offer(&mut self, slot: u32) {
        if self.stage == Stage::Running && self.is_takeable(slot) && !self.slots[slot as usize].queued {
            self.slots[slot as usize].queued = true;
            self.ready.push_back(slot);
        }
    }

    /// True if the slot can take a request of an open loop now.
    fn is_takeable(&self, slot: u32) -> bool {
        if self.users.is_some() {
            return self.is_free(slot);
        }
        let s = &self.slots[slot as usize];
        let reachable = match s.link {
            Link::Open(_) => true,
            Link::Closed => self.life(slot).connect_at == ConnectAt::OnDemand && !s.is_pausing(),
            Link::Connecting { .. } | Link::Greeting { .. } => false,
        };
        reachable && !self.is_in_session(slot) && self.has_room(slot)
    }

    /// The connection, among those that can take a request, that has been without one for longest.
    fn take_ready(&mut self) -> Option<u32> {
        while let Some(slot) = self.ready.pop_front() {
            self.slots[slot as usize].queued = false;
            if self.is_takeable(slot) {
                return Some(slot);
            }
        }
        None
    }

    /// Starts the requests of an open loop that are due.
    pub(super) fn send_due(&mut self, wire: &mut impl Wire, now: Nanos) {
        loop {
            let Pacing::Open { arrivals, due, starved } = &mut self.pace else { return };
            if *due == Nanos::MAX || self.remaining == 0 || self.stage != Stage::Running {
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
                // A user who waits for a connection for that long has given up.
                *due = arrivals.next().unwrap_or(Nanos::MAX);
                self.miss(intended);
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
            if let Some(users) = &self.users {
                let user = users.of(slot);
                self.begin_page(wire, user, intended, now);
                continue;
            }
            self.enqueue(slot, intended);
            self.offer(slot);
            self.dispatch(wire, slot, now);
        }
    }

    /// An arrival was due then and comes to nothing.
    pub(super) fn miss(&mut self, intended: Nanos) {
        let measured = self.recorder.missed(intended);
        self.number += 1;
        self.remaining -= u64::from(measured);
        if let Some(users) = &mut self.users {
            users.tally.missed += u64::from(measured);
        }
    }

    /// Adds a request to those under way on a slot. [`Connections::dispatch`] sends it.
    pub(super) fn enqueue(&mut self, slot: u32, intended: Nanos) {
        let mut begins = true;
        if self.is_idle(slot) {
            self.recorder.trickled();
        } else {
            let measured = self.recorder.begun(intended);
            // The number of requests that is asked for is that of the measured part. Of users it is the number of pages, of
            // sessions theirs.
            begins = self.sessions.as_mut().is_none_or(|sessions| sessions.begin(slot, intended, measured));
            self.remaining -= u64::from(measured && begins && self.users.is_none());
            self.under_way += 1;
            let replies = &mut self.slots[slot as usize].replies;
            if *replies == Replies::NotAsked {
                *replies = Replies::Awaited;
            }
        }
        let index = self.pending_index(slot, self.slots[slot as usize].under_way);
        self.pending[index] = Pending { intended, number: self.number as u32, ..Pending::default() };
        self.number += u64::from(begins);
        self.slots[slot as usize].under_way += 1;
    }

    /// Sends what is unsent on a slot, or opens its connection for it.
    pub(super) fn dispatch(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let s = &self.slots[slot as usize];
        let (sent, under_way) = (s.unanswered(), s.under_way.min(s.room));
        if sent >= under_way {
            return;
        }
        match s.link {
            Link::Connecting { .. } | Link::Greeting { .. } => return,
            Link::Closed => return self.open_slot(wire, slot, now),
            Link::Open(open) if open.dismissed => return,
            Link::Open(_) => {}
        }
        self.out.clear();
        if self.layers {
            self.slots[slot as usize].conn.clock(now.0);
        }
        for n in sent..under_way {
            if self.users.is_some() {
                self.aim(slot, n);
            }
            let index = self.pending_index(slot, n);
            let number = self.pending[index].number;
            if self.pending[index].sent == Nanos::ZERO {
                let draw = Draw { random: self.random.next(), index: self.index_of(number) };
                self.pending[index].tag = self.slots[slot as usize].conn.request(draw, &mut self.out);
            } else {
                // It was sent on an earlier connection, whose server did not look at it.
                self.slots[slot as usize].conn.repeat(self.pending[index].tag, &mut self.out);
                self.pending[index].first_byte = None;
            }
            self.pending[index].sent = now;
        }
        if self.layers {
            self.slots[slot as usize].conn.flush(&mut self.out);
        }
        if let Link::Open(open) = &mut self.slots[slot as usize].link {
            open.unanswered = under_way;
        }
        self.update_room(slot);
        self.set_expiry(slot, now + self.timeout);
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
                self.broke(wire, slot, now, ErrorPhase::Send, &e);
                false
            }
        }
    }
}
