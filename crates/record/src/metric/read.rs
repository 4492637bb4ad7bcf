//! Reads values from a repetition. Every function returns none if the repetition did not record what the value needs.

use pitot_results::floor::FloorPrimitive;
use pitot_results::load::{Executions, LoadResult, OwnCpu};
use pitot_results::{Latency, Printed};

use crate::run::{Repetition, Resources};

/// Growth of the server's memory below this many bytes is not due to connections: the first request makes a server touch
/// as much shared memory.
const GROWTH_BYTES_MIN: u64 = 64 * 1024;

/// The fewest connections whose kernel memory can be measured.
const KERNEL_CONNECTIONS_MIN: u64 = 10_000;

/// A sum over the measurement, divided by the requests that were completed in it.
pub(super) fn per_request(r: &Repetition, sum: impl Fn(&Resources) -> f64) -> Option<f64> {
    let used = r.resources.as_ref()?;
    let requests = r.load.as_ref()?.throughput_rps * used.window_s;
    (requests >= 1.0).then(|| sum(used) / requests)
}

/// A sum over executions, divided by their number.
pub(super) fn per_execution(r: &Repetition, sum: impl Fn(&Executions) -> f64) -> Option<f64> {
    let load = r.load.as_ref()?;
    let used = load.executions.as_ref()?;
    (load.requests.ok > 0).then(|| sum(used) / load.requests.ok as f64)
}

/// A figure of the verdict.
pub(super) fn figure(r: &Repetition, name: &str) -> Option<f64> {
    r.verdict.figures.iter().find(|(figure, _)| figure == name).map(|(_, value)| *value)
}

/// Instructions per request, if they were counted.
pub(super) fn instructions_per_request(
    r: &Repetition,
    of: impl Fn(&Resources) -> Option<f64>,
) -> Option<f64> {
    r.instructions()?;
    let instructions = of(r.resources.as_ref()?)?;
    per_request(r, |_| instructions)
}

/// Nanoseconds of CPU time per request, as counted by the program (`own`) if it did, else by the monitor (`seen`, in
/// seconds).
pub(super) fn cpu_ns_per_request(
    r: &Repetition,
    own: impl Fn(&OwnCpu) -> f64,
    seen: impl Fn(&Resources) -> f64,
) -> Option<f64> {
    // `pitot floor` is not a server, and has its own metric.
    let load = r.load.as_ref().filter(|load| !matches!(load.printed, Printed::Floor(_)))?;
    match &load.own_cpu_s {
        Some(counted) => (load.requests.ok > 0).then(|| own(counted) * 1e9 / load.requests.ok as f64),
        None => per_request(r, |used| seen(used) * 1e9),
    }
}

/// Nanoseconds of the server's CPU time per million bytes that the client received.
pub(super) fn cpu_ns_per_megabyte(r: &Repetition) -> Option<f64> {
    let used = r.resources.as_ref().filter(|u| u.window_s > 0.0)?;
    Some(used.server_cpu_s / used.window_s / received_per_second(r)? * 1e15)
}

/// Bytes per second that the client received, or that were read from the disk.
pub(super) fn received_per_second(r: &Repetition) -> Option<f64> {
    let load = r.load.as_ref().filter(|l| l.bytes.received > 0 && l.duration_s > 0.0)?;
    Some(load.bytes.received as f64 / load.duration_s)
}

/// Seconds that `pitot disk files` took in all.
pub(super) fn files_s(r: &Repetition) -> Option<f64> {
    r.load.as_ref().filter(|l| matches!(l.printed, Printed::DiskFiles(_))).map(|l| l.duration_s)
}

/// The share of a private database in the CPU time of a brokerage, percent.
pub(super) fn database_cpu_percent(r: &Repetition) -> Option<f64> {
    let [user, system, database] =
        ["cpu_user_s", "cpu_system_s", "database_cpu_s"].map(|name| trade_figure(r, name));
    let (application, database) = (user? + system?, database?);
    (application + database > 0.0).then(|| database / (application + database) * 100.0)
}

/// The share of transactions in the time of a brokerage's actions, percent.
pub(super) fn database_time_percent(r: &Repetition) -> Option<f64> {
    let (time, database) = (trade_figure(r, "time_s")?, trade_figure(r, "database_s")?);
    (time > 0.0).then(|| database / time * 100.0)
}

/// A figure that a brokerage printed at its end.
fn trade_figure(r: &Repetition, name: &str) -> Option<f64> {
    let stats = r.server_stats.as_ref().filter(|stats| stats["schema"] == "pitot-trade/1")?;
    stats[name].as_f64()
}

