use pitot_meter::Nanos;

use crate::share::Share;

/// The life of the connections of one group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lifecycle {
    /// When they are opened.
    pub connect_at: ConnectAt,
    /// Requests after which a connection is closed; `u64::MAX` for no limit.
    pub requests_max: u64,
    /// Connections per second, over the whole group, that are closed and opened again.
    pub churn_rate: f64,
    /// What they do once they are open.
    pub usage: Usage,
}

/// When connections are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectAt {
    /// Before the run starts, a limited number at a time.
    BeforeStart,
    /// When there is a request to send, whose response time includes the connect.
    OnDemand,
    /// All at the start, which is what is measured.
    Start,
}

/// What open connections do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Usage {
    /// They send requests at the pace of the run.
    Requests,
    /// They get pages and what belongs to them: so many connections for each user.
    Pages {
        /// Of each user.
        connections: u16,
        /// Whether a user does not get again what it has got.
        cache: bool,
    },
    /// Nothing, except for a request every `trickle` where there is one.
    Idle {
        /// The time between two requests of a connection.
        trickle: Option<Nanos>,
    },
}

/// A number of connections with the same life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// How many.
    pub connections: u64,
    /// How many of them belong together, and so to the same thread.
    pub unit: u64,
    /// Their life.
    pub lifecycle: Lifecycle,
}

impl Usage {
    /// Whether there are requests to be answered, other than those that keep idle connections alive.
    pub fn is_active(self) -> bool {
        !matches!(self, Usage::Idle { .. })
    }
}

impl Group {
    /// How many connections of the group a part of the run has, of which each user's belong together.
    pub fn part(&self, share: Share) -> u64 {
        share.of(self.connections / self.unit) * self.unit
    }
}
