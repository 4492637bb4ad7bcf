//! How a soak goes, for those who watch it.

use pitot_record::soak::{Endings, Kind};

/// A soak as it is now.
#[derive(Clone, Debug, Default)]
pub struct SoakStatus {
    /// Seconds since the soak began.
    pub now_s: f64,
    /// Seconds of load that are left.
    pub left_s: f64,
    /// The servers.
    pub servers: Vec<ServerStatus>,
    /// What has happened since the last time, in a sentence each.
    pub events: Vec<String>,
}

/// A server as it is now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerStatus {
    /// What it is called.
    pub name: String,
    /// Whether it runs.
    pub is_up: bool,
    /// How often it has ended.
    pub endings: Endings,
    /// Its loads.
    pub loads: Vec<LoadStatus>,
}

/// A load as it is now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadStatus {
    /// What it is called.
    pub name: String,
    /// Replies in the last second.
    pub rate: u64,
    /// The median of response times in it, nanoseconds.
    pub p50_ns: u64,
    /// The 99th percentile of response times in it, nanoseconds.
    pub p99_ns: u64,
    /// Replies since the soak began.
    pub completed: u64,
    /// Arrivals missed since then.
    pub missed: u64,
    /// Errors since then.
    pub errors: u64,
    /// These by phase and kind.
    pub kinds: Vec<Kind>,
    /// Requests that the server acknowledged and lost.
    pub lost: u64,
}
