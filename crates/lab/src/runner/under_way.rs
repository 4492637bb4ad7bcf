//! Looks at a server's connections while it is loaded: how many have a reply under way.

use std::net::SocketAddr;

use pitot_results::under_way::UnderWay;

use super::executor::{Count, Executor};
use pitot_plan::{Cell, Plan};

/// The looks of one cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looks {
    /// The server's port; none if nothing would follow from a look.
    port: Option<u16>,
    /// Those on which each request waits for nothing but the reply before it.
    connections: u64,
    seen: UnderWay,
}

impl Looks {
    /// Of a cell whose server has this address. A fault may make it wait, and the load then does not reach it directly; of a
    /// server elsewhere no connection can be seen.
    pub(super) fn of(cell: &Cell, plan: &Plan, address: &str) -> Looks {
        let connections = cell.closed_connections().filter(|_| plan.faults.is_empty()).unwrap_or(0);
        let port = address.parse().map(|address: SocketAddr| address.port()).ok();
        Looks { port: port.filter(|_| cell.foreign().is_none()), connections, ..Looks::default() }
    }

    /// Whether a look would say more.
    pub(super) fn are_wanted(&self) -> bool {
        self.port.is_some() && self.seen.wants(self.connections)
    }

    /// Looks.
    pub(super) fn look(&mut self, executor: &mut dyn Executor) {
        if let Some(port) = self.port.filter(|_| self.are_wanted())
            && let Some(sending) = executor.count(Count::Sending(port))
        {
            self.seen.add(self.connections, sending);
        }
    }

    /// Whether each request waits for the reply before it, so that whoever is slowest limits.
    pub(super) fn is_closed(&self) -> bool {
        self.connections > 0
    }

    /// The share of the connections that had a reply under way, if enough were seen.
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
