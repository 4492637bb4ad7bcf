//! The result of a run, in the form that scripts read.

use std::collections::BTreeMap;
use std::time::SystemTime;

use pitot_meter::{Histogram, Nanos};
use serde::Serialize;
use serde_json::Value;

use crate::collect::Second;
use crate::recorder::STALL;
use crate::tally::{ConnectionCounts, ErrorRow, RequestCounts, Tally, ThreadUse, WarmupCounts, Window};
use crate::verdict::Verdict;

/// The result of a run. Its JSON form keeps the meaning of each field; fields may be added.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// `pitot-load/1`.
    pub schema: &'static str,
    /// Of this program.
    pub version: &'static str,
    /// The URL.
    pub target: String,
    /// The options as they took effect.
    pub options: Value,
    /// When the measured part began, RFC 3339.
    pub started_at: String,
    /// Length of the measured part.
    pub duration_s: f64,
    /// The measured part on the clock that all processes of the machine share.
    pub clock_ns: Window,
    /// Requests by their end.
    pub requests: RequestCounts,
    /// What came before.
    pub warmup: WarmupCounts,
    /// Replies completed in the measured part, per second of it.
    pub throughput_rps: f64,
    /// Requests due in the measured part of an open loop, per second of it.
    pub asked_rps: Option<f64>,
    /// Latencies by their kind.
    pub latency_ns: Latencies<Latency>,
    /// How evenly replies flowed; none if each came in one piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothness: Option<Smoothness>,
    /// Connections.
    pub connections: ConnectionCounts,
    /// Errors by phase and kind, the most frequent first.
    pub errors: Vec<ErrorRow>,
    /// Bytes of the application in the measured part.
    pub bytes: Bytes,
    /// What the protocol counted by itself in the whole run, such as hits and misses of a cache.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub protocol: BTreeMap<String, u64>,
    /// The measured part by the second.
    pub series: Vec<Second>,
    /// The generator's own resources and its verdict.
    pub client: Client,
    /// A storm of connections, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storm: Option<Storm>,
    /// A search for the highest rate, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchResult>,
    /// Conditions that were to be checked.
    pub gates: Vec<Gate>,
    /// Why the run ended before its time, if it did.
    pub ended_early: Option<String>,
    /// The latencies' histograms: base64 of the HdrHistogram V2 deflate encoding.
    pub histograms: BTreeMap<&'static str, String>,
    /// The same, for charts.
    #[serde(skip)]
    pub recorded: Latencies<Histogram>,
}

/// One value for each kind of latency.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Latencies<T> {
    /// From the intended start to the last byte.
    pub response: T,
    /// From the actual send to the last byte.
    pub service: T,
    /// From the intended start to the actual send.
    pub schedule_lag: T,
    /// Of opening connections.
    pub connect: T,
    /// From the actual send to the first byte.
    pub first_byte: T,
}

impl<T> Latencies<T> {
    /// All of them with their names, in the order of tables.
    pub fn named(&self) -> [(&'static str, &T); 5] {
        [
            ("response", &self.response),
            ("service", &self.service),
            ("schedule_lag", &self.schedule_lag),
            ("connect", &self.connect),
            ("first_byte", &self.first_byte),
        ]
    }
}

/// A distribution in figures, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the fields are percentiles named by themselves")]
pub struct Latency {
    /// How many samples are behind the figures.
    pub count: u64,
    pub min: u64,
    pub mean: u64,
    pub stdev: u64,
    pub p50: u64,
    pub p75: u64,
    pub p90: u64,
    pub p99: u64,
    pub p99_9: u64,
    pub p99_99: u64,
    pub max: u64,
}

/// How evenly replies flowed: the gaps between arrivals of the same reply, as the client receives them. The wait for
/// the first byte is not among them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Smoothness {
    /// The gaps.
    pub gap_ns: Latency,
    /// A gap longer than this is a stall.
    pub stall_ns_min: u64,
    /// The part of the time between the first and the last bytes of replies that stalls took, 0 to 1.
    pub stalled_share: f64,
}

impl Smoothness {
    pub(crate) fn of(tally: &Tally) -> Option<Smoothness> {
        (tally.gaps.count() > 0).then(|| Smoothness {
            gap_ns: Latency::of(&tally.gaps),
            stall_ns_min: STALL.0,
            stalled_share: tally.stalled_ns as f64 / tally.flow_ns.max(1) as f64,
        })
    }
}

/// The percentiles of tables: their names and fractions.
pub const PERCENTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];

impl Latency {
    pub(crate) fn of(histogram: &Histogram) -> Latency {
        let [p50, p75, p90, p99, p99_9, p99_99] = PERCENTILES.map(|(_, quantile)| histogram.at(quantile).0);
        Latency {
            count: histogram.count(),
            min: histogram.min().0,
            mean: histogram.mean().0,
            stdev: histogram.stdev().0,
            p50,
            p75,
            p90,
            p99,
            p99_9,
            p99_99,
            max: histogram.max().0,
        }
    }

