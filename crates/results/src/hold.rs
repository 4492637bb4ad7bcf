//! The output of `pitot load --hold`: one line of JSON as reply to each command.

use std::collections::BTreeMap;

use pitot_meter::{Histogram, Nanos};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::load::{Executions, Window};

/// The reply to a command. The field `event` is its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Answer {
    /// To `open`: the connections are open, and nothing was sent on them but greetings.
    Opened(Opened),
    /// To `run`: the slice is drained.
    Slice(Box<Slice>),
    /// To `close`: the connections are closed.
    Closed(Closed),
    /// To a command that failed.
    Error(Refused),
    /// To `quit`: nothing follows.
    Quit,
}

/// A group whose connections are open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Opened {
    /// The name of the group.
    pub group: String,
    /// Connections that are open: 0 if each request opens its own.
    pub connections: u64,
    /// Connections that could not be opened. They are tried again before each slice.
    pub failed: u64,
    /// How long it took, from the command to the last connection, milliseconds.
    pub connect_ms: f64,
}

/// One slice of load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Slice {
    /// The name of the group.
    pub group: String,
    /// When the first request was sent, Unix time in nanoseconds.
    pub began_unix_ns: u64,
    /// From the first request to the end of the drain, on the clock that all processes of the machine share.
    pub clock_ns: Window,
    /// From the moment at which the command was read to the first request, microseconds. Opening connections again that
    /// were lost since the last slice is part of it.
    pub late_us: f64,
    /// From the first request until no further one was due, microseconds: the length asked for, without the few
    /// microseconds until the first was sent.
    pub duration_us: f64,
    /// From then until the last request was answered or had failed, microseconds.
    pub drain_us: f64,
    /// Requests answered in full, rightly and in time: `requests.ok` of `pitot load --json`.
    pub requests: u64,
    /// Requests begun.
    pub attempted: u64,
    /// Requests answered in full, rightly or wrongly, in time or late.
    pub completed: u64,
    /// Requests that ended without a full answer.
    pub failed: u64,
    /// Arrivals of an open loop that were due in the slice and were never sent.
    pub missed: u64,
    /// Requests sent more than a millisecond after they were due although a connection was free.
    pub started_late: u64,
    /// Errors by phase and kind, in the words of `pitot load --json`: `timeout reply`, `connect ECONNREFUSED`.
    pub errors: BTreeMap<String, u64>,
    /// Bytes of the application from the server.
    pub bytes_received: u64,
    /// Bytes of the application to the server.
    pub bytes_sent: u64,
    /// Content of the requests answered rightly and in time, as in [`Bytes`](crate::load::Bytes); `None` from a program that
    /// does not count it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_content: Option<u64>,
    /// Connections established in the slice.
    pub connects: u64,
    /// Connections established before the slice began, in the place of others that the server had closed or that had
    /// failed.
    pub reconnects: u64,
    /// Response times, microseconds, as `pitot load` records them: from the moment at which a request was due, with the
    /// replies that were wrong and the requests that timed out.
    pub latency_us: SliceLatency,
    /// The same as base64 of the HdrHistogram V2 deflate encoding, in nanoseconds.
    pub histogram: String,
    /// Times of the TLS handshakes since the slice before, in the same form: `handshake` of full ones, `resumption` of those
    /// that resumed a session.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub handshakes: BTreeMap<String, String>,
    /// CPU time of the client's threads in user mode, from the first request to the end of the drain, microseconds.
    pub client_user_us: f64,
    /// The same in the kernel, microseconds. The sum of both is exact to the nanosecond.
    pub client_system_us: f64,
    /// What the executions of a command used (`pitot exec --hold`), which are its requests; `None` from a load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executions: Option<Executions>,
}

impl Slice {
    /// Errors of all kinds together.
    pub fn error_count(&self) -> u64 {
        self.errors.values().sum()
    }

    /// From the first request to the end of the drain, seconds.
    pub fn elapsed_s(&self) -> f64 {
        (self.duration_us + self.drain_us) / 1e6
    }

    /// Right replies per second; none if it took no time.
    pub fn rate(&self) -> Option<f64> {
        Some(self.requests as f64 / self.elapsed_s()).filter(|rate| rate.is_finite())
    }

    /// CPU time of the client's threads, microseconds.
    pub fn client_cpu_us(&self) -> f64 {
        self.client_user_us + self.client_system_us
    }
}

/// Response times of a slice, microseconds; 0 if there were none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SliceLatency {
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

impl SliceLatency {
    /// Of the response times of a slice.
    pub fn of(response: &Histogram) -> SliceLatency {
        let micros = |time: Nanos| time.0 as f64 / 1e3;
        SliceLatency {
            p50: micros(response.at(0.5)),
            p90: micros(response.at(0.9)),
            p99: micros(response.at(0.99)),
            max: micros(response.max()),
            mean: micros(response.mean()),
        }
    }
}

/// A closed group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Closed {
    /// The name of the group.
    pub group: String,
    /// Connections that were open and are closed.
    pub connections: u64,
}

/// Why a command failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Refused {
    /// The name of the group, if the command has one.
    pub group: Option<String>,
    /// What is wrong: one line.
    pub what: String,
    /// How to fix it: one line.
    pub fix: String,
}

impl Refused {
    /// A failure as the reply to a command about `group`.
    pub fn new(group: Option<&str>, failure: Failure) -> Refused {
        Refused { group: group.map(str::to_owned), what: failure.what, fix: failure.fix }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_one_line_that_is_read_as_it_was_written() {
        let slice = Slice {
            group: "a".into(),
            late_us: 12.5,
            requests: 3,
            errors: [("timeout reply".to_owned(), 2)].into(),
            latency_us: SliceLatency { p50: 1.25, ..SliceLatency::default() },
            ..Slice::default()
        };
        assert_eq!(slice.error_count(), 2);
        let answers = [
            Answer::Opened(Opened { group: "a b".into(), connections: 64, failed: 0, connect_ms: 1.5 }),
            Answer::Slice(Box::new(slice)),
            Answer::Closed(Closed { group: "a".into(), connections: 64 }),
            Answer::Error(Refused::new(None, Failure::misuse("wrong", "right"))),
            Answer::Quit,
        ];
        let mut events = Vec::new();
        for answer in answers {
            let line = serde_json::to_string(&answer).unwrap();
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(serde_json::from_str::<Answer>(&line).unwrap(), answer);
            let value: serde_json::Value = serde_json::from_str(&line).unwrap();
            events.push(value["event"].as_str().unwrap().to_owned());
        }
        assert_eq!(events, ["opened", "slice", "closed", "error", "quit"]);
    }

    #[test]
    fn an_answer_of_another_version_is_read() {
        let line = r#"{"event": "slice", "group": "a", "requests": 7, "a_new_field": [1]}"#;
        let Answer::Slice(slice) = serde_json::from_str(line).unwrap() else { panic!("{line}") };
        assert_eq!((slice.requests, slice.drain_us), (7, 0.0));
    }
}
