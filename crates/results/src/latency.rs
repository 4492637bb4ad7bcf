//! Distributions of latencies in figures.

use pitot_meter::Histogram;
use serde::{Deserialize, Serialize};

use crate::lenient::whole;

/// A distribution in figures, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the fields are percentiles named by themselves")]
pub struct Latency {
    /// How many samples are behind the figures.
    pub count: u64,
    #[serde(deserialize_with = "whole")]
    pub min: u64,
    #[serde(deserialize_with = "whole")]
    pub mean: u64,
    #[serde(deserialize_with = "whole")]
    pub stdev: u64,
    #[serde(deserialize_with = "whole")]
    pub p50: u64,
    #[serde(deserialize_with = "whole")]
    pub p75: u64,
    #[serde(deserialize_with = "whole")]
    pub p90: u64,
    #[serde(deserialize_with = "whole")]
    pub p95: u64,
    #[serde(deserialize_with = "whole")]
    pub p99: u64,
    #[serde(deserialize_with = "whole")]
    pub p99_9: u64,
    #[serde(deserialize_with = "whole")]
    pub p99_99: u64,
    #[serde(deserialize_with = "whole")]
    pub max: u64,
}

/// The percentiles of tables: their names and fractions.
pub const PERCENTILES: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

impl Latency {
    /// The figures of a histogram.
    pub fn of(histogram: &Histogram) -> Latency {
        let [p50, p75, p90, p95, p99, p99_9, p99_99] =
            PERCENTILES.map(|(_, quantile)| histogram.at(quantile).0);
        Latency {
            count: histogram.count(),
            min: histogram.min().0,
            mean: histogram.mean().0,
            stdev: histogram.stdev().0,
            p50,
            p75,
            p90,
            p95,
            p99,
            p99_9,
            p99_99,
            max: histogram.max().0,
        }
    }

    /// The figures of [`PERCENTILES`], in their order.
    pub fn percentiles(&self) -> [u64; 7] {
        [self.p50, self.p75, self.p90, self.p95, self.p99, self.p99_9, self.p99_99]
    }
}

/// One value for each kind of latency.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, bound(deserialize = "T: Deserialize<'de> + Default"))]
pub struct Latencies<T> {
    /// From the intended start to the last byte.
    pub response: T,
    /// From the actual send to the last byte.
    pub service: T,
    /// From the intended start to the actual send.
    pub schedule_lag: T,
    /// From the start of opening a connection until it is established.
    pub connect: T,
    /// From an established connection to the end of a full TLS handshake.
    pub handshake: T,
    /// From an established connection to the end of a TLS handshake that resumed a session.
    pub resumption: T,
    /// From the actual send to the first byte.
    pub first_byte: T,
}

impl<T> Latencies<T> {
    /// All of them with their names, in the order of tables.
    pub fn named(&self) -> [(&'static str, &T); 7] {
        [
            ("response", &self.response),
            ("service", &self.service),
            ("schedule_lag", &self.schedule_lag),
            ("connect", &self.connect),
            ("handshake", &self.handshake),
            ("resumption", &self.resumption),
            ("first_byte", &self.first_byte),
        ]
    }
}

impl Latencies<Histogram> {
    /// The figures of each histogram.
    pub fn figures(&self) -> Latencies<Latency> {
        Latencies {
            response: Latency::of(&self.response),
            service: Latency::of(&self.service),
            schedule_lag: Latency::of(&self.schedule_lag),
            connect: Latency::of(&self.connect),
            handshake: Latency::of(&self.handshake),
            resumption: Latency::of(&self.resumption),
            first_byte: Latency::of(&self.first_byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use pitot_meter::Nanos;

    use super::*;

    #[test]
    fn the_figures_of_a_histogram_rise() {
        let mut histogram = Histogram::new();
        (1..=10_000).for_each(|us| histogram.record(Nanos::from_micros(us)));
        let latency = Latency::of(&histogram);
        assert!(latency.percentiles().is_sorted());
        assert!(latency.min <= latency.p50 && latency.p99_99 <= latency.max);
        assert_eq!(latency.count, 10_000);
    }

    #[test]
    fn fractions_of_other_programs_are_rounded() {
        let latency: Latency = serde_json::from_str(r#"{"count": 3, "p50": 1500.6, "max": 9}"#).unwrap();
        assert_eq!((latency.p50, latency.max, latency.min), (1501, 9, 0));
    }
}