    /// The figures of [`PERCENTILES`], in their order.
    pub fn percentiles(&self) -> [u64; 6] {
        [self.p50, self.p75, self.p90, self.p99, self.p99_9, self.p99_99]
    }
}

/// Bytes of the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bytes {
    /// From the server.
    pub received: u64,
    /// To the server.
    pub sent: u64,
}

/// The generator's own resources in the measured part.
#[derive(Clone, Debug, Serialize)]
pub struct Client {
    /// CPU time in user mode, of all its threads.
    pub cpu_user_s: f64,
    /// CPU time in the kernel, of all its threads.
    pub cpu_system_s: f64,
    /// Share of its busiest thread's time that was spent on a CPU, 0 to 1.
    pub cpu_utilisation: f64,
    /// The most that one of its threads was ready to run and did not; none where the kernel does not count it.
    pub run_queue_s: Option<f64>,
    /// Thread by thread.
    pub threads: Vec<ThreadUse>,
    /// The judgement of the run on itself.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub reason: String,
}

/// A storm of connections.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Storm {
    /// Connections asked for.
    pub requested: u64,
    /// Connections established at the end.
    pub established: u64,
    /// Time from the start to the last of them.
    pub established_s: f64,
}

/// A search for the highest rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchResult {
    /// What a rate had to meet.
    pub conditions: String,
    /// The highest rate that did, if any.
    pub found_rps: Option<f64>,
    /// All runs in the order in which they were made.
    pub steps: Vec<Step>,
}

/// One run of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The rate asked for.
    pub rate_rps: f64,
    /// Replies per second.
    pub throughput_rps: f64,
    /// Response times.
    pub response_ns: Latency,
    /// Errors of all phases.
    pub errors: u64,
    /// Arrivals missed.
    pub missed: u64,
    /// The run's judgement on itself.
    pub verdict: Verdict,
    /// It met the conditions.
    pub passed: bool,
}

/// A condition that was to be checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gate {
    /// The condition for failure.
    pub fail_if: String,
    /// It holds.
    pub failed: bool,
    /// The figure it speaks of.
    pub figure: String,
}

impl Report {
    /// Errors of all phases together.
    pub fn error_count(&self) -> u64 {
        self.errors.iter().map(|e| e.count).sum()
    }

    /// True if the run did what it was asked for and every gate is passed: exit code 0.
    pub fn is_success(&self) -> bool {
        let found = self.search.as_ref().is_none_or(|search| search.found_rps.is_some());
        let aborted = self.ended_early.as_deref().is_some_and(|why| why != INTERRUPTED);
        let stormed = self.storm.is_none_or(|storm| storm.established == storm.requested);
        self.client.verdict != Verdict::Failed
            && found
            && stormed
            && !aborted
            && self.gates.iter().all(|g| !g.failed)
    }
}

/// What [`Report::ended_early`] says when the user ended the run.
pub const INTERRUPTED: &str = "interrupted by the user";

/// A moment in RFC 3339, in UTC, to the millisecond.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
    let z = days as i64 + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        second / 3600,
        second / 60 % 60,
        second % 60,
        since.subsec_millis()
    )
}

/// The encoded histograms by their names.
pub(crate) fn encode(recorded: &Latencies<Histogram>) -> BTreeMap<&'static str, String> {
    recorded.named().into_iter().map(|(name, histogram)| (name, histogram.encode())).collect()
}

/// The figures of all histograms.
pub(crate) fn figures(recorded: &Latencies<Histogram>) -> Latencies<Latency> {
    Latencies {
        response: Latency::of(&recorded.response),
        service: Latency::of(&recorded.service),
        schedule_lag: Latency::of(&recorded.schedule_lag),
        connect: Latency::of(&recorded.connect),
        first_byte: Latency::of(&recorded.first_byte),
    }
}

/// The moment of the wall clock that a moment of the monotonic clock was.
pub(crate) fn wall_time(at: Nanos) -> SystemTime {
    SystemTime::now() - std::time::Duration::from(pitot_meter::now().since(at))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments_are_written_in_rfc_3339() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000Z"),
            (4_102_444_800, "2100-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn a_stall_counts_for_its_share_of_the_time_in_which_replies_flowed() {
        let mut tally = Tally::default();
        assert_eq!(Smoothness::of(&tally), None);
        tally.gaps.record(Nanos::from_millis(150));
        (tally.flow_ns, tally.stalled_ns) = (600, 150);
        let smoothness = Smoothness::of(&tally).unwrap();
        assert_eq!((smoothness.gap_ns.count, smoothness.stalled_share), (1, 0.25));
    }

    #[test]
    fn the_figures_of_a_histogram_rise() {
        let mut histogram = Histogram::new();
        (1..=10_000).for_each(|us| histogram.record(Nanos::from_micros(us)));
        let latency = Latency::of(&histogram);
        assert!(latency.percentiles().is_sorted());
        assert!(latency.min <= latency.p50 && latency.p99_99 <= latency.max);
        assert_eq!(latency.count, 10_000);
    }
}
