//! The connections of one thread, and what they do when.
//!
//! This is the whole logic of the load generator: it decides which connection sends a request when, judges replies,
//! keeps time-outs, reopens what was lost and records. It makes no system call. The engine tells it what has happened
//! (`connected`, `received`, `ended`, `broke`) with the time, and carries out what it wants through [`Wire`].
//!
//! Which request, at which pace, on connections of which life, until when: these are four values of the plan, and
//! every combination goes through the same few functions.

mod connections;
mod requests;
mod slot;
mod timers;

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use pitot_meter::Nanos;
use pitot_proto::client::{ClientProtocol, Outgoing, Payload};

use crate::gate::Gate;
use crate::pace::Arrivals;
use crate::random::Random;
use crate::recorder::Recorder;
use crate::share::Share;
use crate::tally::{StormEnd, Tally};
use crate::workload::{Lifecycle, Opening, Usage};
use slot::{Pending, Slot, Stage};
use timers::{Alarm, Timers};

/// What a fleet wants done with its connections. An engine is one implementation; tests have another.
pub(crate) trait Wire {
    /// Starts to connect. The engine tells the outcome with [`Fleet::connected`].
    fn connect(&mut self, slot: u32) -> io::Result<()>;

    /// Sends, or keeps what cannot be sent yet until it can. A failure may also be told later, with [`Fleet::broke`].
    fn send(&mut self, slot: u32, payload: Payload<'_>) -> io::Result<()>;

    /// Closes, and returns how many segments the kernel has sent again. Nothing more will be told of the connection.
    fn close(&mut self, slot: u32) -> u32;
}

/// What one thread has to do.
pub(crate) struct FleetPlan {
    pub(crate) protocol: Arc<dyn ClientProtocol>,
    /// This thread's connections.
    pub(crate) groups: Vec<(Lifecycle, u64)>,
    pub(crate) pace: ThreadPace,
    /// Requests under way on one connection, at most.
    pub(crate) pipeline: u16,
    pub(crate) timeout: Nanos,
    /// This thread's requests, where limited.
    pub(crate) requests: Option<u64>,
    pub(crate) warmup: Nanos,
    /// Length of the measured part, where limited.
    pub(crate) duration: Option<Nanos>,
    pub(crate) share: Share,
    pub(crate) seed: u64,
}

/// The pace of one thread.
pub(crate) enum ThreadPace {
    /// The next request follows the last reply.
    Closed { think: Nanos },
    /// Requests are due at these times after the start.
    Open(Arrivals),
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Wait for events, until then at the latest.
    Wait(Nanos),
    /// The run is over.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Connections are opened before the start.
    Opening,
    /// The other threads are not ready.
    Waiting,
    Running,
}

/// Connections that are being opened at once before the start: gentle enough for any listen queue.
const OPENING_MAX: u64 = 100;
/// Connects begun between two looks at what has happened, so that times stay exact in a storm.
const STORM_BATCH: u32 = 32;
/// How often a waiting loop looks whether the run starts or is to stop.
const GLANCE_BEFORE_START: Nanos = Nanos::from_millis(1);
const GLANCE: Nanos = Nanos::from_millis(100);

/// The connections of one thread.
pub(crate) struct Fleet {
    protocol: Arc<dyn ClientProtocol>,
    groups: Vec<Lifecycle>,
    slots: Vec<Slot>,
    /// Requests under way: a row of `pipeline` for each slot.
    pending: Vec<Pending>,
    pipeline: u16,
    /// Connections that can take a request of an open loop, the longest unused first.
    ready: VecDeque<u32>,
    timers: Timers,
    timeout: Nanos,
    pace: Pacing,
    recorder: Recorder,
    random: Random,
    /// The number of the next request in the whole run.
    index: u64,
    share: Share,
    /// Requests that may still begin.
    remaining: u64,
    /// Active requests under way.
    under_way: u64,
    /// Slots that are still to be opened before or at the start.
    to_open: Range<u32>,
    /// Connects whose outcome is not known.
    connecting: u64,
    /// Slots opened before the start whose first connect has no outcome.
    untried: u64,
    churn: Option<Churn>,
    storm: Option<StormEnd>,
    phase: Phase,
    gate: Arc<Gate>,
    warmup: Nanos,
    duration: Option<Nanos>,
    start_at: Nanos,
    end_at: Nanos,
    out: Outgoing,
}

enum Pacing {
    Closed {
        think: Nanos,
    },
    Open {
        arrivals: Arrivals,
        /// The next arrival that no connection has taken, from the start; `MAX` if there is none.
        due: Nanos,
        /// No connection was free at the last look, so that what waits now waits for the server and not for us.
        starved: bool,
    },
}

/// Connections are replaced in turn.
struct Churn {
    gap: f64,
    count: u64,
    next_slot: u32,
    slots: u32,
    next_at: Nanos,
}

impl Fleet {
    pub(crate) fn new(plan: FleetPlan, recorder: Recorder, gate: Arc<Gate>) -> Fleet {
        let total: u64 = plan.groups.iter().map(|(_, count)| count).sum();
        let mut slots = Vec::with_capacity(total as usize);
        for (group, (_, count)) in plan.groups.iter().enumerate() {
            slots.extend((0..*count).map(|_| Slot::new(plan.protocol.connect(), group as u8)));
        }
        // Slots that are opened on demand come first, as active ones do.
        let on_demand: u64 = plan
            .groups
            .iter()
            .filter(|(life, _)| life.opening == Opening::OnDemand)
            .map(|(_, count)| count)
            .sum();
        let before_start: u64 = plan
            .groups
            .iter()
            .filter(|(life, _)| life.opening == Opening::BeforeStart)
            .map(|(_, count)| count)
            .sum();
        let storm = plan.groups.iter().any(|(life, _)| life.opening == Opening::AtOnce);
        let churn = plan.groups.iter().find(|(life, count)| life.churn_rate > 0.0 && *count > 0);
        Fleet {
            groups: plan.groups.iter().map(|(life, _)| *life).collect(),
            pending: vec![Pending::default(); slots.len() * usize::from(plan.pipeline)],
            pipeline: plan.pipeline,
            ready: VecDeque::with_capacity(slots.len()),
            timers: Timers::new(slots.len()),
            timeout: plan.timeout,
            pace: match plan.pace {
                ThreadPace::Closed { think } => Pacing::Closed { think },
                ThreadPace::Open(mut arrivals) => {
                    let due = arrivals.next().unwrap_or(Nanos::MAX);
                    Pacing::Open { arrivals, due, starved: false }
                }
            },
            recorder,
            random: Random::new(plan.seed.rotate_left(32), plan.share.index),
            index: plan.share.index,
            share: plan.share,
            remaining: plan.requests.unwrap_or(u64::MAX),
            under_way: 0,
            to_open: on_demand as u32..total as u32,
            connecting: 0,
            untried: before_start,
            churn: churn.map(|(life, count)| Churn {
                gap: plan.share.count as f64 / life.churn_rate * 1e9,
                count: 0,
                next_slot: 0,
                slots: *count as u32,
                next_at: Nanos::MAX,
            }),
            storm: storm.then(StormEnd::default),
            phase: Phase::Opening,
            gate,
            warmup: plan.warmup,
            duration: plan.duration,
            start_at: Nanos::MAX,
            end_at: Nanos::MAX,
            out: Outgoing::new(),
            protocol: plan.protocol,
            slots,
        }
    }

