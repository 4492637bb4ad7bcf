use pitot_meter::Nanos;
use pitot_proto::client::{ClientConn, Tag};

/// The place of one connection, for all the connections that follow each other in it.
///
/// It must stay small, since 100,000 of them should cost no more than tens of megabytes: no buffer belongs to it but
/// the unconsumed tail of input that was cut in the middle of something.
pub(super) struct Slot {
    pub(super) conn: Box<dyn ClientConn>,
    pub(super) tail: Vec<u8>,
    /// When the present connect began.
    pub(super) since: Nanos,
    /// When the first byte of the oldest request's reply came; zero if it has not.
    pub(super) first_byte: Nanos,
    /// When the last bytes of that reply came.
    pub(super) last_byte: Nanos,
    /// When the pause ends; zero if there is none. An alarm for another time is out of date.
    pub(super) wake_at: Nanos,
    /// Replies on the present connection.
    pub(super) served: u64,
    pub(super) stage: Stage,
    /// Requests that are under way, and how many of them, the youngest, are not sent.
    pub(super) under_way: u16,
    pub(super) unsent: u16,
    /// Place of the oldest in its row of the table of requests.
    pub(super) oldest: u16,
    /// Which group's life it leads.
    pub(super) group: u8,
    /// Failures in a row, which decide how long to back off.
    pub(super) failures: u8,
    /// In the queue of connections that can take a request.
    pub(super) listed: bool,
    /// An expiry is set.
    pub(super) armed: bool,
    /// To be closed once nothing is under way.
    pub(super) retiring: bool,
    /// A connect has been tried.
    pub(super) tried: bool,
    /// A connection was established before.
    pub(super) opened: bool,
    /// The pause before the next request of a closed loop, rather than a back-off.
    pub(super) thinking: bool,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Closed,
    Connecting,
    /// Established, and the protocol's greetings are not over.
    Greeting,
    Open,
}

/// A request under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    pub(super) intended: Nanos,
    pub(super) sent: Nanos,
    pub(super) tag: Tag,
}

impl Slot {
    pub(super) fn new(conn: Box<dyn ClientConn>, group: u8) -> Slot {
        Slot {
            conn,
            tail: Vec::new(),
            since: Nanos::ZERO,
            first_byte: Nanos::ZERO,
            last_byte: Nanos::ZERO,
            wake_at: Nanos::ZERO,
            served: 0,
            stage: Stage::Closed,
            under_way: 0,
            unsent: 0,
            oldest: 0,
            group,
            failures: 0,
            listed: false,
            armed: false,
            retiring: false,
            tried: false,
            opened: false,
            thinking: false,
        }
    }

    /// Requests that are sent and not answered.
    pub(super) fn asked(&self) -> u16 {
        self.under_way - self.unsent
    }

    pub(super) fn pausing(&self) -> bool {
        self.wake_at != Nanos::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_costs_little_memory() {
        // With its alarm, its place in the queue, one request, and the protocol's and the engine's part this leaves
        // 100,000 connections well below 100 MB.
        assert!(size_of::<Slot>() <= 112, "{}", size_of::<Slot>());
        assert!(size_of::<Pending>() <= 24);
    }
}
