//! Looks at the server's connections while a closed loop is measured: how many have a reply under way.

use std::net::{SocketAddr, UdpSocket};

use pitot_meter::Nanos;
use pitot_results::under_way::UnderWay;
use pitot_sys::connect::Peer;
use pitot_sys::tcp_sockets::{CLOSE_WAIT, ESTABLISHED, of_address};

use crate::prepared::PreparedRun;
use pitot_drive::pace::Pace;

/// Time between looks.
const INTERVAL: Nanos = Nanos::from_millis(50);

/// The looks of a run.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    /// The server's address on this machine; none if it is elsewhere, or nothing would follow from it.
    address: Option<SocketAddr>,
    connections: u64,
    next: Nanos,
    seen: UnderWay,
}

impl Looks {
    /// Of a run in which each request waits for the reply before it and for nothing else.
    pub(crate) fn of(run: &PreparedRun, pace: &Pace) -> Looks {
        let plan = &run.plan;
        let waits_for_replies = matches!(pace, Pace::Closed { think } if *think == Nanos::ZERO)
            && plan.sessions.is_none()
            && plan.growth.is_none()
            && !plan.is_storm()
            && plan.share.count == 1;
        Looks {
            address: here(&run.address).filter(|_| waits_for_replies),
            connections: plan.active().map_or(0, |group| group.connections),
            ..Looks::default()
        }
    }

    /// Looks at them if it is time for it.
    pub(crate) fn turn(&mut self, now: Nanos) {
        let Some(address) = self.address.filter(|_| now >= self.next && self.seen.wants(self.connections))
        else {
            return;
        };
        self.next = now + INTERVAL;
        match of_address(None, address, 1 << ESTABLISHED | 1 << CLOSE_WAIT) {
            // A server in another network namespace has none here.
            Some(sockets) if !sockets.all.is_empty() => self.seen.add(self.connections, sockets.sending()),
            _ => {}
        }
    }

    /// What was seen; none if nothing was.
    pub(crate) fn seen(&self) -> Option<UnderWay> {
        (self.seen.looked_at > 0).then_some(self.seen)
    }
}

/// A server's address if it is one of this machine's.
fn here(address: &Peer) -> Option<SocketAddr> {
    let Peer::Tcp(address) = address else { return None };
    // Only an address of the machine can be bound to.
    UdpSocket::bind((address.ip(), 0)).is_ok().then_some(*address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_here_if_its_address_is() {
        let of = |text: &str| here(&Peer::Tcp(text.parse().unwrap())).is_some();
        assert!(of("127.0.0.1:8080"));
        // TEST-NET-1, which is nobody's (RFC 5737).
        assert!(!of("192.0.2.1:8080"));
        assert_eq!(here(&Peer::Unix(std::path::Path::new("/run/x").into())), None);
    }
}
