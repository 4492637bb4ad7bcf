//! Merges samples of two hosts by time.

use pitot_record::{CpuSample, Sample, TreeSample};

/// Largest time between merged samples of two hosts.
const APART_MAX_NS: u64 = 40_000_000;

/// Adds the nearest sample of the load's host to each of the server's host. Both are taken within one round trip.
pub(super) fn join_load(samples: &mut [Sample], of_load: &[Sample]) {
    for sample in samples {
        let Some(nearest) = nearest(of_load, sample.at_ns) else { continue };
        // There is nothing of the load before it starts.
        sample.load = nearest.server.filter(|_| is_of_the_moment(nearest, sample));
        sample.load_cpus = nearest.server_cpus;
        sample.tcp_retransmits = sample.tcp_retransmits.saturating_add(nearest.tcp_retransmits);
    }
}

/// Adds the nearest sample of another host to each sample of one host.
pub(super) fn add_samples(samples: &mut [Sample], others: &[Sample]) {
    for sample in samples {
        let Some(nearest) = nearest(others, sample.at_ns) else { continue };
        sample.server = match (sample.server, nearest.server.filter(|_| is_of_the_moment(nearest, sample))) {
            (Some(a), Some(b)) => Some(tree(a, b)),
            (a, b) => a.or(b),
        };
        sample.server_cpus = cpus(sample.server_cpus, nearest.server_cpus);
        sample.tcp_retransmits = sample.tcp_retransmits.saturating_add(nearest.tcp_retransmits);
        sample.cost_ns = sample.cost_ns.saturating_add(nearest.cost_ns);
    }
}

fn nearest(samples: &[Sample], at_ns: u64) -> Option<&Sample> {
    let after = samples.partition_point(|s| s.at_ns < at_ns);
    let candidates = [after.checked_sub(1), Some(after)].into_iter().flatten();
    candidates.filter_map(|at| samples.get(at)).min_by_key(|s| s.at_ns.abs_diff(at_ns))
}

fn is_of_the_moment(one: &Sample, other: &Sample) -> bool {
    one.at_ns.abs_diff(other.at_ns) < APART_MAX_NS
}

fn tree(a: TreeSample, b: TreeSample) -> TreeSample {
    let both = |of: fn(&TreeSample) -> Option<u64>| Some(of(&a)?.saturating_add(of(&b)?));
    TreeSample {
        processes: a.processes.saturating_add(b.processes),
        threads: a.threads.saturating_add(b.threads),
        descriptors: both(|t| t.descriptors),
        cpu_ns: a.cpu_ns.saturating_add(b.cpu_ns),
        user_ns: a.user_ns.saturating_add(b.user_ns),
        system_ns: a.system_ns.saturating_add(b.system_ns),
        rss_bytes: a.rss_bytes.saturating_add(b.rss_bytes),
        pss_bytes: both(|t| t.pss_bytes),
        private_bytes: both(|t| t.private_bytes),
        run_delay_ns: both(|t| t.run_delay_ns),
        switches_voluntary: both(|t| t.switches_voluntary),
        switches_involuntary: both(|t| t.switches_involuntary),
    }
}

fn cpus(a: CpuSample, b: CpuSample) -> CpuSample {
    CpuSample {
        user_ns: a.user_ns.saturating_add(b.user_ns),
        system_ns: a.system_ns.saturating_add(b.system_ns),
        softirq_ns: a.softirq_ns.saturating_add(b.softirq_ns),
        steal_ns: a.steal_ns.saturating_add(b.steal_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(at_ms: u64, cpu_ns: u64) -> Sample {
        Sample {
            at_ns: at_ms * 1_000_000,
            server: Some(TreeSample { cpu_ns, ..TreeSample::default() }),
            server_cpus: CpuSample { user_ns: cpu_ns, ..CpuSample::default() },
            ..Sample::default()
        }
    }

    #[test]
    fn samples_of_two_hosts_are_joined_by_their_moment() {
        let mut samples = [at(1000, 1), at(2000, 2), at(2080, 3)];
        join_load(&mut samples, &[at(2001, 20), at(2081, 30)]);
        let load: Vec<_> = samples.iter().map(|s| s.load.map(|l| l.cpu_ns)).collect();
        assert_eq!(load, [None, Some(20), Some(30)]);
    }

    #[test]
    fn samples_of_two_load_hosts_are_added() {
        let mut samples = [at(1000, 1), at(2000, 2)];
        add_samples(&mut samples, &[at(1003, 20), at(1998, 30)]);
        assert_eq!(samples.map(|s| s.server.map(|t| t.cpu_ns)), [Some(21), Some(32)]);
        assert_eq!(samples.map(|s| s.server_cpus.user_ns), [21, 32]);
        // What comes from an agent is any number.
        add_samples(&mut samples, &[at(1003, u64::MAX), at(1998, u64::MAX)]);
        assert_eq!(samples.map(|s| s.server_cpus.user_ns), [u64::MAX; 2]);
    }
}
