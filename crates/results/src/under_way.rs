//! Whether what limits a closed loop lies between server and load generator: while neither is busy, replies are under way.
//!
//! A kernel keeps the bytes that it has sent until the other side's kernel has acknowledged them. So a server's connection with
//! such bytes has a reply on its way, or in a queue before it; one without any waits for a request, or its server has not replied
//! yet, since it works, sleeps, reads its disk or waits for a lock. Where neither side is busy and nearly all connections have a
//! reply under way whenever one looks, the way limits: a slow or shaped link, its queue, or its round trip. A server that waits is
//! never taken for that, for it has nothing under way meanwhile.

use serde::{Deserialize, Serialize};

/// A side that used more than this share of what it can is busy: then it may be what limits.
const BUSY_MIN: f64 = 0.5;
/// The way limits if this share of the connections or more had a reply under way. Server and load generator that answer each other
/// at once over a fast way come to a half.
const SHARE_MIN: f64 = 0.75;
/// Fewer connections that were looked at say nothing.
const LOOKED_AT_MIN: u64 = 12;
/// As many are enough.
const LOOKED_AT_MAX: u64 = 2000;
/// To look at more takes the kernel so long that it would disturb the server.
const CONNECTIONS_MAX: u64 = 10_000;

/// How many of a server's connections had a reply under way, in all looks at them together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnderWay {
    /// Connections that were looked at: their number times that of the looks.
    pub looked_at: u64,
    /// Those of them that had bytes which the other side had not acknowledged.
    pub sending: u64,
}

impl UnderWay {
    /// Whether a look at so many connections is worth its cost.
    pub fn wants(self, connections: u64) -> bool {
        (1..=CONNECTIONS_MAX).contains(&connections) && self.looked_at < LOOKED_AT_MAX
    }

    /// Adds a look at the connections that send requests.
    pub fn add(&mut self, connections: u64, sending: u64) {
        self.looked_at += connections;
        self.sending += sending.min(connections);
    }

    /// The share of the connections that had a reply under way; `None` if too few were looked at.
    pub fn share(self) -> Option<f64> {
        (self.looked_at >= LOOKED_AT_MIN).then(|| self.sending as f64 / self.looked_at as f64)
    }
}

/// Whether a side that used this share of what it can has so much left that it is not what limits.
pub fn is_idle(used_share: f64) -> bool {
    used_share < BUSY_MIN
}

/// Why the way limits a closed loop neither of whose sides is busy, if it does. `who`: what is known of how busy they were.
pub fn limits(share: Option<f64>, who: &str) -> Option<String> {
    let share = share.filter(|share| *share >= SHARE_MIN)?;
    Some(format!(
        "{who}, and {:.0}% of the connections had a reply under way that had not arrived: something between server and load \
         generator limits, such as a slow or shaped link, a long round trip, or a reply in two writes of which the second waits \
         for a delayed acknowledgement (TCP_NODELAY)",
        share * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(sending: u64) -> Option<String> {
        let mut under_way = UnderWay::default();
        (0..10).for_each(|_| under_way.add(50, sending));
        limits(under_way.share(), "nobody was busy")
    }

    #[test]
    fn the_way_limits_where_nearly_all_replies_are_under_way() {
        let why = limit(48).unwrap();
        assert!(
            why.starts_with("nobody was busy, and 96% of the connections had a reply under way"),
            "{why}"
        );
        assert!(limit(60).unwrap().contains("100%"), "others at the same port count for nothing");
        assert_eq!(limit(25), None, "two that answer each other at once");
        assert_eq!(limit(0), None, "a server that waits");
    }

    #[test]
    fn a_few_looks_say_nothing_and_many_cost_too_much() {
        let mut under_way = UnderWay::default();
        under_way.add(11, 11);
        assert_eq!(under_way.share(), None);
        assert!(under_way.wants(50) && !under_way.wants(0) && !under_way.wants(CONNECTIONS_MAX + 1));
        under_way.add(LOOKED_AT_MAX, 0);
        assert!(!under_way.wants(50));
    }
}
