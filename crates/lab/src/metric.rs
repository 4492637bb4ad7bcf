//! The figures that cells are compared by, as data.

use crate::record::{Repetition, Resources};

/// One figure of a repetition.
#[derive(Debug)]
pub struct Metric {
    /// The word that users type.
    pub name: &'static str,
    /// What a table's head says.
    pub title: &'static str,
    /// One line for lists and legends.
    pub summary: &'static str,
    /// The unit of the values.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// The figure of a repetition, if it has one.
    pub read: fn(&Repetition) -> Option<f64>,
}

/// The unit of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A second.
    PerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Percent.
    Percent,
    /// A plain number.
    Count,
    /// Bytes a second.
    BytesPerSecond,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// All metrics, in the order in which tables show them.
pub static METRICS: &[Metric] = &[
    Metric {
        name: "throughput",
        title: "requests/s",
        summary: "right replies a second",
        unit: Unit::PerSecond,
        better: Better::Higher,
        read: |r| r.load.as_ref().map(|l| l.throughput_rps),
    },
    Metric {
        name: "cpu-per-request",
        title: "CPU/request",
        summary: "CPU time of the server's processes per request",
        unit: Unit::Nanoseconds,
        better: Better::Lower,
        read: |r| own_per_request(r, |own| own.user + own.system, |u| u.server_cpu_s),
    },
    Metric {
        name: "user-per-request",
        title: "user/request",
        summary: "its part in user mode",
        unit: Unit::Nanoseconds,
        better: Better::Lower,
        read: |r| own_per_request(r, |own| own.user, |u| u.server_user_s),
    },
    Metric {
        name: "system-per-request",
        title: "system/request",
        summary: "its part in the kernel",
        unit: Unit::Nanoseconds,
        better: Better::Lower,
        read: |r| own_per_request(r, |own| own.system, |u| u.server_system_s),
    },
    Metric {
        name: "latency-p50",
        title: "p50",
        summary: "median response time, from the intended start",
        unit: Unit::Nanoseconds,
        better: Better::Lower,
        read: |r| response(r, |l| l.p50),
    },
    Metric {
        name: "latency-p90",
        title: "p90",
        summary: "90th percentile of the response time",
        unit: Unit::Nanoseconds,
        better: Better::Lower,
        read: |r| response(r, |l| l.p90),
    },
    Metric {
        name: "latency-p99",
        title: "p99",
        summary: "99th percentile of the response time",
        unit: Unit::Nanoseconds,
        better: Better::Lower,
        read: |r| response(r, |l| l.p99),
    },
    Metric {
        name: "latency-p99.9",
        title: "p99.9",
        summary: "99.9th percentile of the response time",
        unit: Unit::Nanoseconds,
        better: Better::Lower,
        read: |r| response(r, |l| l.p99_9),
    },
    Metric {
        name: "latency-max",
        title: "max",
        summary: "longest response time",
        unit: Unit::Nanoseconds,
        better: Better::Lower,
        read: |r| response(r, |l| l.max),
    },
    Metric {
        name: "transfer-rate",
        title: "bytes/s",
        summary: "bytes a second that the client received, or that were read",
        unit: Unit::BytesPerSecond,
        better: Better::Higher,
        read: |r| {
            let load = r.load.as_ref().filter(|l| l.bytes.received > 0 && l.duration_s > 0.0)?;
            Some(load.bytes.received as f64 / load.duration_s)
        },
    },
    Metric {
        name: "cpu-per-megabyte",
        title: "CPU/MB",
        summary: "CPU time of the server's processes per million bytes that the client received",
        unit: Unit::Nanoseconds,
        better: Better::Lower,
        read: |r| {
            let load = r.load.as_ref().filter(|l| l.bytes.received > 0 && l.duration_s > 0.0)?;
            let used = r.resources.as_ref().filter(|u| u.window_s > 0.0)?;
            let per_second = load.bytes.received as f64 / load.duration_s;
            Some(used.server_cpu_s / used.window_s / per_second * 1e15)
        },
    },
    Metric {
        name: "gap-p99",
        title: "gap p99",
        summary: "99th percentile of the gaps between arrivals within a reply",
        unit: Unit::Nanoseconds,
        better: Better::Lower,
        read: |r| Some(r.load.as_ref()?.smoothness?.gap_ns.p99),
    },
    Metric {
        name: "gap-max",
        title: "gap max",
        summary: "longest gap between arrivals within a reply",
        unit: Unit::Nanoseconds,
        better: Better::Lower,
        read: |r| Some(r.load.as_ref()?.smoothness?.gap_ns.max),
    },
    Metric {
        name: "stalled",
        title: "stalled%",
        summary: "part of the replies' time that passed in gaps longer than 100 ms",
        unit: Unit::Percent,
        better: Better::Lower,
        read: |r| Some(r.load.as_ref()?.smoothness?.stalled_share * 100.0),
    },
    Metric {
        name: "files-time",
        title: "all files",
        summary: "time to create, write and read back all files",
        unit: Unit::Seconds,
        better: Better::Lower,
        read: |r| r.load.as_ref().filter(|l| l.raw["command"] == "files").map(|l| l.duration_s),
    },
    Metric {
        name: "create-time",
        title: "create",
        summary: "time to create all files",
        unit: Unit::Seconds,
        better: Better::Lower,
        read: |r| phase_s(r, "create"),
    },
    Metric {
        name: "write-time",
        title: "write",
        summary: "time to write all files",
        unit: Unit::Seconds,
        better: Better::Lower,
        read: |r| phase_s(r, "write"),
    },
    Metric {
        name: "read-time",
        title: "read",
        summary: "time to read all files back",
        unit: Unit::Seconds,
        better: Better::Lower,
        read: |r| phase_s(r, "read"),
    },
    Metric {
        name: "setup-time",
        title: "set-up",
        summary: "time until all connections of a storm are established",
        unit: Unit::Seconds,
        better: Better::Lower,
        read: |r| {
            let storm = r.load.as_ref()?.storm?;
            (storm.requested > 0 && storm.established == storm.requested).then_some(storm.established_s)
        },
    },
    Metric {
        name: "server-cpu",
        title: "CPU%",
        summary: "CPU use of the server, 100% being one CPU",
        unit: Unit::Percent,
        better: Better::Lower,
        read: |r| over_window(r, |u| u.server_cpu_s * 100.0),
    },
    Metric {
        name: "server-memory",
        title: "memory%",
        summary: "resident memory of the server as a share of the machine's",
        unit: Unit::Percent,
        better: Better::Lower,
        read: |r| {
            let used = r.resources.as_ref()?;
            let total = used.memory_total_bytes as f64;
            (total > 0.0).then_some(used.server_rss_bytes_mean / total * 100.0)
        },
    },
    Metric {
        name: "memory",
        title: "memory",
        summary: "most resident memory of the server, shared pages counted once",
        unit: Unit::Bytes,
        better: Better::Lower,
        read: |r| resident_max(r).map(|bytes| bytes as f64),
    },
    Metric {
        name: "memory-per-connection",
        title: "memory/conn",
        summary: "growth of the server's own memory (pages of no file) per open connection; 0 is below what can be seen",
        unit: Unit::Bytes,
        better: Better::Lower,
        read: |r| {
            let used = r.resources.as_ref().filter(|u| u.server_private_bytes_max > 0)?;
            let open = r.load.as_ref()?.connections.peak_open;
            let grown = used.server_private_bytes_max.saturating_sub(used.server_private_bytes_idle);
            let seen = if grown < GROWTH_BYTES_MIN { 0.0 } else { grown as f64 };
            (open > 0).then(|| seen / open as f64)
        },
    },
    Metric {
        name: "switches-per-request",
        title: "switches/request",
        summary: "context switches of the server per request",
        unit: Unit::Count,
        better: Better::Lower,
        read: |r| per_request(r, |u| u.server_switches as f64),
    },
    Metric {
        name: "error-rate",
        title: "errors%",
        summary: "errors as a share of the attempted requests",
        unit: Unit::Percent,
        better: Better::Lower,
        read: |r| {
            let load = r.load.as_ref()?;
            let attempted = load.requests.attempted.max(load.error_count());
            (attempted > 0).then(|| load.error_count() as f64 / attempted as f64 * 100.0)
        },
    },
    Metric {
        name: "client-cpu-per-request",
        title: "client CPU/request",
        summary: "CPU time of the load generator per request",
        unit: Unit::Nanoseconds,
        better: Better::Lower,
        read: |r| per_request(r, |u| u.load_cpu_s * 1e9),
    },
];

