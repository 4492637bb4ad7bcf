//! What `pitot load --json` prints, as far as the lab and the report read it.
//!
//! Unknown fields are kept in [`LoadResult::raw`], missing ones are zero or empty, so that a newer or an older load
//! generator, or another program that writes the same object, can be read.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// The object of one load command. Rates and counts are totals of the measured part, without the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct LoadResult {
    /// `pitot-load/1`.
    pub schema: String,
    /// Version of the load generator.
    pub version: String,
    /// The URL.
    pub target: String,
    /// When the measured part began, RFC 3339.
    pub started_at: String,
    /// Length of the measured part.
    pub duration_s: f64,
    /// The measured part on `CLOCK_MONOTONIC`.
    pub clock_ns: Window,
    /// Requests by their end.
    pub requests: Requests,
    /// Completed requests a second.
    pub throughput_rps: f64,
    /// Latencies.
    pub latency_ns: Latencies,
    /// How evenly replies flowed, where they came in pieces.
    pub smoothness: Option<Smoothness>,
    /// The CPU time that a program counted of itself, where that says more than what was seen of its process.
    pub own_cpu_s: Option<OwnCpu>,
    /// Connections.
    pub connections: Connections,
    /// Errors by phase and kind.
    pub errors: Vec<LoadError>,
    /// A storm of connections, where one was asked for.
    pub storm: Option<Storm>,
    /// Bytes.
    pub bytes: Bytes,
    /// The load generator's own resources, and its own verdict.
    pub client: Client,
    /// By the names of [`Latencies`]: base64 of the HdrHistogram V2 deflate encoding.
    pub histograms: BTreeMap<String, String>,
    /// The whole object as it was printed.
    #[serde(skip)]
    pub raw: Value,
}

impl LoadResult {
    /// Reads the object.
    ///
    /// # Errors
    /// If it is not JSON, or the object of no program that is known here.
    pub fn parse(text: &str) -> Result<LoadResult, serde_json::Error> {
        let raw: Value = serde_json::from_str(text)?;
        let mut result = match crate::program_result::translated(&raw) {
            Some(translated) => LoadResult::deserialize(&translated)?,
            None => LoadResult::deserialize(&raw)?,
        };
        if !result.schema.starts_with("pitot-load/") {
            return Err(serde::de::Error::custom("the field `schema` is none that is known here"));
        }
        result.raw = raw;
        Ok(result)
    }

    /// Errors of all kinds together.
    pub fn error_count(&self) -> u64 {
        self.errors.iter().map(|e| e.count).sum()
    }
}

/// A stretch of `CLOCK_MONOTONIC`, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Window {
    /// Its start; 0 if it is not known.
    pub start: u64,
    /// Its end; 0 if it is not known.
    pub end: u64,
}

/// Requests by their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Requests {
    /// Begun.
    pub attempted: u64,
    /// Answered in full.
    pub completed: u64,
    /// Answered, and the answer was right.
    pub ok: u64,
    /// Due in an open loop, but never sent.
    pub missed: u64,
}

/// The kinds of latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Latencies {
    /// From the intended start to the last byte.
    pub response: Latency,
    /// From the actual send to the last byte.
    pub service: Latency,
    /// From the intended start to the actual send.
    pub schedule_lag: Latency,
    /// Time to connect.
    pub connect: Latency,
    /// From the actual send to the first byte.
    pub first_byte: Latency,
}

/// One latency's distribution in figures, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the fields are percentiles named by themselves")]
pub struct Latency {
    /// How many times are behind the figures.
    pub count: u64,
    pub min: f64,
    pub mean: f64,
    pub stdev: f64,
    pub p50: f64,
    pub p75: f64,
    pub p90: f64,
    pub p99: f64,
    pub p99_9: f64,
    pub p99_99: f64,
    pub max: f64,
}

/// How evenly replies flowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Smoothness {
    /// Gaps between arrivals of the same reply.
    pub gap_ns: Latency,
    /// A gap longer than this is a stall.
    pub stall_ns_min: u64,
    /// The part of the replies' time that stalls took, 0 to 1.
    pub stalled_share: f64,
}

/// CPU time in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct OwnCpu {
    /// In user mode.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
}

/// Connections of the load generator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Connections {
    /// Asked for.
    pub requested: u64,
    /// Opened in all.
    pub opened: u64,
    /// Most that were open at once: the proof that they existed.
    pub peak_open: u64,
    /// Opened again after an end.
    pub reopened: u64,
    /// Closed by the server.
    pub closed_by_peer: u64,
}

/// Connections opened at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Storm {
    /// Asked for.
    pub requested: u64,
    /// Established in the end.
    pub established: u64,
    /// Seconds until the last of them was.
    pub established_s: f64,
}

/// One kind of error.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct LoadError {
    /// connect, send, receive, timeout, protocol, content.
    pub phase: String,
    /// An errno's name or a word.
    pub kind: String,
    /// How many.
    pub count: u64,
    /// When the first came, seconds from the start of the measured part.
    pub first_at_s: f64,
}

/// Bytes of the application, as the client counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Bytes {
    /// From the server.
    pub received: u64,
    /// To the server.
    pub sent: u64,
}

/// The load generator's own resources.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Client {
    /// CPU seconds in user mode.
    pub cpu_user_s: f64,
    /// CPU seconds in the kernel.
    pub cpu_system_s: f64,
    /// Share of its busiest thread's time that was spent on the CPU, 0 to 1.
    pub cpu_utilisation: f64,
    /// Its own verdict: `valid`, `client-bound`, `network-bound`, `rate-missed`.
    pub verdict: String,
    /// The sentence behind the verdict.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_are_kept_and_missing_ones_are_zero() {
        let text = r#"{"schema": "pitot-load/1", "throughput_rps": 12.5, "requests": {"completed": 25},
            "latency_ns": {"response": {"count": 25, "p99": 1500}}, "novel": {"a": 1},
            "errors": [{"phase": "connect", "kind": "ECONNREFUSED", "count": 2}, {"count": 3}]}"#;
        let result = LoadResult::parse(text).unwrap();
        assert_eq!(result.throughput_rps, 12.5);
        assert_eq!(result.latency_ns.response.p99, 1500.0);
        assert_eq!(result.latency_ns.connect.count, 0);
        assert_eq!(result.error_count(), 5);
        assert_eq!(result.raw["novel"]["a"], 1);
    }

    #[test]
    fn another_object_is_refused() {
        assert!(LoadResult::parse(r#"{"schema": "wrk/1"}"#).is_err());
        assert!(LoadResult::parse("[]").is_err());
        assert!(LoadResult::parse("{").is_err());
    }
}
