//! The conditions of connections through the proxy.

use pitot_meter::Nanos;

/// The condition of all connections during a fault. For several faults delays add up, and the lowest rate counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Condition {
    /// Delay of what the server sends.
    pub delay: Nanos,
    /// Maximum additional delay, random for each piece; pieces keep their order.
    pub jitter: Nanos,
    /// Bytes per second in each direction, of all connections together.
    pub bytes_per_s: Option<f64>,
    /// All traffic is blocked.
    pub black_hole: bool,
    /// Open and new connections are reset.
    pub reset: bool,
}

impl Condition {
    /// The combination of several.
    pub(super) fn of(all: impl IntoIterator<Item = Condition>) -> Condition {
        all.into_iter().fold(Condition::default(), |sum, one| Condition {
            delay: sum.delay + one.delay,
            jitter: sum.jitter + one.jitter,
            bytes_per_s: match (sum.bytes_per_s, one.bytes_per_s) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
            black_hole: sum.black_hole | one.black_hole,
            reset: sum.reset | one.reset,
        })
    }
}