/// Growth below this says nothing of connections: a server touches as much on its first request, for buffers and tables
/// that all connections share.
const GROWTH_BYTES_MIN: u64 = 64 * 1024;

/// The metric of that name.
pub fn find(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|m| m.name == name)
}

/// A sum over the window, per request completed in a stretch of that length.
fn per_request(r: &Repetition, of: impl Fn(&Resources) -> f64) -> Option<f64> {
    let used = r.resources.as_ref()?;
    let requests = r.load.as_ref()?.throughput_rps * used.window_s;
    (requests >= 1.0).then(|| of(used) / requests)
}

/// Nanoseconds of CPU time per request: those that a program has counted of itself, or those that were seen.
fn own_per_request(
    r: &Repetition,
    own: impl Fn(&crate::OwnCpu) -> f64,
    seen: impl Fn(&Resources) -> f64,
) -> Option<f64> {
    let load = r.load.as_ref()?;
    match &load.own_cpu_s {
        Some(counted) => (load.requests.ok > 0).then(|| own(counted) * 1e9 / load.requests.ok as f64),
        None => per_request(r, |used| seen(used) * 1e9),
    }
}

/// The time of a phase of `pitot disk files`, all sizes together.
fn phase_s(r: &Repetition, name: &str) -> Option<f64> {
    let sizes = r.load.as_ref()?.raw["sizes"].as_array()?;
    let phases = sizes.iter().filter_map(|size| size["phases"].as_array()).flatten();
    let times: Vec<f64> = phases
        .filter(|phase| phase["phase"] == name)
        .filter_map(|phase| phase["elapsed_s"].as_f64())
        .collect();
    (!times.is_empty()).then(|| times.iter().sum())
}

