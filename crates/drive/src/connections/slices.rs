//! Connections that are held: they do their work in slices and rest in between.
//!
//! A slice has three steps, each of which the engine drives to its end. *Preparing* takes note of what has happened since
//! the last slice and opens what was lost, so that none of it is part of the slice. *Running* is the load as it always is.
//! *Draining* begins no request and waits for the replies to those under way. Then nothing happens until the next slice.
//!
//! The schedule of an open loop, the churn and the pauses of users who think stand still between slices and go on with
//! the next one, so that many short slices ask for as much as one long run.

use pitot_meter::Nanos;
use pitot_results::load::ErrorRow;

use super::held::{Held, SliceTimes};
use super::lifecycle::End;
use super::slot::{Link, Pause};
use super::state::{Connections, Pacing, Stage};
use super::tick::{INTERVAL, Next, OPENING_MAX};
use super::wire::Wire;
use crate::recorder::SliceRecord;
use crate::sample::{ErrorKind, ErrorPhase};
use crate::tally::Interval;
use crate::workload::ConnectAt;

impl Connections {
    /// From now on the load is held: it waits for the first slice instead of the gate.
    pub fn hold(&mut self) {
        self.held = Some(Held::default());
        self.stage = Stage::Resting;
    }

    /// Lets the engine look at all connections and open those that were lost, or that were never open.
    pub fn prepare(&mut self, now: Nanos) {
        if let Some(held) = &mut self.held {
            held.looked_from = now;
        }
        self.stage = Stage::Preparing;
        self.to_open = 0..self.slots.len() as u32;
        self.recorder.prepare();
    }

    pub(super) fn tick_preparing(&mut self, wire: &mut impl Wire, now: Nanos, seen: Nanos) -> Next {
        if self.held.as_ref().is_some_and(|held| seen < held.looked_from) {
            // What has come since the last slice has not been reported yet.
            return Next::Wait(now);
        }
        while self.connecting + self.greeting < OPENING_MAX
            && let Some(slot) = self.to_open.next()
        {
            let s = &mut self.slots[slot as usize];
            if !s.is_closed() || s.spent || self.life(slot).connect_at != ConnectAt::BeforeStart {
                continue;
            }
            // It is tried once for each slice, however often it has failed.
            let s = &mut self.slots[slot as usize];
            if let Pause::BackOff { .. } = s.pause {
                s.pause = Pause::None;
            }
            self.open_slot(wire, slot, now);
        }
        if self.to_open.is_empty() && self.connecting == 0 && self.greeting == 0 {
            return Next::Over;
        }
        Next::Wait(self.timers.next().min(now + INTERVAL))
    }

    /// Starts a slice of that length, in which requests are begun from `at` on.
    pub fn begin(&mut self, at: Nanos, length: Nanos) {
        let Some(held) = &mut self.held else { return };
        self.stage = Stage::Resuming;
        self.start_at = at - held.elapsed;
        self.end_at = at + length;
        held.times = SliceTimes { began: at, ..SliceTimes::default() };
        self.recorder.begin(at);
    }

    /// Gives every connection something to do.
    pub(super) fn resume(&mut self, wire: &mut impl Wire, now: Nanos) {
        let Some(held) = &mut self.held else { return };
        held.times.first = now;
        let (began, rested_from) = (held.times.began, held.rested_from);
        self.stage = Stage::Running;
        if let Some(churn) = &mut self.churn {
            churn.next_at = self.start_at + Nanos(((churn.count + 1) as f64 * churn.gap) as u64);
        }
        let is_open = match &mut self.pace {
            Pacing::Open { starved, .. } => {
                *starved = false;
                true
            }
            Pacing::Closed { .. } => false,
        };
        // Nothing is under way, so that all alarms but those of pauses are out of date.
        self.timers.clear();
        for slot in 0..self.slots.len() as u32 {
            self.slots[slot as usize].expiry_set = false;
            let s = &self.slots[slot as usize];
            match (s.pause, rested_from) {
                (Pause::Think { until }, Some(rested_from)) => {
                    self.pause(slot, Pause::Think { until: began + until.since(rested_from) });
                    continue;
                }
                (pause @ Pause::BackOff { .. }, _) => {
                    self.pause(slot, pause);
                    continue;
                }
                (Pause::None | Pause::Think { .. } | Pause::Trickle { .. }, _) => {}
            }
            // The next request of a closed loop opens the connection that it needs.
            let needs_opening = (is_open || self.is_idle(slot))
                && s.is_closed()
                && self.life(slot).connect_at == ConnectAt::BeforeStart;
            if needs_opening {
                self.open_slot(wire, slot, now);
            } else if rested_from.is_some() || !self.think_at_first(slot, began) {
                self.settle(wire, slot, now);
            }
        }
    }

