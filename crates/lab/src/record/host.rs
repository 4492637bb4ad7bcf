//! A host other than the lab's own.

use pitot_host::Fingerprint;

/// A host on which programs of a run were started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostRecord {
    /// The plan's name for it.
    pub name: String,
    /// What it did: `server`, `load`, or both.
    pub does: String,
    /// How far its `CLOCK_MONOTONIC` was ahead of the lab's, nanoseconds.
    pub clock_offset_ns: i64,
    /// How far the offset may be off: half of the shortest round trip.
    pub clock_error_ns: u64,
    /// The shortest round trip of a question to its agent, nanoseconds.
    pub round_trip_ns: u64,
    /// What it is and how it was set before the first repetition.
    pub facts: Fingerprint,
    /// The same after the last one; none while the run is under way, after a crash, or if the host was lost by then.
    pub facts_after: Option<Fingerprint>,
}
