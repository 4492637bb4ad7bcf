//! The parts of a metric.

use crate::run::{Repetition, Slice};

/// What metrics of commands need, and no others.
pub(super) const EXECUTIONS: &str = "executions of a command (`pitot diff`, `pitot exec`)";

/// A metric of repetitions or soaks.
#[derive(Debug)]
pub struct Metric {
    /// The name in plans, gates and JSON: `cpu-per-request`.
    pub name: &'static str,
    /// The heading of a table's column: `CPU/request`.
    pub title: &'static str,
    /// One line for lists and legends.
    pub summary: &'static str,
    /// Words for sentences.
    pub words: Words,
    /// The unit of the values.
    pub unit: Unit,
    /// The word for a value of 0, if that means too small to be measured.
    pub zero: Option<&'static str>,
    /// Which way is better.
    pub better: Better,
    /// Sections that show it even if it is not the plan's metric.
    pub shown_in: &'static [Section],
    /// What a repetition must have recorded: `a load generator's result`.
    pub needs: &'static str,
    /// The value of a slice, in `unit`, if slices have it. Cells in slices are compared by it, slice against slice.
    pub in_slice: Option<fn(&Slice) -> Option<f64>>,
    /// How a soak follows it over time; none if it does not.
    pub in_soak: Option<Followed>,
    /// The value of a repetition, in `unit`, if runs have it; none if the repetition did not record what it needs.
    pub read: Option<fn(&Repetition) -> Option<f64>>,
}

/// How a soak follows a metric over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Its name in sentences and charts of a soak: `the number of descriptors`.
    pub title: &'static str,
    /// What its trend means.
    pub meaning: Meaning,
}

/// What the trend of a metric means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Growth of it is a leak.
    Leak,
    /// It can drift in both directions, and other programs may be the cause.
    Drift,
    /// The same, and it grows while other programs keep the CPUs and their caches busy.
    Time,
    /// The same, though not in step with how busy they are.
    Cost,
    /// The same, and it falls while other programs take CPU time.
    Pace,
    /// It shows how busy the machine is, and is not judged.
    Context,
}

/// Words of a metric in sentences: `handled 5% more requests per second`, `had the lowest p99 latency`.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// The metric within a sentence: `requests per second`.
    pub noun: &'static str,
    /// The verb with a server as subject, in the past tense: `handled`.
    pub verb: &'static str,
    /// The adjectives for the noun.
    pub quantity: Quantity,
}

/// The adjectives for a noun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Countable things: as many, more, fewer, the most, the fewest.
    Countable,
    /// Amounts: as much, more, less, the most, the least.
    Amount,
    /// Values on a scale: higher, lower, the highest, the lowest.
    Level,
    /// Times: longer, shorter, the longest, the shortest.
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

/// A section of a report or comparison. Within each, metrics have the order of [`METRICS`](super::METRICS).
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
    /// Only the value.
    Value,
    /// The value with its interval.
    Interval,
    /// Only the value, in a column that is dropped first if the table is too wide.
    Optional,
}

impl Metric {
    /// The value of a repetition, in `unit`; none if the repetition did not record what it needs, or if it is a time and
    /// the clock counted instructions.
    pub fn of(&self, repetition: &Repetition) -> Option<f64> {
        if self.is_of_time() && repetition.counts_instructions() {
            return None;
        }
        if repetition.is_executed() != self.is_of_commands() {
            return None;
        }
        self.read.and_then(|read| read(repetition))
    }

    /// Whether it is of commands that are executed, and not of servers.
    pub fn is_of_commands(&self) -> bool {
        self.needs == EXECUTIONS
    }

    /// Whether runs have it, not only soaks.
    pub fn is_of_runs(&self) -> bool {
        self.read.is_some()
    }

    /// Whether it is a time, so that it has no value if the clock counted instructions.
    pub fn is_of_time(&self) -> bool {
        matches!(self.unit, Unit::PerSecond | Unit::Nanoseconds | Unit::Seconds | Unit::BytesPerSecond)
    }

    /// Whether `section` always shows it.
    pub fn is_shown_in(&self, section: Section) -> bool {
        self.shown_in.contains(&section)
    }

    /// Its column in the table of results, if it always has one.
    pub fn column(&self) -> Option<Column> {
        self.shown_in
            .iter()
            .find_map(|section| if let Section::Table(column) = section { Some(*column) } else { None })
    }

    /// Whether it is a rate, which a load generator at its limit reduces.
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
