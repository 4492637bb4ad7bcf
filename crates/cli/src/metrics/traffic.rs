//! What a load has done: alike for `pitot load` and for the loads of a soak.

use pitot_meter::Buckets;
use pitot_scrape::{Family, Kind, Label, Unit, label};

/// Classes of statuses that have counts of their own.
const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// The counts of a load since it began, and its last second.
#[derive(Clone, Debug, Default)]
pub(super) struct Traffic {
    /// What tells it from other loads.
    pub(super) labels: Vec<Label>,
    pub(super) completed: u64,
    /// Of those, with a status from 200 to 299, 300 to 399, 400 to 499 and 500 to 599.
    pub(super) by_status: [u64; 4],
    pub(super) missed: u64,
    pub(super) errors: u64,
    /// The errors by phase and kind.
    pub(super) kinds: Vec<(String, String, u64)>,
    pub(super) received: u64,
    pub(super) sent: u64,
    /// Requests that the server acknowledged and lost, where that is looked for.
    pub(super) lost: Option<u64>,
    pub(super) response: Buckets,
    /// Connections open at the end of the last second.
    pub(super) open: u64,
    /// Replies in the last second.
    pub(super) rate: u64,
    /// Percentiles of the response times of the last second, nanoseconds.
    pub(super) percentiles: Vec<(&'static str, u64)>,
}

/// The families of all loads.
pub(super) fn families(loads: &[Traffic]) -> Vec<Family> {
    let mut requests = Family::counter("pitot_requests", "Requests whose reply is complete, by its status.");
    let mut errors = Family::counter("pitot_errors", "Errors by phase and kind, as in the result.");
    let mut failures = Family::counter("pitot_failures", "Errors of all phases and kinds, from 0 on.");
    let mut missed = Family::counter("pitot_requests_missed", "Requests that were due and not sent.");
    let mut lost = Family::counter("pitot_requests_lost", "Requests that the server acknowledged and lost.");
    let mut received = Family::counter("pitot_received", "Bytes from the server.").in_unit(Unit::Bytes);
    let mut sent = Family::counter("pitot_sent", "Bytes to the server.").in_unit(Unit::Bytes);
    let mut open = Family::gauge("pitot_connections_open", "Connections open at the end of the last second.");
    let mut rate = Family::gauge("pitot_requests_per_second", "Requests completed in the last second.");
    let mut percentiles = Family::gauge(
        "pitot_response_last",
        "Response times of the last second by percentile, from the intended start, as exact as in the result.",
    )
    .in_unit(Unit::Seconds);
    let mut response = Family::new(
        Kind::Histogram,
        "pitot_response",
        "Response times from the intended start, timeouts among them.",
    )
    .in_unit(Unit::Seconds);
    for load in loads {
        let with = |more: &[(&'static str, &str)]| -> Vec<Label> {
            let more = more.iter().map(|(name, value)| label(*name, *value));
            load.labels.iter().cloned().chain(more).collect()
        };
        for (class, count) in CLASSES.iter().zip(load.by_status) {
            requests.put(with(&[("status", class)]), count);
        }
        let other = load.completed.saturating_sub(load.by_status.iter().sum());
        requests.put(with(&[("status", "other")]), other);
        for (phase, kind, count) in &load.kinds {
            errors.put(with(&[("phase", phase), ("kind", kind)]), *count);
        }
        failures.put(with(&[]), load.errors);
        missed.put(with(&[]), load.missed);
        if let Some(count) = load.lost {
            lost.put(with(&[]), count);
        }
        received.put(with(&[]), load.received);
        sent.put(with(&[]), load.sent);
        open.put(with(&[]), load.open);
        rate.put(with(&[]), load.rate);
        for (percentile, ns) in &load.percentiles {
            percentiles.put(with(&[("percentile", percentile)]), *ns as f64 / 1e9);
        }
        response.put(with(&[]), load.response);
    }
    vec![requests, errors, failures, missed, lost, received, sent, open, rate, percentiles, response]
}
