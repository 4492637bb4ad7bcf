//! What the CPU did in a repetition.

use std::sync::Arc;

/// Stacks that were sampled in slices of their own, which do not count as measurements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Right replies in those slices, or executions.
    pub requests: u64,
    /// CPU time of the server in them.
    pub cpu_ns: u64,
    /// Records for which the kernel had no room.
    pub lost: u64,
    /// Whether stacks have the frames of the kernel.
    pub sees_kernel: bool,
    /// Stacks ([`pitot_meter::stack`]) and how often each was met.
    pub stacks: Vec<(Arc<str>, u64)>,
}

impl Profile {
    /// All samples.
    pub fn samples(&self) -> u64 {
        self.stacks.iter().map(|(_, samples)| samples).sum()
    }

    /// CPU time per request that a sample stands for, nanoseconds; none of a profile without requests, samples or CPU time.
    pub fn sample_ns(&self) -> Option<f64> {
        let samples = self.samples();
        let each = self.cpu_ns as f64 / self.requests as f64 / samples as f64;
        (samples > 0 && self.requests > 0 && self.cpu_ns > 0).then_some(each)
    }
}
