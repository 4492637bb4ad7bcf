//! What a metric consists of.

use crate::run::{Repetition, Slice};

/// One figure of a repetition.
#[derive(Debug)]
pub struct Metric {
    /// The name in plans, gates and JSON: `cpu-per-request`.
    pub name: &'static str,
    /// The heading of a table's column: `CPU/request`.
    pub title: &'static str,
    /// One line for lists and legends.
    pub summary: &'static str,
    /// How a sentence speaks of it.
    pub words: Words,
    /// The unit of the values.
    pub unit: Unit,
    /// What a value of 0 is called, where 0 means that it was too small to be measured.
    pub zero: Option<&'static str>,
    /// Which way is better.
    pub better: Better,
    /// Where it is shown even if it is not the plan's metric.
    pub shown_in: &'static [Section],
    /// What a repetition must have recorded, or the metric has no value: `a load generator's result`.
    pub needs: &'static str,
    /// The value of a slice, in `unit`, where a slice is long enough to have one. Cells that are measured in slices are
    /// compared by it, slice against slice.
    pub in_slice: Option<fn(&Slice) -> Option<f64>>,
    /// How a soak follows it over time; none if it does not.
    pub in_soak: Option<Followed>,
    /// The value of a repetition, in `unit`, where runs have it; none if the repetition did not record what it needs.
    pub read: Option<fn(&Repetition) -> Option<f64>>,
}

/// How a soak follows a metric over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// What sentences and charts of a soak call it: `the number of descriptors`.
    pub title: &'static str,
    /// What its course can mean.
    pub meaning: Meaning,
}

/// What the course of a metric can mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Growth of it is a leak.
    Leak,
    /// It drifts, in both directions; so does what everything on the machine has a part in.
    Drift,
    /// It says how busy the machine is, and is shown but not judged.
    Context,
}

/// How a sentence speaks of a metric: `handled 5% more requests per second`, `had the lowest p99 latency`.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// The metric within a sentence: `requests per second`.
    pub noun: &'static str,
    /// What a server did with it, in the past tense: `handled`.
    pub verb: &'static str,
    /// The adjectives that suit the noun.
    pub quantity: Quantity,
}

/// The adjectives that suit a noun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Things that are counted: as many, more, fewer, the most, the fewest.
    Countable,
    /// What is measured out: as much, more, less, the most, the least.
    Amount,
    /// A value on a scale: higher, lower, the highest, the lowest.
    Level,
    /// A span of time: longer, shorter, the longest, the shortest.
    Duration,
}

/// The unit of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Events per second.
    PerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Percent: 12.5 is 12.5%.
    Percent,
    /// A plain number.
    Count,
    /// Bytes per second.
    BytesPerSecond,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// A section of a report or comparison that shows a metric whatever the plan's own metric is. Within each section metrics keep
/// the order of [`METRICS`](super::METRICS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// A column of the table of results.
    Table(Column),
    /// One of the figures beside the answer.
    Tile,
    /// A sentence among the findings.
    Finding,
    /// A curve over the load.
    Curve,
    /// The comparison of two runs.
    Comparison,
}

/// A column of the table of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The value alone.
    Value,
    /// The value with its interval.
    Interval,
    /// The value alone, in the first column to be dropped where the table is too wide.
    Optional,
}

impl Metric {
    /// The value of a repetition, in `unit`; none if the repetition did not record what it needs. Where the clock counted
    /// instructions, nothing that is measured in time has a value.
    pub fn of(&self, repetition: &Repetition) -> Option<f64> {
        if self.is_of_time() && repetition.counts_instructions() {
            return None;
        }
        self.read.and_then(|read| read(repetition))
    }

    /// Whether runs have it: soaks alone have the others.
    pub fn is_of_runs(&self) -> bool {
        self.read.is_some()
    }

    /// Whether it is measured in time, so that it has no value where a clock counts instructions.
    pub fn is_of_time(&self) -> bool {
        matches!(self.unit, Unit::PerSecond | Unit::Nanoseconds | Unit::Seconds | Unit::BytesPerSecond)
    }

    /// Whether `section` shows it whatever the plan's own metric is.
    pub fn is_shown_in(&self, section: Section) -> bool {
        self.shown_in.contains(&section)
    }

    /// Its column in the table of results, if it has one whatever the plan's own metric is.
    pub fn column(&self) -> Option<Column> {
        self.shown_in
            .iter()
            .find_map(|section| if let Section::Table(column) = section { Some(*column) } else { None })
    }

    /// Whether it is a rate, which a load generator at its limit keeps below what the server could reach.
    pub fn is_rate(&self) -> bool {
        matches!(self.unit, Unit::PerSecond | Unit::BytesPerSecond)
    }

    /// Whether `a` is a better value than `b`.
    pub fn is_better(&self, a: f64, b: f64) -> bool {
        match self.better {
            Better::Higher => a > b,
            Better::Lower => a < b,
        }
    }

    /// Which way is better, in words.
    pub fn hint(&self) -> &'static str {
        match self.better {
            Better::Higher => "higher is better",
            Better::Lower => "lower is better",
        }
    }
}

impl Unit {
    /// The unit's symbol for programs: `1/s`, `ns`.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::PerSecond => "1/s",
            Unit::Nanoseconds => "ns",
            Unit::Seconds => "s",
            Unit::Bytes => "B",
            Unit::BytesPerSecond => "B/s",
            Unit::Percent => "%",
            Unit::Count => "1",
        }
    }
}
