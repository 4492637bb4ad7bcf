use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use pitot_client::{ClientProtocol, Outgoing};
use pitot_meter::Nanos;

use super::held::Held;
use super::idle_log::IdleLog;
use super::sessions::{SessionPlan, Sessions};
use super::slot::{History, Pending, Slot};
use super::timers::Timers;
use super::users::{Crowd, Users};
use crate::gate::Gate;
use crate::growth::Growth;
use crate::pace::Arrivals;
use crate::random::Random;
use crate::recorder::Recorder;
use crate::share::Share;
use crate::tally::StormEnd;
use crate::think::ThinkTimes;
use crate::workload::{ConnectAt, Lifecycle, Usage};

/// What one thread has to do.
pub struct ThreadPlan {
    /// What is spoken.
    pub protocol: Arc<dyn ClientProtocol>,
    /// This thread's connections.
    pub groups: Vec<(Lifecycle, u64)>,
    /// When requests begin.
    pub pace: ThreadPace,
    /// Requests under way on one connection, at most.
    pub pipeline: u16,
    /// From the intended start of a request to the end of its reply, at most.
    pub timeout: Nanos,
    /// The longest pause before a connection that failed is opened again.
    pub back_off_max: Nanos,
    /// What is to be known of sessions, if requests are steps of such.
    pub sessions: Option<SessionPlan>,
    /// This thread's requests in the measured part, where limited.
    pub requests: Option<u64>,
    /// What precedes the measured part.
    pub warmup: Nanos,
    /// Length of the measured part, where limited.
    pub duration: Option<Nanos>,
    /// Which part of the run this thread does.
    pub share: Share,
    /// How think times vary.
    pub think_times: ThinkTimes,
    /// Of all that is random.
    pub seed: u64,
    /// Users come and go, if they read pages.
    pub growth: Option<Arc<Growth>>,
}

/// The pace of one thread.
pub enum ThreadPace {
    /// The next request follows the last reply.
    Closed {
        /// The pause between the two.
        think: Nanos,
    },
    /// Requests are due at these times after the start.
    Open(Arrivals),
}

/// How far the run is for this thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Connections are opened before the start.
    Opening,
    /// All are tried; the start is awaited.
    Waiting,
    Running,
    /// Of a held load: what was lost is opened before a slice.
    Preparing,
    /// Of a held load: a slice is about to run.
    Resuming,
    /// Of a held load: no request begins, and those under way are answered.
    Draining,
    /// Of a held load: nothing happens until the next slice.
    Resting,
}

/// The connections of one thread.
pub struct Connections {
    pub(super) protocol: Arc<dyn ClientProtocol>,
    pub(super) groups: Vec<Lifecycle>,
    pub(super) slots: Vec<Slot>,
    /// Requests under way: a row of `pipeline` for each slot.
    pub(super) pending: Vec<Pending>,
    /// The users whom the first slots belong to, if they run as browsers do.
    pub(super) users: Option<Box<Users>>,
    pub(super) pipeline: u16,
    /// Its connections have layers.
    pub(super) layers: bool,
    /// The sessions of the slots, if their requests are steps of such.
    pub(super) sessions: Option<Box<Sessions>>,
    /// Connections that can take a request of an open loop, the longest idle first.
    pub(super) ready: VecDeque<u32>,
    pub(super) timers: Timers,
    pub(super) timeout: Nanos,
    pub(super) back_off_max: Nanos,
    pub(super) pace: Pacing,
    pub(super) recorder: Recorder,
    pub(super) random: Random,
    pub(super) think_times: ThinkTimes,
    /// The number of the next request among those of this thread. What was due and is missed has one too, so that each
    /// arrival of a schedule has its own request.
    pub(super) number: u64,
    pub(super) share: Share,
    /// Requests of the measured part that may still begin.
    pub(super) remaining: u64,
    /// Active requests under way.
    pub(super) under_way: u64,
    /// Slots that are still to be opened before or at the start.
    pub(super) to_open: Range<u32>,
    /// Connects whose outcome is not known.
    pub(super) connecting: u64,
    /// Connections that are established and not yet greeted.
    pub(super) greeting: u64,
    /// Slots opened before the start whose first connect has no outcome.
    pub(super) untried: u64,
    /// When the run begins with what is open, whatever is still to be tried; `MAX` before the first connect.
    pub(super) opening_ends: Nanos,
    pub(super) churn: Option<Churn>,
    pub(super) storm: Option<StormEnd>,
    /// Of idle connections that send a request now and then.
    pub(super) idle_log: Option<IdleLog>,
    pub(super) stage: Stage,
    pub(super) held: Option<Held>,
    pub(super) gate: Arc<Gate>,
    pub(super) warmup: Nanos,
    pub(super) duration: Option<Nanos>,
    pub(super) start_at: Nanos,
    pub(super) end_at: Nanos,
    /// When connections are asked next what was acknowledged; `MAX` if their requests have no names.
    pub(super) hand_over_at: Nanos,
    pub(super) out: Outgoing,
}

/// When the next request of this thread starts.
pub(super) enum Pacing {
    Closed {
        think: Nanos,
    },
    Open {
        arrivals: Arrivals,
        /// The next arrival that no connection has taken, from the start; `MAX` if there is none.
        due: Nanos,
        /// No connection was free at the last check, so that what waits now waits for the server and not for us.
        starved: bool,
    },
}

/// The replacement of connections, one after the other at an even rate.
pub(super) struct Churn {
    /// Nanoseconds between two replacements of this thread.
    pub(super) gap: f64,
    /// Replacements so far.
    pub(super) count: u64,
    pub(super) next_slot: u32,
    /// How many slots take part, from the first on.
    pub(super) slots: u32,
    pub(super) next_at: Nanos,
}