/// Nanoseconds of an operation of `pitot floor`.
pub(super) fn floor_ns(r: &Repetition, of: impl Fn(&FloorPrimitive) -> f64) -> Option<f64> {
    let Printed::Floor(floor) = &r.load.as_ref()?.printed else { return None };
    floor.primitives.first().map(of)
}

/// Seconds that a phase of `pitot disk files` took, all sizes together.
pub(super) fn phase_s(r: &Repetition, name: &str) -> Option<f64> {
    let Printed::DiskFiles(files) = &r.load.as_ref()?.printed else { return None };
    let phases = files.sizes.iter().flat_map(|size| &size.phases);
    let times: Vec<f64> = phases.filter(|phase| phase.phase == name).map(|phase| phase.elapsed_s).collect();
    (!times.is_empty()).then(|| times.iter().sum())
}

/// Seconds until all connections of a storm were established.
pub(super) fn setup_s(r: &Repetition) -> Option<f64> {
    let storm = r.load.as_ref()?.storm?;
    (storm.requested > 0 && storm.established == storm.requested).then_some(storm.established_s)
}

/// A sum over the measurement, per second of it.
pub(super) fn per_second(r: &Repetition, sum: impl Fn(&Resources) -> f64) -> Option<f64> {
    let used = r.resources.as_ref()?;
    (used.window_s > 0.0).then(|| sum(used) / used.window_s)
}

/// A percentile of the response times, in nanoseconds.
pub(super) fn response(r: &Repetition, of: impl Fn(&Latency) -> u64) -> Option<f64> {
    times(r, |load| &load.latency_ns.response, of)
}

/// A percentile of some times, in nanoseconds; none if there was not one of them.
pub(super) fn times(
    r: &Repetition,
    which: impl Fn(&LoadResult) -> &Latency,
    of: impl Fn(&Latency) -> u64,
) -> Option<f64> {
    let latency = which(r.load.as_ref()?);
    (latency.count > 0).then(|| of(latency) as f64)
}

/// A percentile of the times of pages, in nanoseconds.
pub(super) fn page(r: &Repetition, of: impl Fn(&Latency) -> u64) -> Option<f64> {
    let pages = r.load.as_ref()?.pages?;
    (pages.time_ns.count > 0).then(|| of(&pages.time_ns) as f64)
}

/// The server's mean resident memory, in percent of the machine's.
pub(super) fn resident_percent(r: &Repetition) -> Option<f64> {
    let used = r.resources.as_ref()?;
    let total = used.memory_total_bytes as f64;
    (total > 0.0).then_some(used.server_rss_bytes_mean / total * 100.0)
}

/// The server's peak resident memory in bytes, with pages shared by its processes counted once if the kernel reports that.
pub(super) fn resident_bytes_max(r: &Repetition) -> Option<f64> {
    let used = r.resources.as_ref()?;
    let bytes =
        if used.server_pss_bytes_max > 0 { used.server_pss_bytes_max } else { used.server_rss_bytes_max };
    (bytes > 0).then_some(bytes as f64)
}

/// Growth of the server's anonymous memory per open connection, bytes; 0 if it is too small to be measured.
pub(super) fn growth_bytes_per_connection(r: &Repetition) -> Option<f64> {
    let used = r.resources.as_ref().filter(|u| u.server_private_bytes_max > 0)?;
    let open = r.load.as_ref()?.connections.peak_open;
    let grown = used.server_private_bytes_max.saturating_sub(used.server_private_bytes_idle);
    let seen = if grown < GROWTH_BYTES_MIN { 0.0 } else { grown as f64 };
    (open > 0).then(|| seen / open as f64)
}

/// Bytes of the load generator's anonymous memory per open connection.
pub(super) fn client_bytes_per_connection(r: &Repetition) -> Option<f64> {
    let used = r.resources.as_ref().filter(|u| u.load_private_bytes_max > 0)?;
    let open = r.load.as_ref()?.connections.peak_open;
    (open > 0).then(|| used.load_private_bytes_max as f64 / open as f64)
}

/// Growth of the kernel's memory per open connection, bytes. Other activity of the kernel is a megabyte or more.
pub(super) fn kernel_bytes_per_connection(r: &Repetition) -> Option<f64> {
    let used = r.resources.as_ref().filter(|u| u.kernel_bytes_idle > 0 && u.kernel_bytes_max > 0)?;
    let open = r.load.as_ref()?.connections.peak_open;
    let grown = used.kernel_bytes_max.saturating_sub(used.kernel_bytes_idle);
    (open >= KERNEL_CONNECTIONS_MIN).then(|| grown as f64 / open as f64)
}

/// Errors in percent of the requests that were due or begun.
pub(super) fn error_percent(r: &Repetition) -> Option<f64> {
    r.load.as_ref()?.error_share().map(|share| share * 100.0)
}

