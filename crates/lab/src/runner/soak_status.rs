//! The status of a soak.

use pitot_meter::Buckets;
use pitot_record::soak::{Endings, Kind};

/// The current status of a soak.
#[derive(Clone, Debug, Default)]
pub struct SoakStatus {
    /// Seconds since the soak began.
    pub now_s: f64,
    /// Remaining seconds of load.
    pub left_s: f64,
    /// The servers.
    pub servers: Vec<ServerStatus>,
    /// Events since the last status, in a sentence each.
    pub events: Vec<String>,
}

/// The current status of a server.
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

/// The current status of a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadStatus {
    /// What it is called.
    pub name: String,
    /// Replies in the last second.
    pub rate: u64,
    /// Median response time in that second, nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile of response times in that second, nanoseconds.
    pub p99_ns: u64,
    /// Replies since the soak began.
    pub completed: u64,
    /// Missed arrivals since the soak began.
    pub missed: u64,
    /// Errors since the soak began.
    pub errors: u64,
    /// Those errors by phase and kind.
    pub kinds: Vec<Kind>,
    /// Requests that the server acknowledged but lost.
    pub lost: u64,
    /// Replies since the soak began with a status from 200 to 299, 300 to 399, 400 to 499 and 500 to 599.
    pub by_status: [u64; 4],
    /// Bytes from the server since the soak began.
    pub received: u64,
    /// Bytes to the server since the soak began.
    pub sent: u64,
    /// Open connections at the end of the last second.
    pub open: u64,
    /// Response times since the soak began or was resumed.
    pub response: Buckets,
}
