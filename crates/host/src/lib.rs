//! The host: what a machine is, how much of it a run may use, and what it must be set to.
//!
//! Everything is read from /proc, /sys and /etc/os-release; no other program is asked.
#![forbid(unsafe_code)]

mod collect;
mod cpu_list;
mod cpus;
pub mod demand;
mod files;
mod fingerprint;
mod kernel_config;
mod network;
mod sysctl;
mod throttle;

pub use collect::memory_total_bytes;
pub use cpu_list::parse_cpu_list;
pub use cpus::{CpuSplit, split_cpus};
pub use fingerprint::{Fact, Fingerprint, HostChange};
pub use throttle::throttle_count;