    /// The end of a slice has come: begins what was still due in it, and nothing more.
    pub(super) fn end_slice(&mut self, wire: &mut impl Wire, now: Nanos) {
        self.send_due(wire, now);
        self.stage = Stage::Draining;
        if let Pacing::Open { arrivals, due, .. } = &mut self.pace {
            while *due != Nanos::MAX && self.start_at + *due < self.end_at {
                self.number += 1;
                self.recorder.missed(self.start_at + *due);
                *due = arrivals.next().unwrap_or(Nanos::MAX);
            }
        }
        if let Some(held) = &mut self.held {
            held.elapsed += self.end_at - held.times.began;
            held.rested_from = Some(self.end_at);
            held.times.stopped = self.end_at.max(held.times.first);
        }
    }

    pub(super) fn tick_draining(&mut self, wire: &mut impl Wire, now: Nanos, seen: Nanos) -> Next {
        let limit = self.end_at + self.timeout;
        if seen >= limit {
            for slot in 0..self.slots.len() as u32 {
                self.give_up(wire, slot, now);
            }
        }
        if self.under_way == 0 && self.connecting == 0 && self.greeting == 0 {
            if let Some(held) = &mut self.held {
                held.times.drained = now;
            }
            self.stage = Stage::Resting;
            return Next::Over;
        }
        Next::Wait(self.timers.next().min(limit.max(now)).min(now + INTERVAL))
    }

    /// Closes a connection that still has something under way, as timed out.
    fn give_up(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let s = &self.slots[slot as usize];
        match s.link {
            Link::Connecting { .. } => {
                self.connect_failed(wire, slot, now, (ErrorPhase::Timeout, ErrorKind::NO_CONNECTION));
            }
            Link::Greeting { .. } => self.greeting_timed_out(wire, slot, now),
            Link::Open(_) if s.under_way > 0 => {
                self.lose(wire, slot, now, ErrorPhase::Timeout, ErrorKind::NO_REPLY, End::TimedOut);
            }
            Link::Open(_) | Link::Closed => {}
        }
    }

    /// True if the connections do not do the work of a slice: what is lost then is opened before the next one.
    pub(super) fn is_between_slices(&self) -> bool {
        matches!(self.stage, Stage::Preparing | Stage::Draining | Stage::Resting | Stage::Resuming)
    }

    /// True if a slice is over for requests that would begin at `now`.
    pub(super) fn slice_is_over(&self, now: Nanos) -> bool {
        self.held.is_some() && now >= self.end_at
    }

    /// Connections that are open now.
    pub fn open(&self) -> u64 {
        self.recorder.open()
    }

    /// The last slice, which is drained. The next one is recorded in `next`, which is empty.
    pub fn take_slice(&mut self, next: Box<Interval>) -> SliceRecord {
        self.recorder.end_slice(next)
    }

    /// What went wrong since [`Connections::prepare`].
    pub fn errors(&self) -> Vec<ErrorRow> {
        self.recorder.error_rows(Nanos::ZERO)
    }

    /// The times of the last slice.
    pub fn slice_times(&self) -> SliceTimes {
        self.held.as_ref().map(|held| held.times).unwrap_or_default()
    }
}
