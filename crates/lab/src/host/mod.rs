//! What a machine is, and how much of it a run may use.

mod collect;
mod cpu_list;
mod cpus;
mod files;
mod fingerprint;
mod kernel_config;
mod network;
mod rules;
mod sysctl;
mod throttle;

pub(crate) use collect::memory_total_bytes;
pub(crate) use cpu_list::parse_cpu_list;
pub use cpus::{CpuSplit, split_cpus};
pub use fingerprint::{Fact, Fingerprint, HostChange};
pub use rules::{Demand, Facts, Finding, RULES, Rule, SUBJECTS, Subject, findings};
pub(crate) use rules::{refusal, strictest};
pub(crate) use throttle::throttle_count;
