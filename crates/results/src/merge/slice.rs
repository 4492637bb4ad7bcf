//! Slices of `pitot load --hold`.

use std::collections::BTreeMap;

use pitot_meter::Histogram;

use super::decoded::decoded;
use crate::hold::{Slice, SliceLatency};

/// Merges what several load generators did of the same slice. Their `clock_ns` are to be of one clock.
///
/// The slice begins with the first of them, and requests are begun until the last has stopped; it is as late as the latest.
///
/// # Errors
/// A sentence: there is no slice, or a histogram is damaged.
pub fn slices(parts: Vec<Slice>) -> Result<Slice, String> {
    let mut parts = parts.into_iter();
    let mut all = parts.next().ok_or("there is no slice to merge")?;
    let mut response = decoded(&all.histogram)?;
    let mut handshakes: BTreeMap<String, Histogram> = BTreeMap::new();
    shake_hands(&mut handshakes, &all)?;
    // When the last request was begun, and when the last was answered.
    let stopped = |part: &Slice| part.clock_ns.start + (part.duration_us * 1e3) as u64;
    let (mut last_begun, mut is_alone) = (stopped(&all), true);
    for part in parts {
        is_alone = false;
        response.merge(&decoded(&part.histogram)?);
        shake_hands(&mut handshakes, &part)?;
        last_begun = last_begun.max(stopped(&part));
        all.began_unix_ns = all.began_unix_ns.min(part.began_unix_ns);
        all.clock_ns.start = all.clock_ns.start.min(part.clock_ns.start);
        all.clock_ns.end = all.clock_ns.end.max(part.clock_ns.end);
        all.late_us = all.late_us.max(part.late_us);
        all.requests += part.requests;
        all.attempted += part.attempted;
        all.completed += part.completed;
        all.failed += part.failed;
        all.missed += part.missed;
        all.started_late += part.started_late;
        all.connects += part.connects;
        all.reconnects += part.reconnects;
        all.bytes_received += part.bytes_received;
        all.bytes_sent += part.bytes_sent;
        all.bytes_content = all.bytes_content.zip(part.bytes_content).map(|(a, b)| a + b);
        all.client_user_us += part.client_user_us;
        all.client_system_us += part.client_system_us;
        for (kind, count) in part.errors {
            *all.errors.entry(kind).or_default() += count;
        }
    }
    if !is_alone {
        let micros = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e3;
        all.duration_us = micros(all.clock_ns.start, last_begun);
        all.drain_us = micros(last_begun, all.clock_ns.end);
    }
    all.latency_us = SliceLatency::of(&response);
    all.histogram = response.encode();
    all.handshakes = handshakes.into_iter().map(|(name, times)| (name, times.encode())).collect();
    Ok(all)
}

fn shake_hands(all: &mut BTreeMap<String, Histogram>, part: &Slice) -> Result<(), String> {
    for (name, text) in &part.handshakes {
        let times = decoded(text)?;
        all.entry(name.clone()).or_default().merge(&times);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use pitot_meter::Nanos;

    use super::*;
    use crate::load::Window;

    fn part(start: u64, us: u64) -> Slice {
        let mut response = Histogram::new();
        response.record(Nanos::from_micros(us));
        Slice {
            group: "a".into(),
            clock_ns: Window { start, end: start + 60_000_000 },
            late_us: start as f64,
            duration_us: 50_000.0,
            drain_us: 10_000.0,
            requests: 1,
            bytes_content: Some(us),
            errors: [("timeout reply".to_owned(), 2)].into(),
            histogram: response.encode(),
            ..Slice::default()
        }
    }

    #[test]
    fn a_slice_of_two_hosts_is_one() {
        let all = slices(vec![part(1_000, 10), part(2_001_000, 20)]).unwrap();
        assert_eq!((all.requests, all.bytes_content, all.errors["timeout reply"]), (2, Some(30), 4));
        assert_eq!((all.late_us, all.duration_us, all.drain_us), (2_001_000.0, 52_000.0, 10_000.0));
        assert!(all.latency_us.max > 19.9 && all.latency_us.p50 < 10.1, "{:?}", all.latency_us);
        assert!(slices(Vec::new()).is_err());
        let damaged = Slice { histogram: "?".into(), ..part(1, 1) };
        assert!(slices(vec![damaged]).is_err());
    }
}
