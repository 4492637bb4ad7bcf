use std::num::NonZeroU64;

use pitot_client::{ClientConn, Tag};
use pitot_meter::Nanos;

/// One of the thread's connections, through all the TCP connections that replace each other in it.
///
/// It must stay small, since 100,000 of them should cost no more than tens of megabytes: it owns no buffer but the
/// unconsumed tail of input that was cut in the middle of something.
pub(super) struct Slot {
    pub(super) conn: Box<dyn ClientConn>,
    pub(super) tail: Vec<u8>,
    pub(super) link: Link,
    pub(super) pause: Pause,
    /// Requests under way: those that are sent, and behind them those that wait to be sent.
    pub(super) under_way: u16,
    /// Index of the oldest of them in the slot's row of the table of requests.
    pub(super) oldest: u16,
    /// Requests that may be under way: the plan's number, or fewer if the server allows fewer on this connection.
    pub(super) room: u16,
    /// Index of the group whose lifecycle applies.
    pub(super) group: u8,
    /// Failures in a row, which decide how long to back off.
    pub(super) failures: u8,
    pub(super) history: History,
    pub(super) replies: Replies,
    /// It is in the queue of connections that can take a request.
    pub(super) queued: bool,
    /// The timers hold an expiry for it.
    pub(super) expiry_set: bool,
    /// We closed its last connection as the workload wants, and did not lose it.
    pub(super) spent: bool,
}

/// How far the TCP connection of a slot is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Link {
    Closed,
    Connecting {
        /// When the connect began.
        since: Nanos,
    },
    /// Established, but the protocol's greetings are not over, or the handshake of a layer below.
    Greeting {
        /// When the connect began.
        since: Nanos,
        /// When it was established.
        established: Nanos,
    },
    /// Requests can be sent.
    Open(Open),
}

/// A connection on which requests can be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// When its connect began.
    pub(super) since: Nanos,
    /// Replies completed on it.
    pub(super) served: u64,
    /// What has arrived of the oldest request's reply.
    pub(super) reply: Option<Arrival>,
    /// Requests sent and not answered.
    pub(super) unanswered: u16,
    /// It takes no more requests and is closed once none is under way.
    pub(super) retiring: bool,
    /// The server has said so, and those of the requests under way that it has not looked at are sent again.
    pub(super) dismissed: bool,
}

/// When bytes of a reply arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// The first of them, in nanoseconds; never zero, so that an `Option` of it takes no more memory.
    first: NonZeroU64,
    /// The last of them so far.
    last: Nanos,
}

/// Why a slot does nothing for the moment, and until when. An alarm for any other time is out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    None,
    /// Between a reply and the next request of a closed loop.
    Think {
        until: Nanos,
    },
    /// Between two requests of an idle connection.
    Trickle {
        until: Nanos,
    },
    /// After a failure.
    BackOff {
        until: Nanos,
    },
}

/// Whether a slot has ever been connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum History {
    /// None has ended yet.
    Untried,
    /// All have failed.
    Failed,
    /// At least one has succeeded.
    Established,
}

/// Whether a slot has ever had a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replies {
    /// It has not asked for any.
    NotAsked,
    /// It waits for its first.
    Awaited,
    /// Requests have failed, and none was answered.
    Failed,
    /// It has had one.
    Some,
}

/// A request under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    pub(super) intended: Nanos,
    pub(super) sent: Nanos,
    /// When the first bytes of its reply came, if its connection tells replies apart before they are complete.
    pub(super) first_byte: Option<NonZeroU64>,
    pub(super) tag: Tag,
    /// The lower half of its number among the requests of its thread.
    pub(super) number: u32,
}

impl Slot {
    pub(super) fn new(conn: Box<dyn ClientConn>, group: u8, room: u16) -> Slot {
        Slot {
            conn,
            tail: Vec::new(),
            link: Link::Closed,
            pause: Pause::None,
            under_way: 0,
            oldest: 0,
            room,
            group,
            failures: 0,
            history: History::Untried,
            replies: Replies::NotAsked,
            queued: false,
            expiry_set: false,
            spent: false,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.link, Link::Open(_))
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self.link, Link::Closed)
    }

    pub(super) fn is_pausing(&self) -> bool {
        self.pause != Pause::None
    }

    /// A request on it has come to nothing.
    pub(super) fn has_failed(&mut self) {
        if self.replies != Replies::Some {
            self.replies = Replies::Failed;
        }
    }

    /// Requests that are sent and not answered.
    pub(super) fn unanswered(&self) -> u16 {
        match &self.link {
            Link::Open(open) => open.unanswered,
            Link::Closed | Link::Connecting { .. } | Link::Greeting { .. } => 0,
        }
    }

    /// Requests that a server has given back: they are under way and wait for the next connection.
    pub(super) fn given_back(&self) -> u16 {
        match &self.link {
            Link::Open(open) if open.dismissed => self.under_way - open.unanswered,
            Link::Open(_) | Link::Closed | Link::Connecting { .. } | Link::Greeting { .. } => 0,
        }
    }
}

impl Open {
    pub(super) fn new(since: Nanos) -> Open {
        Open { since, served: 0, reply: None, unanswered: 0, retiring: false, dismissed: false }
    }
}

impl Arrival {
    pub(super) fn at(now: Nanos) -> Arrival {
        Arrival { first: NonZeroU64::new(now.0).unwrap_or(NonZeroU64::MIN), last: now }
    }

    pub(super) fn first(self) -> Nanos {
        Nanos(self.first.get())
    }

    /// More has arrived: how long after what came before.
    pub(super) fn more(&mut self, now: Nanos) -> Nanos {
        now.since(std::mem::replace(&mut self.last, now))
    }
}

impl Pause {
    pub(super) fn until(self) -> Option<Nanos> {
        match self {
            Pause::None => None,
            Pause::Think { until } | Pause::Trickle { until } | Pause::BackOff { until } => Some(until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_costs_little_memory() {
        // With its alarm, its entry in the queue, one request, and the protocol's and the engine's part this leaves
        // 100,000 connections well below 100 MB.
        assert!(size_of::<Slot>() <= 112, "{}", size_of::<Slot>());
        assert!(size_of::<Pending>() <= 32);
    }
}
