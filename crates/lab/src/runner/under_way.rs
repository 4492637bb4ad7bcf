//! Samples a server's connections under load: how many have a reply under way.

use std::net::SocketAddr;

use pitot_results::under_way::UnderWay;

use super::executor::{Count, Executor};
use pitot_plan::{Cell, Plan};

/// The samples of one cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looks {
    /// The server's port; none if samples would be useless.
    port: Option<u16>,
    /// Number of closed-loop connections.
    connections: u64,
    seen: UnderWay,
}

impl Looks {
    /// For a cell whose server has this address. There are no samples with faults, since these delay replies, or for
    /// servers elsewhere.
    pub(super) fn of(cell: &Cell, plan: &Plan, address: &str) -> Looks {
        let connections = cell.closed_connections().filter(|_| plan.faults.is_empty()).unwrap_or(0);
        let port = address.parse().map(|address: SocketAddr| address.port()).ok();
        Looks { port: port.filter(|_| cell.foreign().is_none()), connections, ..Looks::default() }
    }

    /// Whether another sample is useful.
    pub(super) fn are_wanted(&self) -> bool {
        self.port.is_some() && self.seen.wants(self.connections)
    }

    /// Takes a sample.
    pub(super) fn look(&mut self, executor: &mut dyn Executor) {
        if let Some(port) = self.port.filter(|_| self.are_wanted())
            && let Some(sending) = executor.count(Count::Sending(port))
        {
            self.seen.add(self.connections, sending);
        }
    }

    /// Whether the load is closed-loop, so that the slowest component limits.
    pub(super) fn is_closed(&self) -> bool {
        self.connections > 0
    }

    /// The share of connections with a reply under way, if there are enough samples.
    pub(super) fn share(&self) -> Option<f64> {
        self.seen.share()
    }
}

#[cfg(test)]
impl Looks {
    /// At a hundred connections of a closed loop, of which so many had a reply under way; none if they could not be seen.
    pub(super) fn seen(sending: Option<u64>) -> Looks {
        let seen = sending.map(|sending| UnderWay { looked_at: 100, sending }).unwrap_or_default();
        Looks { port: None, connections: 100, seen }
    }
}
