//! What is due when, from the opening of the first connection to the end of the run.

use pitot_meter::Nanos;

use super::slot::{Pause, Replies};
use super::state::{Connections, Pacing, Stage};
use super::timers::Alarm;
use super::wire::Wire;
use crate::tally::Tally;
use crate::workload::Usage;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait for events, until then at the latest.
    Wait(Nanos),
    /// The run is over.
    Over,
}

/// Connects and greetings in flight at once before the start: few enough for any listen queue, and for handshakes that
/// take a millisecond of a CPU each to end in time.
pub(super) const OPENING_MAX: u64 = 100;
/// How long the opening may take for each connection, besides twice the time-out. It is long enough for a TLS handshake, and a server
/// that does not take them all does not hold up the start for ever.
pub(super) const OPENING_EACH: Nanos = Nanos::from_millis(1);
/// Connects begun between two waits for events, so that times stay exact in a storm.
const STORM_BATCH: u32 = 32;
pub(super) const INTERVAL: Nanos = Nanos::from_millis(100);
/// Between two times that connections are asked what the server has acknowledged.
const HAND_OVER_INTERVAL: Nanos = Nanos::from_millis(500);

impl Connections {
    /// Does what is due by `now`. Everything that had happened by `seen` has been reported, so that what should have
    /// come by then and has not timed out: a loop that was kept from running does not blame the server.
    pub fn tick(&mut self, wire: &mut impl Wire, now: Nanos, seen: Nanos) -> Next {
        self.recorder.tick(now);
        if now >= self.hand_over_at && self.recorder.is_measuring() {
            self.hand_over_acknowledged(now);
        }
        if self.gate.stopped() {
            return Next::Over;
        }
        if self.stage == Stage::Running && self.slice_is_over(now) {
            self.end_slice(wire, now);
        }
        while let Some((at, slot, alarm)) = self.timers.take(now) {
            match alarm {
                Alarm::Expiry => self.check_expiry(wire, slot, now, seen),
                Alarm::Wake => self.wake(wire, slot, at, now),
                Alarm::Page => self.page_due(wire, slot, at, now),
            }
        }
        match self.stage {
            Stage::Opening => self.tick_opening(wire, now),
            Stage::Waiting => self.tick_waiting(wire, now),
            Stage::Running => self.tick_running(wire, now),
            Stage::Preparing => self.tick_preparing(wire, now, seen),
            Stage::Resuming => {
                self.resume(wire, now);
                self.tick_running(wire, now)
            }
            Stage::Draining => self.tick_draining(wire, now, seen),
            Stage::Resting => Next::Over,
        }
    }

    fn tick_opening(&mut self, wire: &mut impl Wire, now: Nanos) -> Next {
        if self.opening_ends == Nanos::MAX {
            let each = Nanos(OPENING_EACH.0 * self.slots.len() as u64);
            self.opening_ends = now + Nanos(self.timeout.0.saturating_mul(2)) + each;
        }
        if self.storm.is_none() {
            while self.connecting + self.greeting < OPENING_MAX && !self.to_open.is_empty() {
                self.open_next(wire, now);
            }
        }
        if self.untried == 0 {
            self.stage = Stage::Waiting;
        } else if now >= self.opening_ends {
            // The others are opened at the start, as those are that were lost meanwhile.
            self.stage = Stage::Waiting;
            if self.storm.is_none() {
                self.to_open = self.to_open.end..self.to_open.end;
            }
        }
        Next::Wait(self.timers.next().min(now + self.gate.interval()))
    }

    fn tick_waiting(&mut self, wire: &mut impl Wire, now: Nanos) -> Next {
        match self.gate.start_at() {
            Some(at) if now >= at => {
                self.start(wire, at, now);
                self.tick_running(wire, now)
            }
            at => Next::Wait(self.timers.next().min(at.unwrap_or(now + self.gate.interval()))),
        }
    }

    fn start(&mut self, wire: &mut impl Wire, at: Nanos, now: Nanos) {
        self.stage = Stage::Running;
        self.start_at = at;
        self.end_at = self.duration.map_or(Nanos::MAX, |duration| at + self.warmup + duration);
        self.recorder.start(at + self.warmup, self.end_at);
        if let Some(log) = &mut self.idle_log {
            log.begin(at + self.warmup);
        }
        self.recorder.tick(now);
        if let Some(churn) = &mut self.churn {
            churn.next_at = at + Nanos(churn.gap as u64);
        }
        for slot in 0..self.slots.len() as u32 {
            if !self.think_at_first(slot, at) {
                self.settle(wire, slot, now);
            }
            self.reopen_at_start(wire, slot, now);
        }
        self.start_users(wire, at, now);
    }

    /// Lets a user who thinks between requests think before the first, too, so that they do not all begin at once. False
    /// if nobody thinks.
    pub(super) fn think_at_first(&mut self, slot: u32, at: Nanos) -> bool {
        match self.pace {
            Pacing::Closed { think } if think > Nanos::ZERO && self.life(slot).usage == Usage::Requests => {
                let first = (self.random.unit() * think.0 as f64) as u64;
                self.pause(slot, Pause::Think { until: at + Nanos(first.max(1)) });
                true
            }
            Pacing::Closed { .. } | Pacing::Open { .. } => false,
        }
    }