fn over_window(r: &Repetition, of: impl Fn(&Resources) -> f64) -> Option<f64> {
    let used = r.resources.as_ref()?;
    (used.window_s > 0.0).then(|| of(used) / used.window_s)
}

fn response(r: &Repetition, of: impl Fn(&crate::Latency) -> f64) -> Option<f64> {
    let latency = &r.load.as_ref()?.latency_ns.response;
    (latency.count > 0).then(|| of(latency))
}

fn resident_max(r: &Repetition) -> Option<u64> {
    let used = r.resources.as_ref()?;
    let bytes =
        if used.server_pss_bytes_max > 0 { used.server_pss_bytes_max } else { used.server_rss_bytes_max };
    (bytes > 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadResult, Verdict};

    fn repetition(private_idle: u64, private_max: u64, open: u64) -> Repetition {
        let mut load = LoadResult::default();
        load.connections.peak_open = open;
        Repetition {
            id: 0,
            block: 0,
            position: 0,
            started_at: String::new(),
            elapsed_s: 0.0,
            address: String::new(),
            ready_s: 0.0,
            verdict: Verdict::default(),
            load: Some(load),
            server_stats: None,
            resources: Some(Resources {
                server_private_bytes_idle: private_idle,
                server_private_bytes_max: private_max,
                ..Resources::default()
            }),
            output_tail: String::new(),
            samples: Vec::new(),
        }
    }

    #[test]
    fn memory_per_connection_is_growth_that_is_more_than_a_first_touch() {
        let read = find("memory-per-connection").unwrap().read;
        assert_eq!(read(&repetition(1_000_000, 1_640_000, 5_000)), Some(128.0));
        assert_eq!(read(&repetition(1_000_000, 1_020_000, 64)), Some(0.0), "20 KB may be buffers");
        assert_eq!(read(&repetition(1_000_000, 900_000, 64)), Some(0.0));
        assert_eq!(read(&repetition(0, 0, 64)), None, "it was not read");
        assert_eq!(read(&repetition(1, 1_000_000, 0)), None);
    }

    #[test]
    fn every_metric_is_named_once_and_documented() {
        for (i, m) in METRICS.iter().enumerate() {
            assert!(METRICS[..i].iter().all(|n| n.name != m.name), "{} stands twice", m.name);
            assert!(!m.summary.is_empty() && !m.title.is_empty(), "{} lacks its docs", m.name);
        }
    }
}
