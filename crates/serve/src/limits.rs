use std::time::Duration;

use pitot_proto::ConnectionLimits;

/// Limits of a server on time, memory and connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Limits of one connection.
    pub connection: ConnectionLimits,
    /// Time for requests in flight to finish when the server is stopped.
    pub grace: Duration,
    /// Limit on concurrent connections of all workers; further ones are closed at once.
    pub connections_max: u64,
    /// Connections that a loop accepts per wake-up before it serves those that are ready.
    pub accepts_per_wakeup: u32,
    /// CPU time to spend on each reply in addition, to make the server slower by a known amount.
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
