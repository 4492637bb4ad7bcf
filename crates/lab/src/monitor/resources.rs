//! Sums over the measured part, from samples.

use pitot_results::load::Window;

use pitot_record::{CpuSample, Lifetime, Resources, Sample, TreeSample};

/// What a repetition used between `window.start` and `window.end`; `None` if the samples do not cover it.
///
/// Counters are interpolated linearly between samples. Gauges (memory, processes, threads) come from the samples inside the
/// window, or the two around it. `lifetime` is the kernel's account of the whole server: it includes context switches of
/// threads and processes too short-lived to be sampled, which are distributed like the server's CPU time.
pub(crate) fn resources(samples: &[Sample], window: Window, lifetime: Option<Lifetime>) -> Option<Resources> {
    let (start, end) = bounds(samples, window)?;
    let inside = || samples.iter().filter(move |s| (start..=end).contains(&s.at_ns));
    let between = |of: &dyn Fn(&Sample) -> Option<u64>| difference(samples, of, start, end);
    let seconds = |of: &dyn Fn(&Sample) -> Option<u64>| between(of) / 1e9;
    let tree = |of: fn(&TreeSample) -> u64| seconds(&|s: &Sample| s.server.as_ref().map(of));
    let tree_maybe =
        |of: fn(&TreeSample) -> Option<u64>| between(&|s: &Sample| s.server.as_ref().and_then(of));
    let cpus = |of: fn(&CpuSample) -> u64| seconds(&|s: &Sample| Some(of(&s.server_cpus)));
    let busy = |c: &CpuSample| c.user_ns + c.system_ns + c.softirq_ns;

    let server_cpu_s = tree(|t| t.cpu_ns);
    // The kernel samples the split into user and system by clock ticks; only its proportion is good.
    let (user, system) = (tree(|t| t.user_ns), tree(|t| t.system_ns));
    let user_share = if user + system > 0.0 { user / (user + system) } else { 0.0 };
    let levels = levels(samples, start, end);
    let servers = || levels.iter().filter_map(|s| s.server);
    let most = |of: fn(TreeSample) -> u64| servers().map(of).max().unwrap_or(0);
    let before_load = samples.iter().take_while(|s| s.load.is_none()).filter_map(|s| s.server).last();
    // Memory is read rarely, so readings around the window count too, as long as the load was running.
    let loaded = || samples.iter().filter(|s| s.load.is_some()).filter_map(|s| s.server);
    let loads = || inside().filter_map(|s| s.load);
    let kernel_before_load =
        samples.iter().take_while(|s| s.load.is_none()).filter_map(|s| s.kernel_bytes).last();
    let rss: Vec<u64> = servers().map(|t| t.rss_bytes).collect();

    let window_share = lifetime.filter(|l| l.cpu_s > 0.0).map_or(0.0, |l| (server_cpu_s / l.cpu_s).min(1.0));
    let switches = |of: fn(&TreeSample) -> Option<u64>, in_life: fn(&Lifetime) -> u64| {
        let sampled = samples.iter().rev().find_map(|s| of(s.server.as_ref()?)).unwrap_or(0);
        let missed = lifetime.as_ref().map_or(0, in_life).saturating_sub(sampled);
        tree_maybe(of) + missed as f64 * window_share
    };
    let voluntary = switches(|t| t.switches_voluntary, |l| l.switches_voluntary);
    let involuntary = switches(|t| t.switches_involuntary, |l| l.switches_involuntary);

    Some(Resources {
        window_s: (end - start) as f64 / 1e9,
        samples: inside().count() as u32,
        server_cpu_s,
        server_user_s: server_cpu_s * user_share,
        server_system_s: server_cpu_s * (1.0 - user_share),
        server_softirq_s: cpus(|c| c.softirq_ns),
        server_run_delay_s: tree_maybe(|t| t.run_delay_ns) / 1e9,
        server_processes_max: most(|t| t.processes),
        server_threads_max: most(|t| t.threads),
        server_descriptors_max: loaded().filter_map(|t| t.descriptors).max().unwrap_or(0),
        server_rss_bytes_max: most(|t| t.rss_bytes),
        server_pss_bytes_max: loaded().filter_map(|t| t.pss_bytes).max().unwrap_or(0),
        server_idle_bytes: before_load.map_or(0, |t| t.pss_bytes.unwrap_or(t.rss_bytes)),
        server_private_bytes_max: loaded().filter_map(|t| t.private_bytes).max().unwrap_or(0),
        server_private_bytes_idle: before_load.and_then(|t| t.private_bytes).unwrap_or(0),
        server_rss_bytes_mean: rss.iter().sum::<u64>() as f64 / rss.len().max(1) as f64,
        server_switches: (voluntary + involuntary).round() as u64,
        server_switches_involuntary: involuntary.round() as u64,
        server_lifetime: lifetime,
        load_private_bytes_max: loads().filter_map(|t| t.private_bytes).max().unwrap_or(0),
        kernel_bytes_idle: kernel_before_load.unwrap_or(0),
        kernel_bytes_max: inside().filter_map(|s| s.kernel_bytes).max().unwrap_or(0),
        load_cpu_s: seconds(&|s: &Sample| s.load.as_ref().map(|t| t.cpu_ns)),
        load_run_delay_s: between(&|s: &Sample| s.load.as_ref().and_then(|t| t.run_delay_ns)) / 1e9,
        server_cpus_busy_s: seconds(&|s: &Sample| Some(busy(&s.server_cpus))),
        load_cpus_busy_s: seconds(&|s: &Sample| Some(busy(&s.load_cpus))),
        steal_s: seconds(&|s: &Sample| Some(s.server_cpus.steal_ns + s.load_cpus.steal_ns)),
        tcp_retransmits: between(&|s: &Sample| Some(s.tcp_retransmits)).round() as u64,
        listen_overflows: between(&|s: &Sample| Some(s.listen_overflows)).round() as u64,
        listen_drops: between(&|s: &Sample| Some(s.listen_drops)).round() as u64,
        monitor_cpu_share: inside().map(|s| s.cost_ns).sum::<u64>() as f64 / (end - start) as f64,
        ..Resources::default()
    })
}

