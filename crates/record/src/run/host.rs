//! A host of a run.

use pitot_host::Fingerprint;

/// What the lab's own machine is called among the hosts of a run.
const OWN: &str = "the lab's machine";

/// A host on which programs of a run were started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostRecord {
    /// It is the lab's own machine, which the run file has among the facts of the run and not among its hosts.
    pub is_own: bool,
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

impl HostRecord {
    /// The lab's own machine, whose clock is the one that others are compared with. What changed on it is in the run itself.
    pub fn own(does: &str, facts: &Fingerprint) -> HostRecord {
        HostRecord {
            is_own: true,
            name: OWN.into(),
            does: does.into(),
            facts: facts.clone(),
            ..HostRecord::default()
        }
    }
}
