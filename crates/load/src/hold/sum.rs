//! From what the threads of a group recorded to the answer.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use pitot_meter::{Histogram, Nanos, now};
use pitot_results::hold::{Slice, SliceLatency};
use pitot_results::load::{ErrorRow, Window};

use super::lane::LaneSlice;
use pitot_drive::handshakes::Handshakes;

/// The slice of a group from those of its lanes, at least one.
pub(super) fn slice(group: &str, read_at: Nanos, lanes: &[Box<LaneSlice>]) -> Slice {
    let first = lanes.iter().map(|lane| lane.times.first).min().unwrap_or_default();
    let stopped = lanes.iter().map(|lane| lane.times.stopped).max().unwrap_or_default();
    let drained = lanes.iter().map(|lane| lane.times.drained).max().unwrap_or_default();
    let mut slice = Slice {
        group: group.to_owned(),
        began_unix_ns: unix_ns(first),
        clock_ns: Window { start: first.0, end: drained.0 },
        late_us: micros(first.since(read_at)),
        duration_us: micros(stopped.since(first)),
        drain_us: micros(drained.since(stopped)),
        ..Slice::default()
    };
    for lane in lanes {
        let (record, interval) = (&lane.record, &lane.record.interval);
        slice.requests += record.requests.ok;
        slice.attempted += record.requests.attempted;
        slice.completed += record.requests.completed;
        slice.failed += record.requests.failed;
        slice.missed += record.requests.missed;
        slice.started_late += record.requests.started_late;
        slice.connects += record.connects;
        slice.reconnects += record.reconnects;
        slice.bytes_received += interval.received;
        slice.bytes_sent += interval.sent;
        slice.bytes_content = Some(slice.bytes_content.unwrap_or(0) + record.content);
        slice.client_user_us += micros(record.cpu.user.into());
        slice.client_system_us += micros(record.cpu.system.into());
        add_errors(&mut slice.errors, &record.errors);
    }
    slice.handshakes = handshakes(lanes.iter().filter_map(|lane| lane.record.tls.as_deref()));
    match lanes {
        [only] => set_latency(&mut slice, &only.record.interval.response),
        lanes => {
            let mut sum = Histogram::new();
            lanes.iter().for_each(|lane| sum.merge(&lane.record.interval.response));
            set_latency(&mut slice, &sum);
        }
    }
    slice
}

/// The histograms of handshakes by the names of `latency_ns`, those that have a sample.
fn handshakes<'a>(of: impl Iterator<Item = &'a Handshakes>) -> BTreeMap<String, String> {
    let mut sum = Handshakes::default();
    of.for_each(|handshakes| sum.merge(handshakes));
    [("handshake", sum.full()), ("resumption", sum.resumed())]
        .into_iter()
        .filter_map(|(name, times)| Some((name.to_owned(), times?.encode())))
        .collect()
}

fn set_latency(slice: &mut Slice, response: &Histogram) {
    slice.latency_us = SliceLatency::of(response);
    slice.histogram = response.encode();
}

fn add_errors(errors: &mut BTreeMap<String, u64>, rows: &[ErrorRow]) {
    for row in rows {
        *errors.entry(format!("{} {}", row.phase, row.kind)).or_default() += row.count;
    }
}

fn micros(time: Nanos) -> f64 {
    time.0 as f64 / 1e3
}

/// Unix time of a moment of the monotonic clock.
fn unix_ns(at: Nanos) -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanos::from(since).since(now().since(at)).0
}
