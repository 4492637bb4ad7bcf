//! The time of each phase.

use pitot_meter::{Histogram, Nanos, now};

use super::plan::{FilesPlan, Phase, PhaseReport};

/// The latencies of one thread, by phase.
pub(super) struct Times {
    latencies: [Histogram; Phase::ALL.len()],
    spent: [Nanos; Phase::ALL.len()],
}

impl Times {
    pub(super) fn new() -> Times {
        Times { latencies: std::array::from_fn(|_| Histogram::new()), spent: [Nanos::ZERO; Phase::ALL.len()] }
    }

    /// Times a part of the work on one file.
    pub(super) fn time<T>(&mut self, phase: Phase, work: impl FnOnce() -> T) -> T {
        let start = now();
        let value = work();
        let span = now() - start;
        self.latencies[phase as usize].record(span);
        self.spent[phase as usize] += span;
        value
    }

    /// The phases of the plan.
    pub(super) fn report(self, plan: &FilesPlan) -> Vec<PhaseReport> {
        let Times { latencies, spent } = self;
        let phases = Phase::ALL.iter().zip(latencies).zip(spent);
        let wanted = phases.filter(|((phase, _), _)| match phase {
            Phase::Create | Phase::Write | Phase::Read => true,
            Phase::Sync => plan.sync,
            Phase::Stat => plan.stat,
            Phase::Delete => plan.delete,
        });
        let report = |((&phase, latency), spent): ((&Phase, Histogram), Nanos)| PhaseReport {
            phase,
            elapsed: Nanos(spent.0 / u64::from(plan.threads)),
            latency,
        };
        wanted.map(report).collect()
    }

    /// As [`SizeReport::elapsed`], before there is one.
    pub(super) fn elapsed(&self, plan: &FilesPlan) -> Nanos {
        let counted = Phase::ALL.iter().zip(self.spent).filter(|(phase, _)| phase.is_published());
        Nanos(counted.map(|(_, spent)| spent.0).sum::<u64>() / u64::from(plan.threads))
    }

    /// Adds the times of another thread.
    pub(super) fn add(&mut self, other: &Times) {
        for (sum, latency) in self.latencies.iter_mut().zip(&other.latencies) {
            sum.merge(latency);
        }
        for (sum, spent) in self.spent.iter_mut().zip(other.spent) {
            *sum += spent;
        }
    }
}
