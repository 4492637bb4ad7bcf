//! The sessions of the slots, and what is counted of them.

use pitot_client::{SessionInfo, Tag};
use pitot_meter::Nanos;

use crate::sessions::SessionTally;

/// The sessions of all slots of a thread.
pub(super) struct Sessions {
    pub(super) slots: Vec<Present>,
    /// How many are under way.
    pub(super) under_way: u64,
    /// Each has a connection of its own.
    pub(super) own_connection: bool,
    pub(super) tally: SessionTally,
}

/// The session of a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Present {
    /// When it was to begin, while there is one.
    began: Option<Nanos>,
    /// Requests that may be written beside those that are.
    pub(super) room: u16,
}

/// A request of a session that has its reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered {
    pub(super) tag: Tag,
    pub(super) intended: Nanos,
    pub(super) right: bool,
}

/// What a thread needs to know of a run's sessions.
#[derive(Clone, Debug)]
pub struct SessionPlan {
    /// What the protocol says of its sessions.
    pub info: SessionInfo,
    /// A session has a connection of its own, and does not go on with that of the one before it.
    pub own_connection: bool,
}

impl Sessions {
    pub(super) fn new(plan: &SessionPlan, slots: usize) -> Sessions {
        Sessions {
            slots: vec![Present { began: None, room: 1 }; slots],
            under_way: 0,
            own_connection: plan.own_connection,
            tally: SessionTally::new(&plan.info),
        }
    }

    /// Whether the slot is within a session, so that its next request is no new one.
    pub(super) fn is_under_way(&self, slot: u32) -> bool {
        self.slots[slot as usize].began.is_some()
    }

    /// Whether one more request may be added to `unsent` ones.
    pub(super) fn has_room(&self, slot: u32, unsent: u16) -> bool {
        unsent < self.slots[slot as usize].room
    }

    /// A request is begun on a slot; true if a session begins with it.
    pub(super) fn begin(&mut self, slot: u32, intended: Nanos, measured: bool) -> bool {
        let present = &mut self.slots[slot as usize];
        if present.began.is_some() {
            return false;
        }
        present.began = Some(intended);
        self.under_way += 1;
        self.tally.begun += u64::from(measured);
        true
    }

    /// The session of a slot is over: it has failed at a step, before the first of its requests, or not at all.
    pub(super) fn end(&mut self, slot: u32, now: Nanos, measure_at: Nanos, outcome: Result<(), Option<u16>>) {
        let Some(began) = self.slots[slot as usize].began.take() else { return };
        self.under_way -= 1;
        if began < measure_at {
            return;
        }
        match outcome {
            Ok(()) => {
                self.tally.completed += 1;
                self.tally.time.record(now.since(began));
            }
            Err(step) => self.tally.fail(step),
        }
    }

    /// What was counted; sessions that are under way are cut.
    pub(super) fn finish(mut self, measure_at: Nanos) -> SessionTally {
        let cut = self.slots.iter().filter(|slot| slot.began.is_some_and(|began| began >= measure_at));
        self.tally.cut = cut.count() as u64;
        self.tally
    }
}
