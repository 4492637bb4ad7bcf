//! The names and units of Pitot's metrics in Prometheus, which has base units at the end of names.

use pitot_record::Unit;
use pitot_record::metric::{Metric, find};
use pitot_scrape::{Family, Kind, Unit as BaseUnit};

/// A metric under its name in Prometheus.
pub(super) struct Named {
    /// Without samples.
    pub(super) family: Family,
    /// What a value is divided by to be in the base unit.
    divisor: f64,
}

impl Named {
    /// `memory-rss` in bytes becomes `pitot_server_memory_rss_bytes`, `latency-p99` in nanoseconds `pitot_cell_latency_p99_seconds`.
    pub(super) fn of(prefix: &str, metric: &Metric) -> Named {
        // `server-cpu` of a server is its `cpu`, and `server-memory` remains apart from `memory`.
        let short = metric.name.strip_prefix("server-");
        let short = short.filter(|short| prefix.ends_with("server") && find(short).is_none());
        let own = short.unwrap_or(metric.name).replace(['-', '.'], "_");
        let (suffix, unit, divisor) = match metric.unit {
            Unit::Nanoseconds => ("", Some(BaseUnit::Seconds), 1e9),
            Unit::Seconds => ("", Some(BaseUnit::Seconds), 1.0),
            Unit::Bytes => ("", Some(BaseUnit::Bytes), 1.0),
            Unit::Percent => ("", Some(BaseUnit::Ratio), 100.0),
            Unit::PerSecond => ("_per_second", None, 1.0),
            Unit::BytesPerSecond => ("_bytes_per_second", None, 1.0),
            Unit::Count => ("", None, 1.0),
        };
        let family = Family::new(Kind::Gauge, format!("{prefix}_{own}{suffix}"), sentence(metric.summary));
        Named { family: Family { unit, ..family }, divisor }
    }

    /// Of the metric of that name, if there is one.
    pub(super) fn find(prefix: &str, name: &str) -> Option<Named> {
        find(name).map(|metric| Named::of(prefix, metric))
    }

    /// A value in the base unit.
    pub(super) fn value(&self, value: f64) -> f64 {
        value / self.divisor
    }
}

fn sentence(summary: &str) -> String {
    let mut letters = summary.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(['.']).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pitot_record::METRICS;

    use super::*;

    #[test]
    fn names_have_their_unit_at_the_end() {
        for (prefix, name, value, expected, base) in [
            ("pitot_cell", "latency-p99.9", 2e6, "pitot_cell_latency_p99_9", 0.002),
            ("pitot_cell", "throughput", 5.0, "pitot_cell_throughput_per_second", 5.0),
            ("pitot_server", "server-cpu", 150.0, "pitot_server_cpu", 1.5),
            ("pitot_server", "memory-rss", 4096.0, "pitot_server_memory_rss", 4096.0),
        ] {
            let named = Named::find(prefix, name).unwrap();
            assert_eq!((&*named.family.name, named.value(value)), (expected, base));
        }
        assert!(Named::find("pitot_cell", "speed").is_none());
    }

    #[test]
    fn every_metric_has_a_name_of_its_own_that_prometheus_takes() {
        for prefix in ["pitot_cell", "pitot_server", "pitot_machine"] {
            let mut names = BTreeSet::new();
            for metric in METRICS {
                let family = Named::of(prefix, metric).family;
                assert!(
                    family.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'),
                    "{}",
                    family.name
                );
                assert!(names.insert((family.name.clone(), family.unit.map(|u| u as u8))), "{}", family.name);
                assert!(!family.help.contains(['\n', '\\', '"']), "{}", family.help);
            }
        }
    }
}