    fn tick_running(&mut self, wire: &mut impl Wire, now: Nanos) -> Next {
        if now >= self.end_at {
            // A slice that was kept from running until its end still has to be drained.
            return if self.held.is_some() { Next::Wait(now) } else { Next::Over };
        }
        if self.storm.is_some() {
            for _ in 0..STORM_BATCH.min(self.to_open.len() as u32) {
                self.open_next(wire, now);
            }
            if self.storm_is_over() {
                return Next::Over;
            }
        } else {
            self.send_due(wire, now);
            if self.is_exhausted() {
                return Next::Over;
            }
        }
        self.replace_due(wire, now);
        if !self.to_open.is_empty() {
            return Next::Wait(now);
        }
        let arrival = match &self.pace {
            Pacing::Open { due, starved: false, .. } if self.remaining > 0 => self.start_at + *due,
            _ => Nanos::MAX,
        };
        let churn = self.churn.as_ref().map_or(Nanos::MAX, |churn| churn.next_at);
        let own = self.timers.next().min(arrival).min(churn);
        Next::Wait(own.min(self.end_at).min(self.recorder.next_tick()).min(now + INTERVAL))
    }

    /// True if every request there was to send has ended.
    fn is_exhausted(&self) -> bool {
        let more = match &self.pace {
            Pacing::Closed { .. } => self.groups.iter().any(|life| life.usage.is_active()),
            Pacing::Open { due, .. } => *due != Nanos::MAX,
        };
        let reading = self.users.as_ref().map_or(0, |users| users.reading);
        let sessions = self.sessions.as_ref().map_or(0, |sessions| sessions.under_way);
        self.under_way == 0
            && reading == 0
            && sessions == 0
            && (self.remaining == 0 || !more && self.end_at == Nanos::MAX)
    }

    fn storm_is_over(&self) -> bool {
        let over = self.to_open.is_empty() && self.connecting == 0 && self.greeting == 0;
        over && self.recorder.open() == self.slots.len() as u64
    }

    /// Replaces the connections whose turn has come.
    fn replace_due(&mut self, wire: &mut impl Wire, now: Nanos) {
        while let Some(churn) = &mut self.churn
            && now >= churn.next_at
        {
            churn.count += 1;
            churn.next_at = self.start_at + Nanos(((churn.count + 1) as f64 * churn.gap) as u64);
            let slot = churn.next_slot;
            churn.next_slot = (slot + 1) % churn.slots;
            self.replace(wire, slot, now);
        }
    }

    /// What was acknowledged goes with the second under way, so that no connection of a run of days keeps it.
    fn hand_over_acknowledged(&mut self, now: Nanos) {
        self.hand_over_at = Nanos::MAX;
        for told in self.slots.iter_mut().map_while(|slot| slot.conn.take_acknowledged()) {
            self.hand_over_at = now + HAND_OVER_INTERVAL;
            self.recorder.acknowledged(told);
        }
    }

    /// Connections that have asked for something, and those of them that had no reply at all: their requests have failed, or
    /// the first waits since the first half of the run.
    fn starved(&self, end: Nanos) -> (u64, u64) {
        let half = Nanos(end.0 / 2 + self.start_at.min(end).0 / 2);
        let (mut asked, mut unanswered) = (0, 0);
        for slot in 0..self.slots.len() as u32 {
            let waits = || self.pending[self.pending_index(slot, 0)].intended < half;
            asked += u64::from(self.slots[slot as usize].replies != Replies::NotAsked);
            unanswered += u64::from(match self.slots[slot as usize].replies {
                Replies::NotAsked | Replies::Some => false,
                Replies::Awaited => self.slots[slot as usize].under_way > 0 && waits(),
                Replies::Failed => true,
            });
        }
        (asked, unanswered)
    }

    /// The end of the run: what is under way is cut, what was due is missed, and everything recorded is handed out.
    /// Connections stay open up to here, so that they count as open to the end.
    pub fn finish(mut self, wire: &mut impl Wire, now: Nanos) -> Tally {
        // A run that ends in time ends at its time, even if the loop noticed later.
        let end = now.min(self.end_at);
        self.recorder.tick(end);
        self.hand_over_acknowledged(end);
        for slot in 0..self.slots.len() as u32 {
            let idle = self.is_idle(slot);
            for n in 0..self.slots[slot as usize].under_way {
                if !idle {
                    let intended = self.pending[self.pending_index(slot, n)].intended;
                    self.recorder.cut(intended, end);
                }
            }
        }
        while let Pacing::Open { arrivals, due, .. } = &mut self.pace {
            if *due == Nanos::MAX || self.start_at == Nanos::MAX || self.remaining == 0 {
                break;
            }
            let at = self.start_at + *due;
            if at >= end {
                break;
            }
            *due = arrivals.next().unwrap_or(Nanos::MAX);
            self.miss(at);
        }
        if let Some(storm) = self.storm {
            self.recorder.storm(storm);
        }
        let (asked, unanswered) = self.starved(end);
        // What closing costs is not part of the run.
        let measure_at = self.recorder.measure_at();
        let mut tally = self.recorder.finish(end);
        (tally.connections.asked, tally.connections.unanswered) = (asked, unanswered);
        tally.pages = self.users.take().map(|users| Box::new(users.finish()));
        tally.sessions = self.sessions.take().map(|sessions| Box::new(sessions.finish(measure_at)));
        tally.idle = self.idle_log.as_ref().and_then(|log| log.finish(end));
        for slot in 0..self.slots.len() as u32 {
            if !self.slots[slot as usize].is_closed() {
                tally.connections.retransmits += u64::from(wire.close(slot));
            }
        }
        for (name, count) in self.slots.iter().flat_map(|slot| slot.conn.counts()) {
            tally.count(name, count);
        }
        tally
    }
}
