//! Metrics as plain data.

use std::borrow::Cow;

use pitot_meter::Buckets;

/// A name and a value.
pub type Label = (Cow<'static, str>, String);

/// All samples of a metric. Its name has its unit at the end, as OpenMetrics asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The name without the unit and without what OpenMetrics adds to it (`_total`, `_info`).
    pub name: Cow<'static, str>,
    /// A sentence.
    pub help: Cow<'static, str>,
    /// What it is.
    pub kind: Kind,
    /// The unit, which the full name ends in.
    pub unit: Option<Unit>,
    /// The samples. Of those with equal labels the first counts.
    pub samples: Vec<Sample>,
}

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Samples by their size.
    Histogram,
    /// What does not change, in the labels.
    Info,
}

/// A base unit of Prometheus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A part of 1.
    Ratio,
}

/// One value with its labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The labels.
    pub labels: Vec<Label>,
    /// The value.
    pub value: Value,
}

/// The value of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A count.
    Whole(u64),
    /// An amount. What is not finite is left out.
    Amount(f64),
    /// Samples by their size; of histograms, and only of them.
    Buckets(Buckets),
}

impl From<u64> for Value {
    fn from(count: u64) -> Value {
        Value::Whole(count)
    }
}

impl From<f64> for Value {
    fn from(amount: f64) -> Value {
        Value::Amount(amount)
    }
}

impl From<Buckets> for Value {
    fn from(buckets: Buckets) -> Value {
        Value::Buckets(buckets)
    }
}

impl Family {
    /// Without samples.
    pub fn new(kind: Kind, name: impl Into<Cow<'static, str>>, help: impl Into<Cow<'static, str>>) -> Family {
        Family { name: name.into(), help: help.into(), kind, unit: None, samples: Vec::new() }
    }

    /// A counter.
    pub fn counter(name: &'static str, help: &'static str) -> Family {
        Family::new(Kind::Counter, name, help)
    }

    /// A gauge.
    pub fn gauge(name: &'static str, help: &'static str) -> Family {
        Family::new(Kind::Gauge, name, help)
    }

    /// In a unit.
    pub fn in_unit(self, unit: Unit) -> Family {
        Family { unit: Some(unit), ..self }
    }

    /// The name in queries: with the unit, and with what OpenMetrics adds to it. A histogram has three, which begin with it.
    pub fn full_name(&self) -> String {
        let unit = match self.unit {
            Some(Unit::Seconds) => "_seconds",
            Some(Unit::Bytes) => "_bytes",
            Some(Unit::Ratio) => "_ratio",
            None => "",
        };
        let ending = match self.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram => "",
        };
        format!("{}{unit}{ending}", self.name)
    }

    /// With one more sample.
    pub fn with(mut self, labels: Vec<Label>, value: impl Into<Value>) -> Family {
        self.put(labels, value);
        self
    }

    /// Adds a sample.
    pub fn put(&mut self, labels: Vec<Label>, value: impl Into<Value>) {
        self.samples.push(Sample { labels, value: value.into() });
    }
}

/// A label. What its name may not have becomes `_`.
pub fn label(name: impl Into<Cow<'static, str>>, value: impl Into<String>) -> Label {
    let name: Cow<'static, str> = name.into();
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    // Names that begin with two are Prometheus' own.
    if is_name && !name.is_empty() && !name.starts_with("__") {
        return (name, value.into());
    }
    let words: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let words = words.trim_start_matches('_');
    let begins_well = words.starts_with(|c: char| c.is_ascii_alphabetic());
    (format!("{}{words}", if begins_well { "" } else { "_" }).into(), value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_labels_are_those_that_prometheus_takes() {
        for (name, expected) in [
            ("server", "server"),
            ("load.connections", "load_connections"),
            ("_own", "_own"),
            ("__name__", "name__"),
            ("2nd", "_2nd"),
            ("größe", "gr__e"),
            ("", "_"),
        ] {
            assert_eq!(label(name, "x").0, expected, "{name}");
        }
    }
}
