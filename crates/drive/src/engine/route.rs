use std::net::{IpAddr, Ipv4Addr};

use pitot_sys::connect::Peer;

use crate::names::Lookup;

/// Where connections go to and come from.
#[derive(Clone, Debug)]
pub struct Route {
    /// The server.
    pub target: Peer,
    /// What is asked for the target's address before each connection.
    pub lookup: Option<Lookup>,
    /// `None` leaves the local address to the kernel.
    pub sources: Option<Sources>,
    /// Each user has a source address of its own.
    pub owners: Option<Owners>,
}

/// Which of the run's users the slots of a thread belong to. A user is a connection through all those that replace it, or
/// all the connections of a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owners {
    /// The user of the first slot.
    pub active: u32,
    /// Slots of each user.
    pub unit: u32,
    /// Slots of all of them.
    pub slots: u32,
    /// The user of the first slot behind those, from which on each slot is one.
    pub idle: u32,
}

/// Local addresses that connections come from, in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The lowest.
    pub first: Ipv4Addr,
    /// How many there are.
    pub count: u32,
    /// Index of the next one; taken modulo `count`.
    pub next: u32,
}

impl Sources {
    /// Reads `127.0.0.0/28`, or one address.
    pub fn parse(text: &str) -> Option<Sources> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, bits.parse::<u32>().ok().filter(|b| (8..=32).contains(b))?),
            None => (text, 32),
        };
        let address: Ipv4Addr = address.parse().ok()?;
        let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
        let mut first = u32::from(address) & mask;
        let mut count = 1u32.checked_shl(32 - bits).unwrap_or(u32::MAX);
        // The first and the last address of a network are not for hosts; on the loopback network the last is.
        if count > 2 {
            first += 1;
            count -= 2;
        }
        Some(Sources { first: Ipv4Addr::from(first), count, next: 0 })
    }

    /// The address of a user.
    fn of(&self, user: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from(u32::from(self.first).wrapping_add(user % self.count)))
    }

    /// The next address.
    fn take(&mut self) -> IpAddr {
        let address = self.of(self.next);
        self.next = self.next.wrapping_add(1);
        address
    }
}

impl Owners {
    fn of(&self, slot: u32) -> u32 {
        if slot < self.slots { self.active + slot / self.unit } else { self.idle + (slot - self.slots) }
    }
}

impl Route {
    /// The address from which the next connection of a slot comes; `None` leaves it to the kernel.
    pub(super) fn source(&mut self, slot: u32) -> Option<IpAddr> {
        let sources = self.sources.as_mut()?;
        Some(match &self.owners {
            Some(owners) => sources.of(owners.of(slot)),
            None => sources.take(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_take_turns() {
        let mut sources = Sources { first: Ipv4Addr::new(127, 0, 0, 255), count: 2, next: 0 };
        let taken: Vec<String> = (0..3).map(|_| sources.take().to_string()).collect();
        assert_eq!(taken, ["127.0.0.255", "127.0.1.0", "127.0.0.255"]);
    }

    #[test]
    fn a_user_keeps_its_address() {
        let owners = Owners { active: 10, unit: 6, slots: 12, idle: 50 };
        let sources = Sources { first: Ipv4Addr::new(127, 0, 0, 1), count: 254, next: 7 };
        let target = Peer::from(std::net::SocketAddr::from(([127, 0, 0, 1], 1)));
        let mut route = Route { target, lookup: None, sources: Some(sources), owners: Some(owners) };
        let mut of = |slot| route.source(slot).unwrap().to_string();
        for _ in 0..2 {
            assert_eq!(
                (of(0), of(5), of(6)),
                ("127.0.0.11".into(), "127.0.0.11".into(), "127.0.0.12".into())
            );
            assert_eq!((of(12), of(13)), ("127.0.0.51".into(), "127.0.0.52".into()));
        }
    }

    #[test]
    fn ranges_of_addresses() {
        let range = |text| Sources::parse(text).map(|s| (s.first.to_string(), s.count));
        assert_eq!(range("127.0.0.0/28"), Some(("127.0.0.1".into(), 14)));
        assert_eq!(range("127.0.0.77/28"), Some(("127.0.0.65".into(), 14)));
        assert_eq!(range("10.1.2.3"), Some(("10.1.2.3".into(), 1)));
        assert!(range("10.1.2.3/33").is_none() && range("localhost").is_none());
    }
}
