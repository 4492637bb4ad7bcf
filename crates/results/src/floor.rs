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
    /// Where it was measured.
    pub host: FloorHost,
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
    /// The servers of a run beside the floor of their requests, if that was asked for.
    pub beside: Option<FloorBeside>,
}

/// A machine and its kernel, as far as floors depend on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FloorHost {
    /// What the kernel calls itself and its build.
    pub kernel: String,
    /// The model of the processor.
    pub processor: String,
    /// The CPUs that are online.
    pub cpus: String,
}

/// The servers of a run beside the floor of their requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FloorBeside {
    /// The run file.
    pub run: String,
    /// The kind of request.
    pub request: String,
    /// The servers; none if the floor of the request is not known.
    pub cells: Vec<FloorCell>,
}

/// A server beside a floor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FloorCell {
    /// Its name, with the load if that varies.
    pub cell: String,
    /// Its CPU time for a request, nanoseconds.
    pub cpu_ns: f64,
    /// How many times the floor that is.
    pub times: FloorTimes,
    /// In what it takes that time, the most first, if the run has profiles (`pitot run --profile cpu`).
    pub spent: Vec<FloorSpent>,
}

/// A part of the time of a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FloorSpent {
    /// A system call, page faults, or the server's own code.
    pub what: String,
    /// CPU time, nanoseconds.
    pub cpu_ns: f64,
}

/// A cost as a multiple of a floor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FloorTimes {
    /// The multiple.
    pub ratio: f64,
    /// The bounds of its 95% interval; absent if one of the two has none.
    pub low: Option<f64>,
    /// As `low`.
    pub high: Option<f64>,
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

impl FloorFigure {
    /// The ratio of a cost to this floor. Both were measured separately, so their errors add up as independent ones, in
    /// logarithms.
    pub fn times(&self, cost: f64, interval: Option<(f64, f64)>) -> FloorTimes {
        let ratio = cost / self.median;
        let bounds = interval.zip(self.low.zip(self.high)).map(|((low, high), (floor_low, floor_high))| {
            let down = (cost / low).ln().hypot((floor_high / self.median).ln());
            let up = (high / cost).ln().hypot((self.median / floor_low).ln());
            (ratio * (-down).exp(), ratio * up.exp())
        });
        FloorTimes { ratio, low: bounds.map(|b| b.0), high: bounds.map(|b| b.1) }
    }
}

/// A primitive that could not be measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FloorMissing {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
    /// How to fix it.
    pub fix: String,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_multiple_is_wider_than_that_of_either_figure() {
        let floor = FloorFigure { median: 100.0, low: Some(97.0), high: Some(103.0) };
        let times = floor.times(200.0, Some((192.0, 208.0)));
        let (low, high) = (times.low.unwrap(), times.high.unwrap());
        assert!((times.ratio - 2.0).abs() < 1e-9);
        assert!((1.88..1.92).contains(&low) && (2.08..2.12).contains(&high), "{times:?}");
        assert_eq!(floor.times(200.0, None).low, None);
        let certain = FloorFigure { low: Some(100.0), high: Some(100.0), ..floor };
        let times = certain.times(200.0, Some((192.0, 208.0)));
        assert!((times.low.unwrap() - 1.92).abs() < 1e-9 && (times.high.unwrap() - 2.08).abs() < 1e-9);
    }
}
