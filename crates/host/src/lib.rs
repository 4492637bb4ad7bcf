//! The host: what a machine is, how much of it a run may use, and what it must be set to.
//!
//! Everything is read from /proc, /sys and /etc/os-release; no other program is asked.
#![forbid(unsafe_code)]

pub mod check;
mod cpu_list;
mod cpus;
mod facts;
mod files;
mod fingerprint;
pub mod journal;
mod kernel_config;
mod machine;
pub mod offer;
pub mod profile;
pub mod setting;
mod side_by_side;
mod throttle;

pub use cpu_list::parse_cpu_list;
pub use cpus::{ALL_CPUS, CpuSplit, split_cpus};
pub use facts::{Demand, Facts, memory_total_bytes};
pub use fingerprint::{Fact, Fingerprint, HostChange};
pub use machine::Machine;
pub use side_by_side::{Difference, digest, side_by_side};
pub use throttle::throttle_count;
