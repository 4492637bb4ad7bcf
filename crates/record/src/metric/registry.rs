//! The metrics.

use super::entry::{Better, Column, Metric, Quantity, Section, Unit, Words};
use super::read;
use crate::run::kept;

/// All metrics, in the order in which lists and tables show them.
pub static METRICS: &[Metric] = &[
    Metric {
        name: "throughput",
        title: "requests/s",
        summary: "successful replies per second",
        words: Words { noun: "requests per second", verb: "handled", quantity: Quantity::Countable },
        unit: Unit::PerSecond,
        zero: None,
        better: Better::Higher,
        shown_in: &[
            Section::Table(Column::Value),
            Section::Tile,
            Section::Finding,
            Section::Curve,
            Section::Comparison,
        ],
        needs: "a load generator's result",
        in_slice: Some(|s| s.throughput_rps()),
        read: |r| r.load.as_ref().map(|l| l.throughput_rps),
    },
    Metric {
        name: "cpu-per-request",
        title: "CPU/request",
        summary: "CPU time of the server's processes per request",
        words: Words { noun: "CPU time per request", verb: "used", quantity: Quantity::Amount },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[
            Section::Table(Column::Interval),
            Section::Tile,
            Section::Finding,
            Section::Curve,
            Section::Comparison,
        ],
        needs: "a load generator's result and samples of the server's processes",
        in_slice: Some(|s| s.per_request(s.server_cpu_ns?)),
        read: |r| read::cpu_ns_per_request(r, |own| own.user + own.system, |seen| seen.server_cpu_s),
    },
    Metric {
        name: "instructions-per-request",
        title: "instructions/request",
        summary: "instructions of server, load and kernel per request, where an emulated processor counted them",
        words: Words { noun: "instructions per request", verb: "used", quantity: Quantity::Countable },
        unit: Unit::Count,
        zero: None,
        better: Better::Lower,
        shown_in: &[Section::Table(Column::Interval), Section::Tile, Section::Finding, Section::Comparison],
        needs: "a guest on an emulated processor",
        in_slice: None,
        read: |r| read::instructions_per_request(r, |_| r.instructions()),
    },
    Metric {
        name: "server-instructions",
        title: "server's instr./request",
        summary: "the part of the instructions per request that is the server's, in user mode and in the kernel",
        words: Words { noun: "server instructions per request", verb: "used", quantity: Quantity::Countable },
        unit: Unit::Count,
        zero: None,
        better: Better::Lower,
        shown_in: &[Section::Table(Column::Value), Section::Comparison],
        needs: "a guest on an emulated processor",
        in_slice: None,
        read: |r| read::instructions_per_request(r, |used| Some(used.server_cpu_s * 1e9)),
    },
    Metric {
        name: "user-per-request",
        title: "user/request",
        summary: "the part of the CPU time per request that is spent in user mode",
        words: Words { noun: "user CPU time per request", verb: "used", quantity: Quantity::Amount },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "a load generator's result and samples of the server's processes",
        in_slice: None,
        read: |r| read::cpu_ns_per_request(r, |own| own.user, |seen| seen.server_user_s),
    },
    Metric {
        name: "system-per-request",
        title: "system/request",
        summary: "the part of the CPU time per request that is spent in the kernel",
        words: Words { noun: "system CPU time per request", verb: "used", quantity: Quantity::Amount },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "a load generator's result and samples of the server's processes",
        in_slice: None,
        read: |r| read::cpu_ns_per_request(r, |own| own.system, |seen| seen.server_system_s),
    },
    Metric {
        name: "latency-mean",
        title: "mean",
        summary: "mean response time, from the intended start",
        words: Words { noun: "mean latency", verb: "had", quantity: Quantity::Level },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "response times",
        in_slice: None,
        // Other programs that print the rest may leave it out.
        read: |r| read::response(r, |l| l.mean).filter(|mean| *mean > 0.0),
    },
    Metric {
        name: "latency-p50",
        title: "p50",
        summary: "median response time, from the intended start",
        words: Words { noun: "median latency", verb: "had", quantity: Quantity::Level },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[Section::Table(Column::Optional), Section::Comparison],
        needs: "response times",
        in_slice: Some(|s| positive(s.p50_ns)),
        read: |r| read::response(r, |l| l.p50),
    },
    Metric {
        name: "latency-p90",
        title: "p90",
        summary: "90th percentile of the response time",
        words: Words { noun: "p90 latency", verb: "had", quantity: Quantity::Level },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "response times",
        in_slice: Some(|s| positive(s.p90_ns)),
        read: |r| read::response(r, |l| l.p90),
    },
    Metric {
        name: "latency-p99",
        title: "p99",
        summary: "99th percentile of the response time",
        words: Words { noun: "p99 latency", verb: "had", quantity: Quantity::Level },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[
            Section::Table(Column::Value),
            Section::Tile,
            Section::Finding,
            Section::Curve,
            Section::Comparison,
        ],
        needs: "response times",
        in_slice: Some(|s| positive(s.p99_ns)),
        read: |r| read::response(r, |l| l.p99),
    },
    Metric {
        name: "latency-p99.9",
        title: "p99.9",
        summary: "99.9th percentile of the response time",
        words: Words { noun: "p99.9 latency", verb: "had", quantity: Quantity::Level },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[Section::Comparison],
        needs: "response times",
        in_slice: None,
        read: |r| read::response(r, |l| l.p99_9),
    },
    Metric {
        name: "latency-max",
        title: "max",
        summary: "longest response time",
        words: Words { noun: "maximum latency", verb: "had", quantity: Quantity::Level },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "response times",
        in_slice: None,
        read: |r| read::response(r, |l| l.max),
    },
    Metric {
        name: "handshake-p50",
        title: "handshake p50",
        summary: "median time of a full TLS handshake, from the established connection",
        words: Words { noun: "median handshake time", verb: "had", quantity: Quantity::Level },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "full TLS handshakes",
        in_slice: None,
        read: |r| read::times(r, |l| &l.latency_ns.handshake, |l| l.p50),
    },
    Metric {
        name: "handshake-p99",
        title: "handshake p99",
        summary: "99th percentile of the time of a full TLS handshake",
        words: Words { noun: "p99 handshake time", verb: "had", quantity: Quantity::Level },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "full TLS handshakes",
        in_slice: None,
        read: |r| read::times(r, |l| &l.latency_ns.handshake, |l| l.p99),
    },
    Metric {
        name: "resumption-p50",
        title: "resumption p50",
        summary: "median time of a TLS handshake that resumes a session",
        words: Words { noun: "median time to resume a session", verb: "had", quantity: Quantity::Level },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "TLS handshakes that resume a session",
        in_slice: None,
        read: |r| read::times(r, |l| &l.latency_ns.resumption, |l| l.p50),
    },
    Metric {
        name: "resumption-p99",
        title: "resumption p99",
        summary: "99th percentile of the time of a TLS handshake that resumes a session",
        words: Words { noun: "p99 time to resume a session", verb: "had", quantity: Quantity::Level },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "TLS handshakes that resume a session",
        in_slice: None,
        read: |r| read::times(r, |l| &l.latency_ns.resumption, |l| l.p99),
    },
    Metric {
        name: "page-p50",
        title: "page p50",
        summary: "median time of a page with all that belongs to it, from its intended start",
        words: Words { noun: "median page time", verb: "had", quantity: Quantity::Level },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "pages, which users read (browser)",
        in_slice: None,
        read: |r| read::page(r, |l| l.p50),
    },
    Metric {
        name: "page-p99",
        title: "page p99",
        summary: "99th percentile of the time of a page with all that belongs to it",
        words: Words { noun: "p99 page time", verb: "had", quantity: Quantity::Level },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "pages, which users read (browser)",
        in_slice: None,
        read: |r| read::page(r, |l| l.p99),
    },
    Metric {
        name: "transfer-rate",
        title: "bytes/s",
        summary: "bytes per second that the client received, or that were read from the disk",
        words: Words { noun: "bytes per second", verb: "transferred", quantity: Quantity::Countable },
        unit: Unit::BytesPerSecond,
        zero: None,
        better: Better::Higher,
        shown_in: &[],
        needs: "bytes received or read",
        in_slice: Some(|s| (s.received_bytes > 0).then(|| s.received_bytes as f64 / s.elapsed_s())),
        read: read::received_per_second,
    },
    Metric {
        name: "cpu-per-megabyte",
        title: "CPU/MB",
        summary: "CPU time of the server's processes per million bytes that the client received",
        words: Words { noun: "CPU time per megabyte", verb: "used", quantity: Quantity::Amount },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "bytes received, and samples of the server's processes",
        in_slice: Some(|s| {
            (s.received_bytes > 0).then_some(s.server_cpu_ns? as f64 * 1e6 / s.received_bytes as f64)
        }),
        read: read::cpu_ns_per_megabyte,
    },
    Metric {
        name: "gap-p99",
        title: "gap p99",
        summary: "99th percentile of the gaps between the pieces of a reply",
        words: Words { noun: "p99 gap within a reply", verb: "had", quantity: Quantity::Duration },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "replies that arrive in several pieces",
        in_slice: None,
        read: |r| Some(r.load.as_ref()?.smoothness?.gap_ns.p99 as f64),
    },
    Metric {
        name: "gap-max",
        title: "gap max",
        summary: "longest gap between two pieces of a reply",
        words: Words { noun: "maximum gap within a reply", verb: "had", quantity: Quantity::Duration },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "replies that arrive in several pieces",
        in_slice: None,
        read: |r| Some(r.load.as_ref()?.smoothness?.gap_ns.max as f64),
    },
    Metric {
        name: "stalled",
        title: "stalled%",
        summary: "share of the time of all replies that passed in gaps longer than 100 ms",
        words: Words { noun: "share of stalled time", verb: "had", quantity: Quantity::Level },
        unit: Unit::Percent,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "replies that arrive in several pieces",
        in_slice: None,
        read: |r| Some(r.load.as_ref()?.smoothness?.stalled_share * 100.0),
    },
    Metric {
        name: "time-per-operation",
        title: "time",
        summary: "time of one operation of the machine",
        words: Words { noun: "time per operation", verb: "took", quantity: Quantity::Amount },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "a result of `pitot floor`",
        in_slice: None,
        read: |r| read::floor_ns(r, |primitive| primitive.wall_ns.median),
    },
    Metric {
        name: "instructions-per-operation",
        title: "instructions",
        summary: "instructions of one operation of the machine, where an emulated processor counted them",
        words: Words { noun: "instructions per operation", verb: "took", quantity: Quantity::Countable },
        unit: Unit::Count,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "a result of `pitot floor` in a guest on an emulated processor",
        in_slice: None,
        // Its clock has one instruction to a nanosecond.
        read: |r| r.instructions().and_then(|_| read::floor_ns(r, |primitive| primitive.wall_ns.median)),
    },
    Metric {
        name: "cpu-per-operation",
        title: "CPU",
        summary: "CPU time of one operation of the machine, all threads together",
        words: Words { noun: "CPU time per operation", verb: "used", quantity: Quantity::Amount },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "a result of `pitot floor`",
        in_slice: None,
        read: |r| read::floor_ns(r, |primitive| primitive.cpu_ns.median),
    },
    Metric {
        name: "files-time",
        title: "all files",
        summary: "time to create, write and read back all files",
        words: Words { noun: "time for all files", verb: "took", quantity: Quantity::Amount },
        unit: Unit::Seconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "a result of `pitot disk files`",
        in_slice: None,
        read: read::files_s,
    },
    Metric {
        name: "create-time",
        title: "create",
        summary: "time to create all files",
        words: Words { noun: "time to create files", verb: "took", quantity: Quantity::Amount },
        unit: Unit::Seconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "a result of `pitot disk files`",
        in_slice: None,
        read: |r| read::phase_s(r, "create"),
    },
    Metric {
        name: "write-time",
        title: "write",
        summary: "time to write all files",
        words: Words { noun: "time to write files", verb: "took", quantity: Quantity::Amount },
        unit: Unit::Seconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "a result of `pitot disk files`",
        in_slice: None,
        read: |r| read::phase_s(r, "write"),
    },
    Metric {
        name: "read-time",
        title: "read",
        summary: "time to read all files back",
        words: Words { noun: "time to read files", verb: "took", quantity: Quantity::Amount },
        unit: Unit::Seconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "a result of `pitot disk files`",
        in_slice: None,
        read: |r| read::phase_s(r, "read"),
    },
    Metric {
        name: "setup-time",
        title: "set-up",
        summary: "time until all connections of a storm are established",
        words: Words { noun: "set-up time", verb: "had", quantity: Quantity::Duration },
        unit: Unit::Seconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "a storm whose connections were all established",
        in_slice: None,
        read: read::setup_s,
    },
    Metric {
        name: "server-cpu",
        title: "CPU%",
        summary: "CPU use of the server; 100% is one CPU",
        words: Words { noun: "CPU", verb: "used", quantity: Quantity::Amount },
        unit: Unit::Percent,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "samples of the server's processes",
        in_slice: None,
        read: |r| read::per_second(r, |used| used.server_cpu_s * 100.0),
    },
    Metric {
        name: "database-cpu",
        title: "database CPU%",
        summary: "share of the CPU time of server and private database that the database used",
        words: Words {
            noun: "share of the database in the CPU time",
            verb: "had",
            quantity: Quantity::Level,
        },
        unit: Unit::Percent,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "the statistics of `pitot serve trade` with a private cluster",
        in_slice: None,
        read: read::database_cpu_percent,
    },
    Metric {
        name: "database-time",
        title: "database time%",
        summary: "share of the time of the actions in the server that their transactions took",
        words: Words {
            noun: "share of the database in the time of actions",
            verb: "had",
            quantity: Quantity::Level,
        },
        unit: Unit::Percent,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "the statistics of `pitot serve trade`",
        in_slice: None,
        read: read::database_time_percent,
    },
    Metric {
        name: "client-cpu",
        title: "client CPU%",
        summary: "CPU use of the load generator; 100% is one CPU",
        words: Words { noun: "client CPU", verb: "used", quantity: Quantity::Amount },
        unit: Unit::Percent,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "samples of the load generator's processes",
        in_slice: None,
        read: |r| read::per_second(r, |used| used.load_cpu_s * 100.0),
    },
    Metric {
        name: "server-memory",
        title: "memory%",
        summary: "mean resident memory of the server as a share of the machine's memory",
        words: Words { noun: "memory", verb: "used", quantity: Quantity::Amount },
        unit: Unit::Percent,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "samples of the server's processes",
        in_slice: None,
        read: read::resident_percent,
    },
    Metric {
        name: "memory",
        title: "memory",
        summary: "peak resident memory of the server, shared pages counted once",
        words: Words { noun: "memory", verb: "used", quantity: Quantity::Amount },
        unit: Unit::Bytes,
        zero: None,
        better: Better::Lower,
        shown_in: &[Section::Comparison],
        needs: "samples of the server's processes",
        in_slice: None,
        read: read::resident_bytes_max,
    },
    Metric {
        name: "memory-per-connection",
        title: "memory/conn",
        summary: "growth of the server's anonymous memory per open connection; below 64 KiB in all it is not measurable",
        words: Words { noun: "memory per connection", verb: "used", quantity: Quantity::Amount },
        unit: Unit::Bytes,
        zero: Some("not measurable"),
        better: Better::Lower,
        shown_in: &[Section::Table(Column::Value), Section::Tile, Section::Finding],
        needs: "a load generator's result and samples of the server's processes",
        in_slice: None,
        read: read::growth_bytes_per_connection,
    },
    Metric {
        name: "client-memory-per-connection",
        title: "client memory/conn",
        summary: "anonymous memory of the load generator per open connection, the generator's own included",
        words: Words { noun: "client memory per connection", verb: "used", quantity: Quantity::Amount },
        unit: Unit::Bytes,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "a load generator's result and samples of its processes",
        in_slice: None,
        read: read::client_bytes_per_connection,
    },
    Metric {
        name: "kernel-memory-per-connection",
        title: "kernel memory/conn",
        summary: "growth of the machine's kernel memory per open connection, both of whose ends are on it, and of its \
                  caches of names meanwhile; from 10,000 connections on",
        words: Words { noun: "kernel memory per connection", verb: "used", quantity: Quantity::Amount },
        unit: Unit::Bytes,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "10,000 connections and samples of the kernel's memory",
        in_slice: None,
        read: read::kernel_bytes_per_connection,
    },
    Metric {
        name: "opening-time",
        title: "opening",
        summary: "time to open all connections before the run",
        words: Words { noun: "opening time", verb: "had", quantity: Quantity::Duration },
        unit: Unit::Seconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "connections that are opened before the run",
        in_slice: None,
        read: |r| Some(r.load.as_ref()?.connections.opening_s).filter(|s| *s > 0.0),
    },
    Metric {
        name: "idle-gap-max",
        title: "longest idle gap",
        summary: "the longest that an idle connection was without a right reply (--idle-trickle)",
        words: Words { noun: "maximum idle gap", verb: "had", quantity: Quantity::Duration },
        unit: Unit::Seconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "idle connections that send requests",
        in_slice: None,
        read: |r| Some(r.load.as_ref()?.idle?.gap_max_s),
    },
    Metric {
        name: "context-switches-per-request",
        title: "switches/request",
        summary: "context switches of the server's processes per request, voluntary and involuntary",
        words: Words { noun: "context switches per request", verb: "made", quantity: Quantity::Countable },
        unit: Unit::Count,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "a load generator's result and samples of the server's processes",
        in_slice: None,
        read: |r| read::per_request(r, |used| used.server_switches as f64),
    },
    Metric {
        name: "error-rate",
        title: "errors%",
        summary: "errors as a share of the requests that were due or begun",
        words: Words { noun: "error rate", verb: "had", quantity: Quantity::Level },
        unit: Unit::Percent,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "a load generator's result",
        in_slice: None,
        read: read::error_percent,
    },
    Metric {
        name: "client-cpu-per-request",
        title: "client CPU/request",
        summary: "CPU time of the load generator per request",
        words: Words { noun: "client CPU time per request", verb: "used", quantity: Quantity::Amount },
        unit: Unit::Nanoseconds,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "a load generator's result and samples of its processes",
        in_slice: Some(|s| s.per_request(s.client_cpu_ns)),
        read: |r| read::per_request(r, |used| used.load_cpu_s * 1e9),
    },
    Metric {
        name: "acknowledged",
        title: "acknowledged",
        summary: "uploads or mails that the server acknowledged and that were looked for when it had ended",
        words: Words { noun: "acknowledged requests", verb: "acknowledged", quantity: Quantity::Countable },
        unit: Unit::Count,
        zero: None,
        better: Better::Higher,
        shown_in: &[Section::Table(Column::Value)],
        needs: "`keeps` in the plan",
        in_slice: None,
        read: |r| read::figure(r, kept::ACKNOWLEDGED),
    },
    Metric {
        name: "lost",
        title: "lost",
        summary: "uploads or mails that the server acknowledged and that are not there, or not whole, when it has ended",
        words: Words { noun: "lost requests", verb: "lost", quantity: Quantity::Countable },
        unit: Unit::Count,
        zero: None,
        better: Better::Lower,
        shown_in: &[Section::Table(Column::Value)],
        needs: "`keeps` in the plan",
        in_slice: None,
        read: |r| read::figure(r, kept::LOST),
    },
    Metric {
        name: "doubled",
        title: "doubled",
        summary: "uploads or mails that were acknowledged and that the server has more than once",
        words: Words { noun: "doubled requests", verb: "doubled", quantity: Quantity::Countable },
        unit: Unit::Count,
        zero: None,
        better: Better::Lower,
        shown_in: &[],
        needs: "`keeps` in the plan",
        in_slice: None,
        read: |r| read::figure(r, kept::DOUBLED),
    },
];