    /// How many slots the wire needs.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The longest request, where it is known.
    pub(crate) fn request_bytes_max(&self) -> Option<usize> {
        self.protocol.request_bytes_max().map(|bytes| bytes * usize::from(self.pipeline))
    }

    /// True from when all connections that are opened before the start have been tried.
    pub(crate) fn is_ready(&self) -> bool {
        self.phase != Phase::Opening
    }

    /// Connections that have been established up to now.
    pub(crate) fn opened(&self) -> u64 {
        self.recorder.opened_in_all()
    }

    /// Does what is due by `now`. Everything that had happened by `seen` has been told, so that what has not come by
    /// then and should have has timed out: a loop that was kept from running does not blame the server.
    pub(crate) fn tick(&mut self, wire: &mut impl Wire, now: Nanos, seen: Nanos) -> Next {
        self.recorder.tick(now);
        if self.gate.stopped() {
            return Next::Over;
        }
        while let Some((at, slot, alarm)) = self.timers.take(now) {
            match alarm {
                Alarm::Expiry => self.check_expiry(wire, slot, now, seen),
                Alarm::Wake => self.wake(wire, slot, at, now),
            }
        }
        match self.phase {
            Phase::Opening => self.tick_opening(wire, now),
            Phase::Waiting => self.tick_waiting(wire, now),
            Phase::Running => self.tick_running(wire, now),
        }
    }

    fn tick_opening(&mut self, wire: &mut impl Wire, now: Nanos) -> Next {
        if self.storm.is_none() {
            while self.connecting < OPENING_MAX && !self.to_open.is_empty() {
                self.open_next(wire, now);
            }
        }
        if self.untried == 0 {
            self.phase = Phase::Waiting;
        }
        Next::Wait(self.timers.next().min(now + GLANCE_BEFORE_START))
    }

