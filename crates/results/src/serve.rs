//! What `pitot serve --stats json` prints when it stops.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The schema of [`ServeResult`].
pub const SCHEMA: &str = "pitot-serve/1";

/// What a server did, from its start to its end, in all its threads and processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServeResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of the program that printed it.
    pub version: String,
    /// The protocol.
    pub protocol: String,
    /// The concurrency model.
    pub model: String,
    /// The event mechanism.
    pub mechanism: String,
    /// The disk engine, if one reads the files.
    pub disk: Option<String>,
    /// Workers.
    pub workers: u64,
    /// How long it served, seconds.
    pub duration_s: f64,
    /// Connections.
    pub connections: ConnectionCounts,
    /// Replies given.
    pub requests: u64,
    /// Bytes over all connections.
    pub bytes: Bytes,
    /// Mail that was accepted.
    pub mail: MailCounts,
    /// TLS, if the server has a certificate.
    pub tls: Option<TlsCounts>,
    /// What went wrong, by its word; every word is there, with 0 if it did not happen.
    pub errors: BTreeMap<String, u64>,
    /// CPU time in user mode, seconds.
    pub cpu_user_s: f64,
    /// CPU time in the kernel, seconds.
    pub cpu_system_s: f64,
    /// The largest resident set of one process, bytes.
    pub rss_peak_bytes: u64,
    /// The same of a worker process, bytes; 0 where workers are threads.
    pub worker_rss_peak_bytes: u64,
    /// It had to be ended by force after the grace time.
    pub forced: bool,
}

impl ServeResult {
    /// The counters in what a server printed; `None` if another program printed it.
    pub fn read(printed: &Value) -> Option<ServeResult> {
        let result = ServeResult::deserialize(printed).ok()?;
        (result.schema == SCHEMA).then_some(result)
    }
}

/// Connections of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionCounts {
    /// Accepted.
    pub accepted: u64,
    /// Closed, for whatever reason.
    pub closed: u64,
    /// Still open at the end.
    pub open: u64,
    /// The most that were open at once.
    pub open_peak: u64,
}

/// Bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bytes {
    /// From clients.
    pub received: u64,
    /// To clients.
    pub sent: u64,
}

/// TLS handshakes of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TlsCounts {
    /// Complete handshakes.
    pub handshakes: u64,
    /// Those of them that resumed a session.
    pub resumed: u64,
    /// Connections that the kernel encrypted behind the handshake.
    pub in_kernel: u64,
}

/// Mail that a server accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MailCounts {
    /// Recipients that were accepted, whether or not a message followed.
    pub recipients_accepted: u64,
    /// Messages that were acknowledged.
    pub messages: u64,
    /// The recipients of these messages.
    pub recipients: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counters_of_another_program_are_not_taken_for_ours() {
        let ours = ServeResult::read(&json!({"schema": SCHEMA, "requests": 5, "novel": 1})).unwrap();
        assert_eq!((ours.requests, ours.workers), (5, 0));
        assert_eq!(ServeResult::read(&json!({"schema": "nginx/1", "requests": 5})), None);
        assert_eq!(ServeResult::read(&json!([5])), None);
    }
}
