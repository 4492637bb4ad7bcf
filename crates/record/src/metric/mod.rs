//! Metrics, as data.
//!
//! A metric is one entry of [`METRICS`]. Reports, comparisons, gates and `pitot list` use only that entry, so that a new metric needs
//! no other change.

mod entry;
mod read;
mod registry;

pub use entry::{Better, Column, Followed, Meaning, Metric, Quantity, Section, Unit, Words};
pub use registry::{METRICS, RENAMED, find, named, new_name, of_plan};
