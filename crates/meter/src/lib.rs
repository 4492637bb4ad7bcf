//! How Pitot measures: nanoseconds, one clock, histograms and counters.
//!
//! Nothing here knows a socket, a protocol or a plan. Every other crate may use it.
#![forbid(unsafe_code)]

mod nanos;

pub use nanos::{Nanos, now};
