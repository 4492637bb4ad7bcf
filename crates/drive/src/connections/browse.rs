//! Users who read pages: what they do when.

use pitot_client::page::Found;
use pitot_meter::Nanos;

use super::slot::{Link, Pending};
use super::state::{Connections, Pacing, Stage};
use super::timers::Alarm;
use super::users::UserState;
use super::wire::Wire;
use crate::sample::{ErrorKind, ErrorPhase, Outcome};

impl Connections {
    /// The run starts. Users who think between pages think before the first, too, so that they do not all begin at once.
    pub(super) fn start_users(&mut self, wire: &mut impl Wire, at: Nanos, now: Nanos) {
        for user in 0..self.users.as_ref().map_or(0, |users| users.count()) {
            match self.pace {
                Pacing::Closed { think } if think > Nanos::ZERO => {
                    let first = (self.random.unit() * think.0 as f64) as u64;
                    self.timers.set(at + Nanos(first.max(1)), user, Alarm::Page);
                }
                Pacing::Closed { .. } | Pacing::Open { .. } => self.page_due(wire, user, at, now),
            }
        }
    }

    /// A user could read a page since `at`.
    pub(super) fn page_due(&mut self, wire: &mut impl Wire, user: u32, at: Nanos, now: Nanos) {
        if let Some(users) = &mut self.users {
            users.set(user, UserState::Due { since: at });
            let slot = users.slots(user).start;
            self.browse(wire, slot, now);
        }
    }

    /// Gives the user whom a slot belongs to what there is to do now.
    pub(super) fn browse(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let Some(users) = &mut self.users else { return };
        let user = users.of(slot);
        match (users.state(user), &self.pace) {
            (UserState::Away, _) => {}
            (UserState::Reading, _) => self.fetch(wire, user, now),
            (UserState::Done { at }, Pacing::Closed { think }) if *think > Nanos::ZERO => {
                users.set(user, UserState::Away);
                let think = self.think_times.draw(*think, &mut self.random);
                self.timers.set(at + think, user, Alarm::Page);
            }
            (UserState::Done { at: since } | UserState::Due { since }, Pacing::Closed { .. }) => {
                let at = now.since(self.start_at);
                match users.there_at(user, at) {
                    Some(there) if there <= at => {
                        if self.remaining > 0 && self.free_slot(user).is_some() {
                            self.begin_page(wire, user, since, now);
                        }
                    }
                    later => {
                        users.set(user, UserState::Away);
                        if let Some(later) = later {
                            self.timers.set(self.start_at + later, user, Alarm::Page);
                        }
                    }
                }
            }
            (UserState::Done { .. } | UserState::Due { .. }, Pacing::Open { .. }) => {
                let first = users.slots(user).start;
                self.offer(first);
                self.send_due(wire, now);
            }
        }
    }

    /// Whether a user could begin a page of an open loop.
    pub(super) fn is_free(&self, slot: u32) -> bool {
        self.users.as_ref().is_some_and(|users| {
            let user = users.of(slot);
            matches!(users.state(user), UserState::Done { .. } | UserState::Due { .. })
                && self.free_slot(user).is_some()
        })
    }

    /// A user begins to read a page that was due at `intended`.
    pub(super) fn begin_page(&mut self, wire: &mut impl Wire, user: u32, intended: Nanos, now: Nanos) {
        let measured = self.recorder.measured(intended);
        // The number that is asked for is that of the measured pages.
        self.remaining -= u64::from(measured);
        if let Some(users) = &mut self.users {
            users.begin(user, intended, measured);
            self.fetch(wire, user, now);
        }
    }

    /// Asks for what the user's page still lacks, on as many connections as are free, and on as many of their streams.
    fn fetch(&mut self, wire: &mut impl Wire, user: u32, now: Nanos) {
        let mut filling = None;
        while let Some(slot) = self.free_slot(user)
            && let Some(users) = &mut self.users
            && let Some(due) = users.assign(user, slot)
        {
            // What belongs to a page is due when a connection of the user takes it, as the user waits for no other.
            self.enqueue(slot, due.unwrap_or(now));
            // Pages alone have numbers, so that they can be taken in turn.
            self.number -= u64::from(due.is_none());
            if self.pipeline == 1 {
                self.dispatch(wire, slot, now);
            } else {
                filling = Some(slot);
            }
        }
        // A user with streams has one connection, and what can be asked for at once is sent together.
        if let Some(slot) = filling {
            self.dispatch(wire, slot, now);
        }
    }

    /// A slot of the user that can take a request: an open one, or else one that can be opened.
    fn free_slot(&self, user: u32) -> Option<u32> {
        if self.stage != Stage::Running {
            return None;
        }
        let slots = self.users.as_ref()?.slots(user);
        let open = slots.clone().find(|&slot| {
            let s = &self.slots[slot as usize];
            match &s.link {
                Link::Open(open) => {
                    let taken = open.served + u64::from(s.under_way);
                    s.under_way < s.room && !open.retiring && taken < self.life(slot).requests_max
                }
                Link::Closed | Link::Connecting { .. } | Link::Greeting { .. } => false,
            }
        });
        open.or_else(|| {
            slots.clone().find(|&slot| {
                let s = &self.slots[slot as usize];
                s.is_closed() && s.under_way == 0 && !s.is_pausing()
            })
        })
    }

    /// Tells the connection of a slot what the request that it writes next, the `nth` oldest, is for.
    pub(super) fn aim(&mut self, slot: u32, nth: u16) {
        if let Some(users) = &self.users
            && let Some((target, search)) = users.target(slot, nth)
            && let Some(page) = self.slots[slot as usize].conn.pages()
        {
            page.aim(target, search);
        }
    }

    /// The `nth` oldest request of a slot of a user has its complete reply.
    pub(super) fn page_replied(
        &mut self,
        (slot, nth): (u32, u16),
        now: Nanos,
        request: &Pending,
        outcome: Outcome,
    ) {
        let Some(users) = &mut self.users else { return };
        let mut nothing = Found::default();
        let found = match self.slots[slot as usize].conn.pages() {
            Some(page) => page.found(),
            None => &mut nothing,
        };
        if users.replied((slot, nth), now, now.since(request.intended), outcome, found) {
            self.recorder.connection_error(now, ErrorPhase::Content, ErrorKind::Word("redirect"));
        }
    }
}
