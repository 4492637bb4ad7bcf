//! Connections that play sessions: requests that follow from each other, of one user after the other on each connection.
//!
//! What is sent next the connection itself knows; here is when. Within a session requests follow replies and think times,
//! whatever the pace: a pace decides when sessions begin. In a closed loop the next begins when one has ended, in an open
//! one the arrivals are those of sessions.

use std::time::Duration;

use pitot_client::{Tag, Turn};
use pitot_meter::Nanos;

use super::sessions::Answered;
use super::slot::Link;
use super::state::{Connections, Pacing};
use super::wire::Wire;

impl Connections {
    /// Gives a slot that plays sessions, and does not pause, what it has to do now.
    pub(super) fn settle_session(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        if !self.is_in_session(slot) {
            match self.pace {
                Pacing::Open { .. } => {
                    self.offer(slot);
                    return self.send_due(wire, now);
                }
                Pacing::Closed { think } if think > Nanos::ZERO => {
                    if self.has_room(slot) && self.slots[slot as usize].under_way == 0 {
                        self.let_think(slot, now, think);
                    }
                    return;
                }
                Pacing::Closed { .. } => {}
            }
        }
        self.go_on(wire, slot, now, now);
    }

    /// The user of a slot has thought.
    pub(super) fn wake_session(&mut self, wire: &mut impl Wire, slot: u32, until: Nanos, now: Nanos) {
        if !self.is_in_session(slot) && matches!(self.pace, Pacing::Open { .. }) {
            return self.settle_session(wire, slot, now);
        }
        self.go_on(wire, slot, until, now);
    }

    /// Begins all requests that need not wait for a reply.
    fn go_on(&mut self, wire: &mut impl Wire, slot: u32, intended: Nanos, now: Nanos) {
        while self.has_room(slot) {
            self.enqueue(slot, intended);
        }
        self.dispatch(wire, slot, now);
    }

    pub(super) fn is_in_session(&self, slot: u32) -> bool {
        self.sessions.as_ref().is_some_and(|sessions| sessions.is_under_way(slot))
    }

    /// True if the session of a slot may begin, or goes on with a step that may be sent now.
    pub(super) fn session_has_room(&self, slot: u32) -> bool {
        let s = &self.slots[slot as usize];
        self.sessions.as_ref().is_some_and(|sessions| {
            let (begins, unsent) = (!sessions.is_under_way(slot), s.under_way - s.unanswered());
            !(begins && self.remaining == 0) && sessions.has_room(slot, unsent)
        })
    }

    /// Requests were written on a slot, or a reply was taken.
    #[inline]
    pub(super) fn update_room(&mut self, slot: u32) {
        if let Some(sessions) = &mut self.sessions
            && let Some(conn) = self.slots[slot as usize].conn.session()
        {
            sessions.slots[slot as usize].room = conn.room();
        }
    }

    /// A slot has a complete reply.
    pub(super) fn session_replied(&mut self, slot: u32, now: Nanos, answered: Answered) {
        self.update_room(slot);
        let measure_at = self.recorder.measure_at();
        if let Some(sessions) = &mut self.sessions
            && answered.intended >= measure_at
        {
            // The tag of a step is its number.
            let time = now.since(answered.intended);
            sessions.tally.answered(answered.tag.0, answered.right, time);
        }
        self.take_turn(slot, now);
    }

    /// A request of a slot came to nothing, and its connection goes on.
    pub(super) fn session_failed(&mut self, slot: u32, now: Nanos, tag: Tag) {
        self.update_room(slot);
        let measure_at = self.recorder.measure_at();
        if let Some(sessions) = &mut self.sessions
            && now >= measure_at
        {
            sessions.tally.lost(tag.0 as u16);
        }
        self.take_turn(slot, now);
    }

    /// Does what the end of a request makes of the session of its slot.
    fn take_turn(&mut self, slot: u32, now: Nanos) {
        let measure_at = self.recorder.measure_at();
        let s = &mut self.slots[slot as usize];
        let (Some(sessions), Some(conn)) = (&mut self.sessions, s.conn.session()) else { return };
        let (think, outcome) = match conn.turn() {
            Turn::GoesOn { think } => (think, None),
            Turn::Completed { think } => (think, Some(Ok(()))),
            Turn::Failed(step) => (Duration::ZERO, Some(Err(Some(step)))),
        };
        if let Some(outcome) = outcome {
            sessions.end(slot, now, measure_at, outcome);
            if let Link::Open(open) = &mut s.link {
                open.retiring |= sessions.own_connection;
            }
        }
        // Between the sessions of an open loop nobody thinks: the next one is another user's.
        let thinks = outcome.is_none() || matches!(self.pace, Pacing::Closed { .. });
        if think > Duration::ZERO && thinks {
            self.let_think(slot, now, Nanos::from(think));
        }
    }

    /// Requests of a slot have come to nothing: its session is over.
    pub(super) fn session_lost(&mut self, slot: u32, now: Nanos) {
        let measure_at = self.recorder.measure_at();
        if let Some(sessions) = &mut self.sessions
            && let Some(conn) = self.slots[slot as usize].conn.session()
        {
            let step = conn.abandon();
            if let Some(step) = step.filter(|_| now >= measure_at) {
                sessions.tally.lost(step);
            }
            sessions.slots[slot as usize].room = conn.room();
            sessions.end(slot, now, measure_at, Err(step));
        }
    }
}
