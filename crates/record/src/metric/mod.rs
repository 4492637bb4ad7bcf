//! The figures that cells are compared by, as data.
//!
//! A metric is one entry of [`METRICS`]. Whatever a report, a comparison, a gate or `pitot list` says of a metric comes
//! from that entry, so that a new one needs no line anywhere else.

mod entry;
mod read;
mod registry;

pub use entry::{Better, Column, Followed, Meaning, Metric, Quantity, Section, Unit, Words};
pub use registry::{METRICS, RENAMED, find, named, new_name, recorded};
