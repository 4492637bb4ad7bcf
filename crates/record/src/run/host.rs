//! A host of a run.

use pitot_host::Fingerprint;

/// The name of the lab's machine among the hosts of a run.
const OWN: &str = "the lab's machine";

/// A host on which programs of a run were started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostRecord {
    /// Whether it is the lab's machine, whose facts are those of the run.
    pub is_own: bool,
    /// The plan's name for it.
    pub name: String,
    /// What it did: `server`, `load`, or both.
    pub does: String,
    /// How far its `CLOCK_MONOTONIC` was ahead of the lab's, nanoseconds.
    pub clock_offset_ns: i64,
    /// The uncertainty of that offset: half of the shortest round trip.
    pub clock_error_ns: u64,
    /// The shortest round trip of a request to its agent, nanoseconds.
    pub round_trip_ns: u64,
    /// Its fingerprint before the first repetition.
    pub facts: Fingerprint,
    /// Its fingerprint after the last repetition; none while the run is running, after a crash, or if the host was lost.
    pub facts_after: Option<Fingerprint>,
}

impl HostRecord {
    /// The lab's machine, whose clock is the reference. Its changes are in the run itself.
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