fn bounds(samples: &[Sample], window: Window) -> Option<(u64, u64)> {
    let (first, last) = (samples.first()?.at_ns, samples.last()?.at_ns);
    let (start, end) = (window.start.max(first), window.end.min(last));
    (end > start).then_some((start, end))
}

/// The samples from `start` to `end`; if there are none, the last one before and the first one after.
fn levels(samples: &[Sample], start: u64, end: u64) -> &[Sample] {
    let first = samples.partition_point(|s| s.at_ns < start);
    let after = samples.partition_point(|s| s.at_ns <= end);
    if first < after {
        &samples[first..after]
    } else {
        &samples[first.saturating_sub(1)..(after + 1).min(samples.len())]
    }
}

/// How much a counter grew from `start` to `end`, from the samples that have it.
fn difference(samples: &[Sample], of: &dyn Fn(&Sample) -> Option<u64>, start: u64, end: u64) -> f64 {
    let points = || samples.iter().filter_map(|s| Some((s.at_ns, of(s)? as f64)));
    let value_at = |at: u64| -> Option<f64> {
        let before = points().take_while(|(t, _)| *t <= at).last();
        let after = points().find(|(t, _)| *t >= at);
        match (before, after) {
            (Some((t0, v0)), Some((t1, v1))) if t1 > t0 => {
                Some(v0 + (v1 - v0) * (at - t0) as f64 / (t1 - t0) as f64)
            }
            (Some((_, v)), _) | (None, Some((_, v))) => Some(v),
            (None, None) => None,
        }
    };
    match (value_at(start), value_at(end)) {
        (Some(a), Some(b)) => (b - a).max(0.0),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ms: u64, loaded: bool) -> Sample {
        let tree = TreeSample {
            processes: 1,
            threads: 2,
            // Half a CPU, three quarters of it in the kernel.
            cpu_ns: at_ms * 500_000,
            user_ns: at_ms * 100_000,
            system_ns: at_ms * 300_000,
            rss_bytes: 1000 + at_ms,
            pss_bytes: at_ms.is_multiple_of(200).then_some(500 + at_ms),
            private_bytes: at_ms.is_multiple_of(200).then_some(100 + at_ms),
            ..TreeSample::default()
        };
        Sample {
            at_ns: at_ms * 1_000_000,
            server: (!at_ms.is_multiple_of(300)).then_some(tree),
            load: loaded.then_some(TreeSample { cpu_ns: at_ms * 900_000, ..TreeSample::default() }),
            server_cpus: CpuSample {
                user_ns: at_ms * 600_000,
                steal_ns: at_ms * 1000,
                ..CpuSample::default()
            },
            tcp_retransmits: at_ms,
            cost_ns: 100_000,
            ..Sample::default()
        }
    }

    fn samples() -> Vec<Sample> {
        (0..=50).map(|i| sample(50 + i * 50, (4..=40).contains(&i))).collect()
    }

    #[test]
    fn sums_belong_to_the_window_and_not_to_the_samples_around_it() {
        let window = Window { start: 333_000_000, end: 1_333_000_000 };
        let used = resources(&samples(), window, None).unwrap();
        assert!((used.window_s - 1.0).abs() < 1e-9);
        assert_eq!(used.samples, 20);
        for (value, wanted) in [
            (used.server_cpu_s, 0.5),
            (used.server_user_s, 0.125),
            (used.server_system_s, 0.375),
            (used.load_cpu_s, 0.9),
            (used.server_cpus_busy_s, 0.6),
            (used.steal_s, 0.001),
            (used.monitor_cpu_share, 0.002),
        ] {
            assert!((value - wanted).abs() < 1e-9, "{value} {wanted}");
        }
        assert_eq!(used.tcp_retransmits, 1000);
        assert_eq!(used.server_rss_bytes_max, 1000 + 1300);
        assert_eq!(used.server_pss_bytes_max, 500 + 2000);
        assert_eq!(used.server_idle_bytes, 500 + 200);
        assert_eq!((used.server_private_bytes_idle, used.server_private_bytes_max), (100 + 200, 100 + 2000));
    }

    #[test]
    fn a_window_between_two_samples_has_the_memory_of_both() {
        let window = Window { start: 1_010_000_000, end: 1_040_000_000 };
        let used = resources(&samples(), window, None).unwrap();
        assert_eq!((used.samples, used.server_threads_max), (0, samples()[0].server.unwrap().threads));
        assert_eq!(used.server_rss_bytes_max, 1000 + 1050);
    }

    #[test]
    fn a_window_that_was_not_watched_has_no_figures() {
        let late = Window { start: 10_000_000_000, end: 11_000_000_000 };
        assert_eq!(resources(&samples(), late, None), None);
        assert_eq!(resources(&[], late, None), None);
    }

    #[test]
    fn switches_of_what_ended_between_samples_are_shared_out_by_cpu_time() {
        let mut all = samples();
        for sample in &mut all {
            if let Some(server) = &mut sample.server {
                // Ten switches a second are sampled, all voluntary.
                server.switches_voluntary = Some(sample.at_ns / 100_000_000);
                server.switches_involuntary = Some(0);
            }
        }
        let window = Window { start: 500_000_000, end: 1_500_000_000 };
        let of = |lifetime| {
            let used = resources(&all, window, lifetime).unwrap();
            (used.server_switches, used.server_switches_involuntary)
        };
        assert_eq!(of(None), (10, 0));
        // Half a CPU for one second in the window, of 1.25 s of CPU time in all: two fifths of what was missed.
        let lifetime = Lifetime { cpu_s: 1.25, switches_voluntary: 1025, switches_involuntary: 500 };
        assert_eq!(of(Some(lifetime)), (10 + 400 + 200, 200));
        let all_sampled = Lifetime { switches_voluntary: 20, switches_involuntary: 0, ..lifetime };
        assert_eq!(of(Some(all_sampled)), (10, 0));
    }
}
