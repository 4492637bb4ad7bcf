//! The text of OpenMetrics 1.0, and that of Prometheus 0.0.4 for readers that know no other.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use pitot_meter::Buckets;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, prometheus_text, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{self, Registry};

use crate::family::{Family, Kind, Unit, Value};

/// A format of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    #[default]
    OpenMetrics,
    /// Prometheus 0.0.4, which older scrapers and `promtool check metrics` read.
    Plain,
}

impl Format {
    /// The content type, for HTTP.
    pub const fn content_type(self) -> &'static str {
        match self {
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Plain => prometheus_text::CONTENT_TYPE,
        }
    }
}

/// The text of all families.
pub fn text(families: &Arc<Vec<Family>>, format: Format) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Page(Arc::clone(families))));
    let mut written = String::new();
    match format {
        Format::OpenMetrics => text::encode(&mut written, &registry),
        Format::Plain => prometheus_text::encode(&mut written, &registry),
    }
    .expect("a string takes everything");
    written
}

#[derive(Debug)]
struct Page(Arc<Vec<Family>>);

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // A metric without samples says nothing.
        for family in
            self.0.iter().filter(|family| family.samples.iter().any(|s| is_sound(family.kind, &s.value)))
        {
            let unit = family.unit.map(Unit::encoded);
            let of_family = encoder.encode_descriptor(
                &family.name,
                &family.help,
                unit.as_ref(),
                family.kind.encoded(),
            )?;
            encode_samples(family, of_family)?;
        }
        Ok(())
    }
}

fn encode_samples(family: &Family, mut encoder: MetricEncoder<'_>) -> fmt::Result {
    // A scraper refuses a page with two equal series as a whole.
    let mut known = HashSet::new();
    for sample in family.samples.iter().filter(|sample| is_sound(family.kind, &sample.value)) {
        if !known.insert(&sample.labels) {
            continue;
        }
        if family.kind == Kind::Info {
            encoder.encode_info(&sample.labels)?;
            continue;
        }
        let mut encoder = encoder.encode_family(&sample.labels)?;
        match (family.kind, &sample.value) {
            (Kind::Counter, Value::Whole(count)) => encoder.encode_counter::<NoLabelSet, _, f64>(count, None),
            (Kind::Counter, Value::Amount(sum)) => encoder.encode_counter::<NoLabelSet, _, f64>(sum, None),
            (Kind::Gauge, Value::Whole(count)) => encoder.encode_gauge(count),
            (Kind::Gauge, Value::Amount(amount)) => encoder.encode_gauge(amount),
            (Kind::Histogram, Value::Buckets(buckets)) => encode_buckets(buckets, &mut encoder),
            // Not sound.
            (Kind::Counter | Kind::Gauge | Kind::Histogram | Kind::Info, _) => Ok(()),
        }?;
    }
    Ok(())
}

fn encode_buckets(buckets: &Buckets, encoder: &mut MetricEncoder<'_>) -> fmt::Result {
    let seconds = |ns: u128| ns as f64 / 1e9;
    let bound =
        |bound: Option<pitot_meter::Nanos>| bound.map_or(f64::INFINITY, |bound| seconds(bound.0.into()));
    let each: Vec<(f64, u64)> = buckets.each().map(|(upper, count)| (bound(upper), count)).collect();
    encoder.encode_histogram::<NoLabelSet>(seconds(buckets.sum_ns()), buckets.count(), &each, None)
}

/// Whether a metric of that kind may have the value.
fn is_sound(kind: Kind, value: &Value) -> bool {
    match (kind, value) {
        (Kind::Histogram, value) => matches!(value, Value::Buckets(_)),
        (_, Value::Buckets(_)) => false,
        (_, Value::Amount(amount)) => amount.is_finite(),
        (_, Value::Whole(_)) => true,
    }
}

impl Kind {
    fn encoded(self) -> MetricType {
        match self {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
            Kind::Info => MetricType::Info,
        }
    }
}

