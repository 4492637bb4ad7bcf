//! What connections through the proxy are under.

use pitot_meter::Nanos;

/// What all connections are under while a fault lasts. Of several at once delays add up, and the lowest rate counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Condition {
    /// Added to what the server sends.
    pub delay: Nanos,
    /// At most so much more is added, drawn anew for each piece; pieces keep their order.
    pub jitter: Nanos,
    /// Bytes per second in each direction, of all connections together.
    pub bytes_per_s: Option<f64>,
    /// Nothing passes, in neither direction.
    pub black_hole: bool,
    /// Connections are reset, those that are open and those that are opened.
    pub reset: bool,
}

impl Condition {
    /// All of several.
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