impl Connections {
    /// The connections of a thread, none of them open.
    pub fn new(plan: ThreadPlan, recorder: Recorder, gate: Arc<Gate>) -> Connections {
        let total: u64 = plan.groups.iter().map(|(_, count)| count).sum();
        let mut slots = Vec::with_capacity(total as usize);
        for (group, (_, count)) in plan.groups.iter().enumerate() {
            slots.extend((0..*count).map(|_| Slot::new(plan.protocol.connect(), group as u8, plan.pipeline)));
        }
        // Slots that are opened on demand come first, as active ones do.
        let on_demand: u64 = plan
            .groups
            .iter()
            .filter(|(life, _)| life.connect_at == ConnectAt::OnDemand)
            .map(|(_, count)| count)
            .sum();
        let before_start: u64 = plan
            .groups
            .iter()
            .filter(|(life, _)| life.connect_at == ConnectAt::BeforeStart)
            .map(|(_, count)| count)
            .sum();
        let storm = plan.groups.iter().any(|(life, _)| life.connect_at == ConnectAt::Start);
        // Idle connections are the last group.
        let trickling =
            |(life, _): &&(Lifecycle, u64)| matches!(life.usage, Usage::Idle { trickle: Some(_) });
        let idle_log = plan
            .groups
            .last()
            .filter(trickling)
            .map(|(_, count)| IdleLog::new((total - count) as u32, *count as usize));
        let churn = plan.groups.iter().find(|(life, count)| life.churn_rate > 0.0 && *count > 0);
        let crowd = Crowd { growth: plan.growth, share: plan.share };
        let users = plan.groups.iter().find_map(|(life, count)| match life.usage {
            Usage::Pages { connections, cache } => {
                Some(Box::new(Users::new(count / u64::from(connections), connections, cache, crowd.clone())))
            }
            Usage::Requests | Usage::Idle { .. } => None,
        });
        Connections {
            users,
            groups: plan.groups.iter().map(|(life, _)| *life).collect(),
            pending: vec![Pending::default(); slots.len() * usize::from(plan.pipeline)],
            pipeline: plan.pipeline,
            layers: slots.first().is_some_and(|slot: &Slot| slot.conn.has_layers()),
            sessions: plan.sessions.as_ref().map(|sessions| Box::new(Sessions::new(sessions, slots.len()))),
            ready: VecDeque::with_capacity(slots.len()),
            timers: Timers::new(slots.len()),
            timeout: plan.timeout,
            back_off_max: plan.back_off_max,
            pace: match plan.pace {
                ThreadPace::Closed { think } => Pacing::Closed { think },
                ThreadPace::Open(mut arrivals) => {
                    let due = arrivals.next().unwrap_or(Nanos::MAX);
                    Pacing::Open { arrivals, due, starved: false }
                }
            },
            recorder,
            think_times: plan.think_times,
            random: Random::new(plan.seed.rotate_left(32), plan.share.index),
            number: 0,
            share: plan.share,
            remaining: plan.requests.unwrap_or(u64::MAX),
            under_way: 0,
            to_open: on_demand as u32..total as u32,
            connecting: 0,
            greeting: 0,
            untried: before_start,
            opening_ends: Nanos::MAX,
            churn: churn.map(|(life, count)| Churn {
                gap: plan.share.count as f64 / life.churn_rate * 1e9,
                count: 0,
                next_slot: 0,
                slots: *count as u32,
                next_at: Nanos::MAX,
            }),
            storm: storm.then(StormEnd::default),
            idle_log,
            stage: Stage::Opening,
            held: None,
            gate,
            warmup: plan.warmup,
            duration: plan.duration,
            start_at: Nanos::MAX,
            end_at: Nanos::MAX,
            hand_over_at: Nanos::ZERO,
            out: Outgoing::new(),
            protocol: plan.protocol,
            slots,
        }
    }

    /// How many slots the wire needs.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The longest request, where it is known.
    pub fn request_bytes_max(&self) -> Option<usize> {
        self.protocol.request_bytes_max().map(|bytes| bytes * usize::from(self.pipeline))
    }

    /// True from when all connections that are opened before the start have been tried.
    pub fn is_ready(&self) -> bool {
        self.stage != Stage::Opening
    }

    /// Connections that have been open, with all greetings over, at some time up to now.
    pub fn opened(&self) -> u64 {
        self.slots.iter().filter(|slot| slot.history == History::Established).count() as u64
    }

    pub(super) fn life(&self, slot: u32) -> &Lifecycle {
        &self.groups[usize::from(self.slots[slot as usize].group)]
    }

    /// The number of a request in the whole run, from the lower half of its number among those of this thread. Threads
    /// take turns.
    pub(super) fn index_of(&self, number: u32) -> u64 {
        let number = self.number - u64::from((self.number as u32).wrapping_sub(number));
        number * self.share.count + self.share.index
    }

    pub(super) fn is_idle(&self, slot: u32) -> bool {
        matches!(self.life(slot).usage, Usage::Idle { .. })
    }

    /// Where the `n`th oldest request of a slot is in the table of requests.
    pub(super) fn pending_index(&self, slot: u32, n: u16) -> usize {
        let (length, n) = (usize::from(self.pipeline), usize::from(n));
        let at = usize::from(self.slots[slot as usize].oldest) + n;
        debug_assert!(n < length);
        // Without a division, which costs more than all the rest.
        slot as usize * length + if at < length { at } else { at - length }
    }
}
