//! Requests, connects and greetings that take too long.

use pitot_meter::Nanos;

use super::lifecycle::End;
use super::slot::Link;
use super::state::Connections;
use super::timers::Alarm;
use super::wire::Wire;
use crate::sample::{ErrorKind, ErrorPhase};

impl Connections {
    /// Checks whether the oldest request, or the connect, has timed out, and sets the alarm for the next check.
    pub(super) fn check_expiry(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos, seen: Nanos) {
        let s = &mut self.slots[slot as usize];
        s.expiry_set = false;
        let deadline = match s.link {
            Link::Connecting { since } | Link::Greeting { since, .. } => since + self.timeout,
            Link::Open(open) if open.unanswered > 0 => {
                self.pending[self.pending_index(slot, 0)].sent + self.timeout
            }
            Link::Open(_) | Link::Closed => return,
        };
        if deadline > seen {
            // A deadline between `seen` and `now` is checked again in the next round.
            self.set_expiry(slot, deadline.max(now + Nanos(1)));
            return;
        }
        match self.slots[slot as usize].link {
            Link::Connecting { .. } => {
                let why = (ErrorPhase::Timeout, ErrorKind::NO_CONNECTION);
                self.connect_failed(wire, slot, now, why);
            }
            Link::Greeting { .. } => self.greeting_timed_out(wire, slot, now),
            Link::Open(_) => self.request_timed_out(wire, slot, now, seen),
            Link::Closed => {}
        }
    }

    /// The oldest request of an open connection has not been answered in time.
    fn request_timed_out(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos, seen: Nanos) {
        if !self.cancel_expired(slot, now, seen) {
            self.lose(wire, slot, now, ErrorPhase::Timeout, ErrorKind::NO_REPLY, End::TimedOut);
        } else if self.transmit(wire, slot, now) {
            self.after_input(wire, slot, now);
        }
    }

    /// Gives up the requests of an open connection that have timed out, and no others, and sets the alarm for the next one.
    /// False if the connection has to end for that.
    fn cancel_expired(&mut self, slot: u32, now: Nanos, seen: Nanos) -> bool {
        self.out.clear();
        while self.slots[slot as usize].unanswered() > 0 {
            let deadline = self.pending[self.pending_index(slot, 0)].sent + self.timeout;
            if deadline > seen {
                self.set_expiry(slot, deadline.max(now + Nanos(1)));
                return true;
            }
            let conn = &mut self.slots[slot as usize].conn;
            if self.layers {
                conn.clock(now.0);
            }
            if !conn.cancel(0, self.timeout.0, &mut self.out) {
                return false;
            }
            self.failed(slot, now, 0, (ErrorPhase::Timeout, ErrorKind::NO_REPLY));
            if let Link::Open(open) = &mut self.slots[slot as usize].link {
                open.reply = None;
            }
        }
        true
    }

    /// The server has not finished its part of the greetings in time.
    pub(super) fn greeting_timed_out(&mut self, wire: &mut impl Wire, slot: u32, now: Nanos) {
        let is_handshake = self.slots[slot as usize].conn.is_shaking_hands();
        let kind = if is_handshake { ErrorKind::NO_HANDSHAKE } else { ErrorKind::NO_CONNECTION };
        self.lose(wire, slot, now, ErrorPhase::Timeout, kind, End::TimedOut);
    }

    pub(super) fn set_expiry(&mut self, slot: u32, at: Nanos) {
        let s = &mut self.slots[slot as usize];
        if !s.expiry_set {
            s.expiry_set = true;
            self.timers.set(at, slot, Alarm::Expiry);
        }
    }
}
