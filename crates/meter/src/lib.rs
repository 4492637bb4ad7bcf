//! How Pitot measures: nanoseconds, one clock, histograms and their logs, stacks as text, a fixed piece of work, and the units that people
//! type.
//!
//! Nothing here knows a socket, a protocol or a plan. Every other crate may use it.
#![forbid(unsafe_code)]

mod buckets;
mod fixed_work;
mod histogram;
pub mod hlog;
mod median;
mod nanos;
mod random;
pub mod stack;
pub mod units;

pub use buckets::{BOUNDS_NS, Buckets};
pub use fixed_work::{FixedWork, Messages};
pub use histogram::{DecodeError, Histogram};
pub use median::median;
pub use nanos::{Nanos, burn, now, thread_cpu};
pub use random::Random;
