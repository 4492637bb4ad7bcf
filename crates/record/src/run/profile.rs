//! What a server did in a repetition.

use std::sync::Arc;

use pitot_plan::Profiled;

/// What was recorded in a slice of its own, which does not count as a measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// What it shows.
    pub kind: Profiled,
    /// Right replies in those slices, or executions.
    pub requests: u64,
    /// CPU time of the server in them.
    pub cpu_ns: u64,
    /// What found no room in the kernel's rings, by the share that was lost.
    pub lost: u64,
    /// Whether the kernel's part is seen.
    pub sees_kernel: bool,
    /// By stack, of `cpu` and `off-cpu`, and else by name. In a sum a name may stand several times.
    pub entries: Vec<ProfileEntry>,
}

/// A stack, a counter or a system call.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileEntry {
    /// Its name; that of a stack is its text ([`pitot_meter::stack`]).
    pub name: Arc<str>,
    /// How often it was met: samples, waits, events or calls.
    pub count: u64,
    /// How long waits and calls took, nanoseconds.
    pub ns: u64,
}

impl Profile {
    /// What several profiles of a kind show together, as one that took as long as all of them; none of no profile.
    pub fn sum<'p>(profiles: impl IntoIterator<Item = &'p Profile>) -> Option<Profile> {
        profiles.into_iter().fold(None, |sum: Option<Profile>, profile| {
            let Some(mut sum) = sum else { return Some(profile.clone()) };
            sum.requests += profile.requests;
            sum.cpu_ns += profile.cpu_ns;
            sum.lost += profile.lost;
            sum.sees_kernel &= profile.sees_kernel;
            sum.entries.extend_from_slice(&profile.entries);
            Some(sum)
        })
    }

    /// All samples, waits, events or calls.
    pub fn count(&self) -> u64 {
        self.entries.iter().map(|entry| entry.count).sum()
    }

    /// CPU time per request that a sample stands for, nanoseconds; none of a profile without requests, samples or CPU time.
    pub fn sample_ns(&self) -> Option<f64> {
        let samples = self.count();
        let each = self.cpu_ns as f64 / self.requests as f64 / samples as f64;
        (samples > 0 && self.requests > 0 && self.cpu_ns > 0).then_some(each)
    }

    /// What a request takes of an entry, nanoseconds: CPU time, or time waited.
    pub fn ns_per_request(&self, entry: &ProfileEntry) -> Option<f64> {
        match self.kind {
            Profiled::Cpu => self.sample_ns().map(|each| each * entry.count as f64),
            _ => self.per_request(entry.ns),
        }
    }

    /// How often a request meets an entry.
    pub fn count_per_request(&self, entry: &ProfileEntry) -> Option<f64> {
        self.per_request(entry.count)
    }

    /// What was lost was like the rest.
    fn per_request(&self, value: u64) -> Option<f64> {
        let count = self.count();
        let seen = count as f64 / (count + self.lost) as f64;
        (self.requests > 0 && count > 0).then(|| value as f64 / seen / self.requests as f64)
    }
}
