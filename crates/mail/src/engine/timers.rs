//! Timers: the time that a host has for its next step, and an idle session for its next work.

use std::cmp::Reverse;

use pitot_meter::Nanos;
use pitot_sys::Token;

use super::state::Engine;
use crate::session::Session;
use crate::timeouts::Phase;

impl Engine<'_> {
    /// The time limit of a phase, scaled by the plan.
    pub(super) fn limit_of(&self, phase: Phase) -> Nanos {
        Nanos((phase.limit().0 as f64 * self.plan.timeout_scale) as u64)
    }

    /// Sets the session's deadline. A timer that is set already and expires earlier finds the new deadline then.
    pub(super) fn set_timer(&mut self, session: &mut Session, token: Token, timeout: Nanos) {
        session.deadline = self.now + timeout;
        if session.deadline < session.timer_at {
            self.start_timer(session, token);
        }
    }

    fn start_timer(&mut self, session: &mut Session, token: Token) {
        session.timer_at = session.deadline;
        self.timers.push(Reverse((session.deadline, token.index(), token.generation())));
    }

    /// Takes the next session whose deadline has passed.
    pub(super) fn next_expired(&mut self) -> Option<(Token, Box<Session>)> {
        while let Some(Reverse((at, index, generation))) = self.timers.peek().copied()
            && at <= self.now
        {
            self.timers.pop();
            let token = Token::new(index, generation);
            let Some(mut session) = self.slots.take(token) else { continue };
            // An earlier timer was started since.
            if session.timer_at != at {
                self.slots.put(token, session);
                continue;
            }
            if session.deadline <= self.now {
                session.timer_at = Nanos::MAX;
                return Some((token, session));
            }
            self.start_timer(&mut session, token);
            self.slots.put(token, session);
        }
        None
    }
}
