//! What a command under way tells Prometheus: figures as plain data, as OpenMetrics text, and the thread that answers scrapes.
//!
//! A command publishes [`Family`]s, which replace those before as a whole. That takes a lock for the exchange of a pointer. The text
//! is made when it is asked for, at most once for each publication, by a thread of the lowest priority: whatever is measured is not
//! disturbed by who looks. The thread ends with the process.
//!
//! The text is that of `prometheus-client`, the Rust library of the Prometheus project. What a command publishes is a copy of counters
//! that it has in any case, so the library's own counters and registry of them are not used.
#![forbid(unsafe_code)]

mod exchange;
mod family;
mod responder;
mod text;

pub use family::{Family, Kind, Label, Sample, Unit, Value, label};
pub use responder::{Publisher, listen};
pub use text::{Format, text};
