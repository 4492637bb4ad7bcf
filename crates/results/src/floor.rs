//! What `pitot floor --format json` prints.

use serde::{Deserialize, Serialize};

/// The schema of [`FloorResult`].
pub const SCHEMA: &str = "pitot-floor/1";

/// What the primitives of a machine cost, and the floor of a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FloorResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of the program that printed it.
    pub version: String,
    /// When the command started, RFC 3339.
    pub started_at: String,
    /// How it was measured.
    pub options: FloorOptions,
    /// The primitives that could be measured.
    pub primitives: Vec<FloorPrimitive>,
    /// Those that could not.
    pub missing: Vec<FloorMissing>,
    /// Floors of requests, as far as their primitives were measured.
    pub requests: Vec<FloorRequest>,
    /// Many threads of which few are alive, if that was asked for.
    pub threads: Option<FloorThreads>,
}

/// How primitives were measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FloorOptions {
    /// Rounds, each with fresh descriptors, threads and memory.
    pub rounds: u64,
    /// Time of a primitive in a round, nanoseconds.
    pub slice_ns: u64,
    /// The seed of the orders of rounds.
    pub seed: u64,
    /// The CPU of the measuring thread.
    pub cpu: u64,
    /// The CPU of partners that were not to share it, if there was one.
    pub other_cpu: Option<u64>,
}

/// One primitive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FloorPrimitive {
    /// Its name.
    pub name: String,
    /// What one operation is: `call`, `switch`, `round trip`, `page`, `MiB`, `lateness`.
    pub operation: String,
    /// Operations timed, in all rounds.
    pub operations: u64,
    /// On the clock, nanoseconds an operation.
    pub wall_ns: FloorFigure,
    /// CPU time of all threads and children of the program, nanoseconds an operation.
    pub cpu_ns: FloorFigure,
}

/// A median over rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FloorFigure {
    /// The median.
    pub median: f64,
    /// The bounds of its 95% interval; absent with fewer than six rounds.
    pub low: Option<f64>,
    /// As `low`.
    pub high: Option<f64>,
}

/// A primitive that could not be measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FloorMissing {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
    /// What mends it.
    pub cure: String,
}

/// The floor of a kind of request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FloorRequest {
    /// Its name.
    pub name: String,
    /// CPU time that no server can avoid, nanoseconds: the sum of its primitives, taken round by round.
    pub cpu_ns: FloorFigure,
}

/// Threads that were created and have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FloorThreads {
    /// How many.
    pub threads: u64,
    /// How many at most were alive.
    pub alive: u64,
    /// Seconds in all.
    pub took_s: f64,
    /// Seconds published for the same numbers (Drepper and Molnar 2003), if these are they.
    pub published_s: Option<f64>,
}
