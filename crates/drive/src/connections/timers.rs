use std::cmp::Reverse;
use std::collections::BinaryHeap;

use pitot_meter::Nanos;

/// Why a connection must be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// Its oldest request, or its connect, may have timed out.
    Expiry,
    /// A pause is over: thinking, backing off, or being idle.
    Wake,
    /// A user, whose index stands in place of a connection's, has thought and reads the next page.
    Page,
}

/// The alarms of all connections of a thread.
///
/// A connection has at most one of each kind. An expiry is not moved when its request is answered, which would cost
/// something for each request: it goes off, finds a younger request, and is set again for that one. So it costs one
/// check per connection and timeout, however many requests there are.
#[derive(Debug, Default)]
pub(super) struct Timers(BinaryHeap<Reverse<(Nanos, u32, Alarm)>>);

impl Timers {
    /// Room for the alarms of `slots` connections.
    pub(super) fn new(slots: usize) -> Timers {
        Timers(BinaryHeap::with_capacity(slots))
    }

    pub(super) fn set(&mut self, at: Nanos, slot: u32, alarm: Alarm) {
        self.0.push(Reverse((at, slot, alarm)));
    }

    /// Forgets all alarms and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// When the next alarm goes off.
    pub(super) fn next(&self) -> Nanos {
        self.0.peek().map_or(Nanos::MAX, |Reverse((at, _, _))| *at)
    }

    /// Takes an alarm that was to go off by `now`.
    pub(super) fn take(&mut self, now: Nanos) -> Option<(Nanos, u32, Alarm)> {
        if self.next() > now {
            return None;
        }
        self.0.pop().map(|Reverse(alarm)| alarm)
    }
}