impl Unit {
    fn encoded(self) -> registry::Unit {
        match self {
            Unit::Seconds => registry::Unit::Seconds,
            Unit::Bytes => registry::Unit::Bytes,
            // The library's own word is `ratios`; the convention of Prometheus is the singular.
            Unit::Ratio => registry::Unit::Other("ratio".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use pitot_meter::{Histogram, Nanos};

    use super::*;
    use crate::family::label;

    fn text_of(families: Vec<Family>) -> String {
        text(&Arc::new(families), Format::OpenMetrics)
    }

    #[test]
    fn the_older_format_has_the_same_series() {
        let families = vec![
            Family::new(Kind::Info, "pitot_run", "What runs.").with(vec![label("plan", "a")], 1u64),
            Family::counter("pitot_received", "Bytes.").in_unit(Unit::Bytes).with(Vec::new(), 12u64),
        ];
        let expected = "# HELP pitot_run_info What runs.\n\
                        # TYPE pitot_run_info gauge\n\
                        pitot_run_info{plan=\"a\"} 1\n\
                        # HELP pitot_received_bytes_total Bytes.\n\
                        # TYPE pitot_received_bytes_total counter\n\
                        pitot_received_bytes_total 12\n";
        assert_eq!(text(&Arc::new(families), Format::Plain), expected);
    }

    #[test]
    fn a_page_has_types_units_and_escaped_labels_and_ends() {
        let text = text_of(vec![
            Family::new(Kind::Info, "pitot_run", "What runs.").with(vec![label("plan", "a\"b\\\n")], 1u64),
            Family::counter("pitot_received", "Bytes from the server.")
                .in_unit(Unit::Bytes)
                .with(Vec::new(), 12u64)
                .with(vec![label("server", "x")], 3u64),
            Family::gauge("pitot_left", "Time left.").in_unit(Unit::Seconds).with(Vec::new(), 1.5),
        ]);
        let expected = "# HELP pitot_run What runs.\n\
                        # TYPE pitot_run info\n\
                        pitot_run_info{plan=\"a\\\"b\\\\\\n\"} 1\n\
                        # HELP pitot_received_bytes Bytes from the server.\n\
                        # TYPE pitot_received_bytes counter\n\
                        # UNIT pitot_received_bytes bytes\n\
                        pitot_received_bytes_total 12\n\
                        pitot_received_bytes_total{server=\"x\"} 3\n\
                        # HELP pitot_left_seconds Time left.\n\
                        # TYPE pitot_left_seconds gauge\n\
                        # UNIT pitot_left_seconds seconds\n\
                        pitot_left_seconds 1.5\n\
                        # EOF\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_histogram_has_buckets_that_add_up() {
        let mut histogram = Histogram::new();
        [5, 15, 15, 700_000_000].into_iter().for_each(|micros| histogram.record(Nanos::from_micros(micros)));
        let mut buckets = Buckets::default();
        buckets.add(&histogram);
        let family = Family::new(Kind::Histogram, "pitot_response", "Response times.").in_unit(Unit::Seconds);
        let text = text_of(vec![family.with(vec![label("load", "a")], buckets)]);
        for line in [
            "pitot_response_seconds_count{load=\"a\"} 4",
            "pitot_response_seconds_bucket{le=\"0.00001\",load=\"a\"} 1",
            "pitot_response_seconds_bucket{le=\"0.00002\",load=\"a\"} 3",
            "pitot_response_seconds_bucket{le=\"60.0\",load=\"a\"} 3",
            "pitot_response_seconds_bucket{le=\"+Inf\",load=\"a\"} 4",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
    }

    #[test]
    fn what_a_scraper_would_refuse_is_left_out() {
        let text = text_of(vec![
            Family::gauge("pitot_none", "Nothing."),
            Family::gauge("pitot_nan", "Not a number.").with(Vec::new(), f64::NAN),
            Family::gauge("pitot_twice", "Twice.").with(Vec::new(), 1u64).with(Vec::new(), 2u64),
            Family::gauge("pitot_wrong", "Of another kind.").with(Vec::new(), Buckets::default()),
        ]);
        assert_eq!(text, "# HELP pitot_twice Twice.\n# TYPE pitot_twice gauge\npitot_twice 1\n# EOF\n");
    }
}
