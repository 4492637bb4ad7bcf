use pitot_meter::Nanos;

use crate::share::Share;

/// The life of the connections of one group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lifecycle {
    pub(crate) connect_at: ConnectAt,
    /// Requests after which a connection is closed; `u64::MAX` for no limit.
    pub(crate) requests_max: u64,
    /// Connections per second, over the whole group, that are closed and opened again.
    pub(crate) churn_rate: f64,
    /// What they do once they are open.
    pub(crate) usage: Usage,
}

/// When connections are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectAt {
    /// Before the run starts, a limited number at a time.
    BeforeStart,
    /// When there is a request to send, whose response time includes the connect.
    OnDemand,
    /// All at the start, which is what is measured.
    Start,
}

/// What open connections do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Usage {
    /// They send requests at the pace of the run.
    Requests,
    /// They get pages and what belongs to them: so many connections for each user.
    Pages { connections: u16, cache: bool },
    /// Nothing, except for a request every `trickle` where there is one.
    Idle { trickle: Option<Nanos> },
}

/// A number of connections with the same life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Group {
    pub(crate) connections: u64,
    /// How many of them belong together, and so to the same thread.
    pub(crate) unit: u64,
    pub(crate) lifecycle: Lifecycle,
}

impl Usage {
    /// Whether there are requests to be answered, other than those that keep idle connections alive.
    pub(crate) fn is_active(self) -> bool {
        !matches!(self, Usage::Idle { .. })
    }
}

impl Group {
    /// How many connections of the group a part of the run has, of which each user's belong together.
    pub(crate) fn part(&self, share: Share) -> u64 {
        share.of(self.connections / self.unit) * self.unit
    }
}