    fn tick_waiting(&mut self, wire: &mut impl Wire, now: Nanos) -> Next {
        match self.gate.start_at() {
            Some(at) if now >= at => {
                self.start(wire, at, now);
                self.tick_running(wire, now)
            }
            at => Next::Wait(self.timers.next().min(at.unwrap_or(now + GLANCE_BEFORE_START))),
        }
    }

    fn start(&mut self, wire: &mut impl Wire, at: Nanos, now: Nanos) {
        self.phase = Phase::Running;
        self.start_at = at;
        self.end_at = self.duration.map_or(Nanos::MAX, |duration| at + self.warmup + duration);
        self.recorder.start(at + self.warmup);
        self.recorder.tick(now);
        if let Some(churn) = &mut self.churn {
            churn.next_at = at + Nanos(churn.gap as u64);
        }
        for slot in 0..self.slots.len() as u32 {
            match self.pace {
                // Users who think do not all begin at once.
                Pacing::Closed { think } if think > Nanos::ZERO && !self.is_silent(slot) => {
                    let first = (self.random.unit() * think.0 as f64) as u64;
                    self.pause(slot, at + Nanos(first.max(1)), true);
                }
                _ => self.settle(wire, slot, now),
            }
        }
    }

    fn tick_running(&mut self, wire: &mut impl Wire, now: Nanos) -> Next {
        if now >= self.end_at {
            return Next::Over;
        }
        if self.storm.is_some() {
            for _ in 0..STORM_BATCH.min(self.to_open.len() as u32) {
                self.open_next(wire, now);
            }
            if self.storm_is_over() {
                return Next::Over;
            }
        } else {
            self.pump(wire, now);
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
        Next::Wait(own.min(self.end_at).min(self.recorder.next_tick()).min(now + GLANCE))
    }

    /// True if every request there was to send has ended.
    fn is_exhausted(&self) -> bool {
        let more = match &self.pace {
            Pacing::Closed { .. } => self.groups.iter().any(|life| life.usage == Usage::Requests),
            Pacing::Open { due, .. } => *due != Nanos::MAX,
        };
        self.under_way == 0 && (self.remaining == 0 || !more && self.end_at == Nanos::MAX)
    }

    fn storm_is_over(&self) -> bool {
        self.to_open.is_empty() && self.connecting == 0 && self.recorder.open() == self.slots.len() as u64
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

    /// The end of the run: what is under way is cut, what was due is missed, and everything recorded is handed out.
    /// Connections stay open up to here, so that they count as open to the end.
    pub(crate) fn finish(mut self, wire: &mut impl Wire, now: Nanos) -> Tally {
        // A run that ends in time ends at its time, even if the loop noticed later.
        let end = now.min(self.end_at);
        self.recorder.tick(end);
        for slot in 0..self.slots.len() as u32 {
            let silent = self.is_silent(slot);
            for n in 0..self.slots[slot as usize].under_way {
                if !silent {
                    let intended = self.pending[self.place(slot, n)].intended;
                    self.recorder.cut(intended, end);
                }
            }
        }
        if let Pacing::Open { arrivals, due, .. } = &mut self.pace {
            while *due != Nanos::MAX && self.start_at != Nanos::MAX && self.remaining > 0 {
                let at = self.start_at + *due;
                if at >= end {
                    break;
                }
                self.recorder.missed(at);
                self.remaining -= 1;
                *due = arrivals.next().unwrap_or(Nanos::MAX);
            }
        }
        if let Some(storm) = self.storm {
            self.recorder.storm(storm);
        }
        // What closing costs is not part of the run.
        let mut tally = self.recorder.finish(end);
        for slot in 0..self.slots.len() as u32 {
            if self.slots[slot as usize].stage != Stage::Closed {
                tally.connections.retransmits += u64::from(wire.close(slot));
            }
        }
        for (name, count) in self.slots.iter().flat_map(|slot| slot.conn.counts()) {
            *tally.protocol.entry(name.to_owned()).or_default() += count;
        }
        tally
    }

    fn life(&self, slot: u32) -> &Lifecycle {
        &self.groups[usize::from(self.slots[slot as usize].group)]
    }

    fn is_silent(&self, slot: u32) -> bool {
        matches!(self.life(slot).usage, Usage::Silence { .. })
    }

    /// Where the `n`th oldest request of a connection is in the table.
    fn place(&self, slot: u32, n: u16) -> usize {
        let row = slot as usize * usize::from(self.pipeline);
        row + (usize::from(self.slots[slot as usize].oldest) + usize::from(n)) % usize::from(self.pipeline)
    }
}

#[cfg(test)]
mod tests;
