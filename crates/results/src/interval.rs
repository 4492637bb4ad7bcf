//! What `pitot load --intervals` prints: one line of JSON for each interval of the measured part.

use serde::{Deserialize, Serialize};

use crate::load::{ErrorRow, Steps};
use pitot_durability::Acknowledged;

/// One interval. Counts are of the interval alone, but for the errors, which are of the run so far: whoever misses a line
/// still knows how many there were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interval {
    /// Its start, whole seconds from the start of the measured part.
    pub t_s: u64,
    /// Its length, seconds. The last one may be shorter than asked for.
    pub length_s: u64,
    /// Replies completed.
    pub completed: u64,
    /// Those of them with a status from 200 to 299, ...
    pub status_2xx: u64,
    /// ... 300 to 399, ...
    pub status_3xx: u64,
    /// ... 400 to 499, ...
    pub status_4xx: u64,
    /// ... and 500 to 599.
    pub status_5xx: u64,
    /// Errors of all phases.
    pub errors: u64,
    /// Arrivals known to be missed so far in it; those that are given up later are in the result only.
    pub missed: u64,
    /// Bytes from the server.
    pub received: u64,
    /// Bytes to the server.
    pub sent: u64,
    /// Connections open at its end.
    pub open: u64,
    /// Response times: the HdrHistogram V2 encoding, deflated, in base64; nanoseconds.
    pub response: String,
    /// Errors of the run so far by phase and kind.
    pub error_kinds: Vec<ErrorRow>,
    /// The interval in steps (`--steps`), the first of which begins with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Steps>,
    /// What the server acknowledged in it (`--durability`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<Acknowledged>,
}
