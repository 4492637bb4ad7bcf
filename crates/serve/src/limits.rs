use std::time::Duration;

use pitot_proto::ConnectionLimits;

/// Limits on what a server may take: time, memory, connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// What one connection may take.
    pub connection: ConnectionLimits,
    /// For requests in flight when the server is told to stop.
    pub grace: Duration,
    /// Connections at one time, in all workers; the next ones are closed at once.
    pub connections_max: u64,
    /// Accepts in one wake-up of a loop, before the connections get their turn.
    pub accepts_per_wakeup: u32,
    /// CPU time to burn for each reply, to make a server that is slower by a known amount.
    pub burn: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connection: ConnectionLimits::default(),
            grace: Duration::from_secs(10),
            connections_max: u64::MAX,
            accepts_per_wakeup: 64,
            burn: Duration::ZERO,
        }
    }
}
