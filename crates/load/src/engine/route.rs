use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Where connections go to and come from.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) target: SocketAddr,
    pub(crate) sources: Option<Sources>,
}

/// Local addresses that connections come from, in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sources {
    pub(crate) first: Ipv4Addr,
    pub(crate) count: u32,
    /// Index of the next one; taken modulo `count`.
    pub(crate) next: u32,
}

impl Sources {
    /// Reads `127.0.0.0/28`, or one address.
    pub(crate) fn parse(text: &str) -> Option<Sources> {
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

    /// The next address.
    fn take(&mut self) -> IpAddr {
        let address = u32::from(self.first).wrapping_add(self.next % self.count);
        self.next = self.next.wrapping_add(1);
        IpAddr::V4(Ipv4Addr::from(address))
    }
}

impl Route {
    /// The address from which the next connection comes; `None` leaves it to the kernel.
    pub(super) fn source(&mut self) -> Option<IpAddr> {
        self.sources.as_mut().map(Sources::take)
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
    fn ranges_of_addresses() {
        let range = |text| Sources::parse(text).map(|s| (s.first.to_string(), s.count));
        assert_eq!(range("127.0.0.0/28"), Some(("127.0.0.1".into(), 14)));
        assert_eq!(range("127.0.0.77/28"), Some(("127.0.0.65".into(), 14)));
        assert_eq!(range("10.1.2.3"), Some(("10.1.2.3".into(), 1)));
        assert!(range("10.1.2.3/33").is_none() && range("localhost").is_none());
    }
}