/// The maximum in samples of the server; none if it could not be read.
pub(super) fn most(r: &Repetition, of: fn(&Resources) -> u64) -> Option<f64> {
    r.resources.as_ref().map(of).filter(|most| *most > 0).map(|most| most as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repetition(private_idle: u64, private_max: u64, open: u64) -> Repetition {
        let mut load = LoadResult::default();
        load.connections.peak_open = open;
        Repetition {
            load: Some(load),
            resources: Some(Resources {
                server_private_bytes_idle: private_idle,
                server_private_bytes_max: private_max,
                ..Resources::default()
            }),
            ..Repetition::default()
        }
    }

    #[test]
    fn memory_per_connection_is_growth_that_is_more_than_a_first_touch() {
        let read = growth_bytes_per_connection;
        assert_eq!(read(&repetition(1_000_000, 1_640_000, 5_000)), Some(128.0));
        assert_eq!(read(&repetition(1_000_000, 1_020_000, 64)), Some(0.0), "20 KB may be buffers");
        assert_eq!(read(&repetition(1_000_000, 900_000, 64)), Some(0.0));
        assert_eq!(read(&repetition(0, 0, 64)), None, "it was not read");
        assert_eq!(read(&repetition(1, 1_000_000, 0)), None);
    }

    #[test]
    fn an_operation_has_instructions_where_they_were_counted_and_a_time_elsewhere() {
        let floor = FloorPrimitive {
            wall_ns: pitot_results::floor::FloorFigure { median: 326.0, ..Default::default() },
            ..FloorPrimitive::default()
        };
        let mut r = repetition(1, 1, 1);
        r.load.as_mut().unwrap().printed = Printed::Floor(Box::new(pitot_results::floor::FloorResult {
            primitives: vec![floor],
            ..Default::default()
        }));
        let of = |r: &Repetition| {
            ["time-per-operation", "instructions-per-operation"]
                .map(|name| crate::metric::find(name).unwrap().of(r))
        };
        assert_eq!(of(&r), [Some(326.0), None]);
        r.count_instructions();
        assert_eq!(of(&r), [None, Some(326.0)]);
    }

    #[test]
    fn full_and_resumed_handshakes_are_metrics_of_their_own_where_there_were_any() {
        let mut r = repetition(1, 1, 1);
        let read = |r: &Repetition, name: &str| crate::metric::find(name).unwrap().of(r);
        assert_eq!(read(&r, "handshake-p99"), None);
        let load = r.load.as_mut().unwrap();
        load.latency_ns.handshake = Latency { count: 2, p50: 7, p99: 9, ..Latency::default() };
        let pages = load.pages.insert(pitot_results::load::Pages::default());
        pages.time_ns = Latency { count: 1, p99: 11, ..Latency::default() };
        assert_eq!((read(&r, "handshake-p50"), read(&r, "handshake-p99")), (Some(7.0), Some(9.0)));
        assert_eq!((read(&r, "resumption-p99"), read(&r, "page-p99")), (None, Some(11.0)));
    }

    #[test]
    fn the_time_to_the_first_byte_is_known_where_a_first_byte_was_seen() {
        let mut r = repetition(1, 1, 1);
        let read = |r: &Repetition, name: &str| crate::metric::find(name).unwrap().of(r);
        assert_eq!(read(&r, "first-byte-p99"), None);
        r.load.as_mut().unwrap().latency_ns.first_byte =
            Latency { count: 3, p50: 5, p99: 8, ..Latency::default() };
        assert_eq!((read(&r, "first-byte-p50"), read(&r, "first-byte-p99")), (Some(5.0), Some(8.0)));
    }

    #[test]
    fn the_share_of_a_database_is_read_from_what_a_brokerage_printed() {
        let stats = r#"{"schema": "pitot-trade/1", "cpu_user_s": 2.0, "cpu_system_s": 1.0, "database_cpu_s": 1.0,
                        "time_s": 10.0, "database_s": 8.0}"#;
        let printed = |text: &str| Repetition {
            server_stats: Some(serde_json::from_str(text).unwrap()),
            ..Repetition::default()
        };
        let own = printed(stats);
        assert_eq!((database_cpu_percent(&own), database_time_percent(&own)), (Some(25.0), Some(80.0)));
        let sqlite = printed(&stats.replace("\"database_cpu_s\": 1.0", "\"database_cpu_s\": null"));
        assert_eq!((database_cpu_percent(&sqlite), database_time_percent(&sqlite)), (None, Some(80.0)));
        assert_eq!(database_time_percent(&printed(&stats.replace("trade/1", "serve/1"))), None);
    }
}