/// Metrics that were renamed: the old name and the new one. Plans and gates refuse the old one with the new one.
pub static RENAMED: &[(&str, &str)] = &[("switches-per-request", "context-switches-per-request")];

/// A time of a slice that had one.
fn positive(nanoseconds: u64) -> Option<f64> {
    (nanoseconds > 0).then_some(nanoseconds as f64)
}

/// The metric of that name.
pub fn find(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|m| m.name == name)
}

/// The metric that a run file names, which an older version may have written.
pub fn recorded(name: &str) -> Option<&'static Metric> {
    find(name).or_else(|| find(new_name(name)?))
}

/// The name of a metric today, if `name` is an old one.
pub fn new_name(name: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(old, _)| *old == name).map(|(_, new)| *new)
}

/// The metric of a name that code mentions, looked up by the compiler: `const CPU: &Metric = named("cpu-per-request")`
/// does not compile if there is no such metric.
///
/// # Panics
///
/// If there is none.
pub const fn named(name: &str) -> &'static Metric {
    let mut i = 0;
    while i < METRICS.len() {
        if same(METRICS[i].name.as_bytes(), name.as_bytes()) {
            return &METRICS[i];
        }
        i += 1;
    }
    panic!("there is no metric of that name")
}

/// Whether two names are equal; `==` on strings cannot be used in a constant.
const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_name_and_a_title_of_its_own_and_is_documented() {
        for (i, m) in METRICS.iter().enumerate() {
            assert!(
                METRICS[..i].iter().all(|n| n.name != m.name && n.title != m.title),
                "{} stands twice",
                m.name
            );
            for text in [m.title, m.summary, m.words.noun, m.words.verb, m.needs] {
                assert!(!text.is_empty() && !text.ends_with('.'), "{}: {text:?}", m.name);
            }
        }
    }

    #[test]
    fn a_metric_is_found_while_compiling() {
        const CPU: &Metric = named("cpu-per-request");
        assert_eq!(CPU.title, "CPU/request");
        assert!(find("speed").is_none());
    }

    #[test]
    fn a_renamed_metric_is_found_in_old_run_files_only() {
        for (old, new) in RENAMED {
            assert!(find(old).is_none() && find(new).is_some(), "{old}");
            assert_eq!(recorded(old).map(|m| m.name), Some(*new));
        }
    }
}
