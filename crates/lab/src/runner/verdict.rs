//! Whether a measurement can be trusted.
//!
//! The rules, in the order in which they are asked; the first kind that applies gives the verdict, and the figures of
//! all of them are recorded whatever the verdict is.

use crate::monitor::OtherProcessUse;
use crate::record::{Resources, Verdict, VerdictKind};
use crate::{CpuSplit, LoadResult, Window};

/// The hypervisor withheld more than this share of the CPUs' time: noisy.
const STEAL_SHARE_MAX: f64 = 0.02;
/// Other processes used more than this share of the CPUs of either side: noisy.
const OTHERS_SHARE_MAX: f64 = 0.05;
/// Time of the server's CPUs that nobody seen accounts for may be larger: it is a difference of sampled figures.
const UNKNOWN_SHARE_MAX: f64 = 0.15;
/// Clock ticks that others must have used at least: fewer say nothing.
const OTHERS_TICKS_MIN: f64 = 3.0;
/// More segments sent again per request than this, dropped SYNs not counted: network-bound.
const RETRANSMIT_SHARE_MAX: f64 = 0.01;
/// A client that uses more than this share of its CPUs, or of its busiest thread's, is at its limit.
const CLIENT_BUSY: f64 = 0.90;
/// A server that uses more than this share of what it can use is at its own limit, whatever the client does.
const SERVER_BUSY: f64 = 0.90;

/// What the verdict is drawn from.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    pub(super) load: &'a LoadResult,
    pub(super) used: &'a Resources,
    pub(super) other_processes: &'a [OtherProcessUse],
    pub(super) window: Window,
    /// Times that the processor was slowed for heat, or the cgroup for its quota.
    pub(super) throttled: u64,
    pub(super) cpus: &'a CpuSplit,
}

pub(super) fn judge(evidence: &Evidence<'_>) -> Verdict {
    let Evidence { load, used, .. } = evidence;
    let window = used.window_s.max(f64::MIN_POSITIVE);
    let server_time = window * f64::from(used.server_cpus.max(1));
    let load_time = window * f64::from(used.load_cpus.max(1));
    let shared = evidence.cpus.is_shared();
    let all_time = if shared { server_time } else { server_time + load_time };

    let steal = used.steal_s / if shared { 2.0 * all_time } else { all_time };
    let on_server = OtherProcesses::on(&evidence.cpus.server, evidence);
    let others_s = on_server.seconds;
    let others = others_s / server_time;
    let on_load = OtherProcesses::on(&evidence.cpus.load, evidence);
    let load_others = on_load.seconds / load_time;
    let known_s = used.server_cpu_s + others_s + if shared { used.load_cpu_s } else { 0.0 };
    // Interrupt time is left out on this side: whether a process's own time holds it depends on the kernel.
    let unknown = (used.server_cpus_busy_s - used.server_softirq_s - known_s).max(0.0) / server_time;

    let workers = used.server_threads_max.max(used.server_processes_max).max(1);
    let usable = window * f64::from(used.server_cpus.max(1)).min(workers as f64);
    let server = (used.server_cpu_s / usable).max(if workers >= u64::from(used.server_cpus) {
        used.server_cpus_busy_s / server_time
    } else {
        0.0
    });
    let client = load.client.cpu_utilisation.max(used.load_cpu_s / load_time);
    // What a storm asks for is connections.
    let (requests, what) = match &load.storm {
        Some(storm) => (storm.requested as f64, "connection"),
        None => (load.throughput_rps * window, "request"),
    };
    let requests = requests.max(1.0);
    let resent = used.tcp_retransmits.saturating_sub(used.listen_drops) as f64 / requests;

    let figures = [
        ("client_cpu_share", client),
        ("server_cpu_share", server),
        ("others_cpu_share", others),
        ("load_others_cpu_share", load_others),
        ("unknown_cpu_share", unknown),
        ("steal_share", steal),
        ("throttled_count", evidence.throttled as f64),
        ("retransmits_per_request", resent),
        ("listen_drops", used.listen_drops as f64),
        ("monitor_cpu_share", used.monitor_cpu_share),
    ];
    let verdict = |kind, reason: String| Verdict {
        kind,
        reason,
        figures: figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
    };

    // All that disturbed it is told: what the user can mend must not hide behind what only the hypervisor can.
    let mut noise = Vec::new();
    if steal > STEAL_SHARE_MAX {
        noise.push(format!("the hypervisor withheld {} of the CPU time", percent(steal)));
    }
    if evidence.throttled > 0 {
        noise.push(format!(
            "the CPUs were throttled {} times, for heat or by a cgroup's quota",
            evidence.throttled
        ));
    }
    for (whose, share, other_processes) in
        [("server", others, &on_server), ("load generator", load_others, &on_load)]
    {
        if share > OTHERS_SHARE_MAX && other_processes.seconds * 100.0 >= OTHERS_TICKS_MIN {
            noise.push(format!(
                "other processes used {} of the {whose}'s CPUs, most of it {}",
                percent(share),
                other_processes.worst
            ));
        }
    }
    // The kernel's threads write back what a program has written to files: that is its own work, not noise.
    let writes_files = load.raw["schema"] == "pitot-disk/1";
    if unknown > UNKNOWN_SHARE_MAX && !writes_files {
        noise.push(format!(
            "{} of the server's CPUs went to the kernel's own threads or to processes too short to be seen",
            percent(unknown)
        ));
    }
    if !noise.is_empty() {
        return verdict(VerdictKind::Noisy, noise.join("; "));
    }
    if resent > RETRANSMIT_SHARE_MAX || load.client.verdict == "network-bound" {
        let reason =
            format!("{} segments were sent again, {} a {what}", used.tcp_retransmits, percent(resent));
        return verdict(VerdictKind::NetworkBound, reason);
    }
    if load.client.verdict == "client-bound" && client <= CLIENT_BUSY && server < SERVER_BUSY {
        return verdict(
            VerdictKind::ClientBound,
            format!("the load generator says of itself: {}", load.client.reason),
        );
    }
    if client > CLIENT_BUSY && server < SERVER_BUSY {
        let reason = format!(
            "the load generator used {} of its CPU time and the server only {} of its own: the server can do more",
            percent(client.min(1.0)),
            percent(server)
        );
        return verdict(VerdictKind::ClientBound, reason);
    }
    verdict(VerdictKind::Valid, String::new())
}

/// Other processes on some CPUs within the window.
#[derive(Debug, Default)]
struct OtherProcesses {
    seconds: f64,
    /// The one that used most.
    worst: String,
}

impl OtherProcesses {
    fn on(cpus: &[usize], evidence: &Evidence<'_>) -> OtherProcesses {
        let Window { start, end } = evidence.window;
        let mut sums: Vec<(String, f64)> = Vec::new();
        for other in evidence.other_processes.iter().filter(|s| cpus.contains(&s.cpu)) {
            let (from, to) = (other.from.0, other.to.0);
            let inside = to.min(end).saturating_sub(from.max(start)) as f64 / (to - from).max(1) as f64;
            let seconds = other.cpu_ns as f64 * inside / 1e9;
            let name = format!("`{}` (process {})", other.name, other.pid);
            match sums.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += seconds,
                None => sums.push((name, seconds)),
            }
        }
        let seconds = sums.iter().map(|(_, s)| s).sum();
        let worst =
            sums.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, _)| name).unwrap_or_default();
        OtherProcesses { seconds, worst }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use pitot_meter::Nanos;

    use super::*;
    use crate::Storm;

    fn used() -> Resources {
        Resources {
            window_s: 2.0,
            server_cpu_s: 1.96,
            server_cpus_busy_s: 2.0,
            server_threads_max: 1,
            server_processes_max: 1,
            load_cpu_s: 1.2,
            server_cpus: 1,
            load_cpus: 1,
            ..Resources::default()
        }
    }

    fn load() -> LoadResult {
        LoadResult { throughput_rps: 50_000.0, ..LoadResult::default() }
    }

    fn split() -> CpuSplit {
        CpuSplit { server: vec![0], load: vec![1] }
    }

    fn verdict(used: &Resources, load: &LoadResult, other_processes: &[OtherProcessUse]) -> Verdict {
        let window = Window { start: 1_000_000_000, end: 3_000_000_000 };
        judge(&Evidence { load, used, other_processes, window, throttled: 0, cpus: &split() })
    }

    #[test]
    fn a_busy_server_with_a_client_to_spare_is_valid() {
        let verdict = verdict(&used(), &load(), &[]);
        assert_eq!((verdict.kind, verdict.reason.as_str()), (VerdictKind::Valid, ""));
        assert!(verdict.figures.iter().any(|(name, value)| name == "client_cpu_share" && *value == 0.6));
    }

    #[test]
    fn a_client_at_its_limit_before_an_idling_server_is_the_bottleneck() {
        let lazy = Resources { server_cpu_s: 1.0, server_cpus_busy_s: 1.1, load_cpu_s: 1.95, ..used() };
        let found = verdict(&lazy, &load(), &[]);
        assert_eq!(found.kind, VerdictKind::ClientBound);
        assert!(
            found.reason.contains("98% of its CPU time") && found.reason.contains("only 55%"),
            "{}",
            found.reason
        );
        let mut held_up = load();
        held_up.client.verdict = "client-bound".into();
        held_up.client.reason = "it waited for its CPU".into();
        let spare = Resources { server_cpu_s: 1.0, server_cpus_busy_s: 1.1, ..used() };
        let found = verdict(&spare, &held_up, &[]);
        assert_eq!(found.reason, "the load generator says of itself: it waited for its CPU");
        let both = Resources { load_cpu_s: 1.95, ..used() };
        assert_eq!(
            verdict(&both, &load(), &[]).kind,
            VerdictKind::Valid,
            "a busy server is at its own limit too"
        );
        // One worker on four CPUs is at its limit with a quarter of them.
        let wide = Resources { server_cpus: 4, load_cpu_s: 1.95, ..used() };
        assert_eq!(verdict(&wide, &load(), &[]).kind, VerdictKind::Valid);
    }

    #[test]
    fn another_process_on_the_servers_cpu_is_named() {
        let other = |pid: u32, from_s: u64, cpu_ms: u64| OtherProcessUse {
            from: Nanos::from_secs(from_s),
            to: Nanos::from_secs(from_s + 1),
            pid,
            name: "burner".into(),
            cpu: 0,
            cpu_ns: cpu_ms * 1_000_000,
        };
        let other_processes = [other(7, 0, 900), other(7, 1, 500), other(7, 2, 500), other(8, 1, 10)];
        let busy = Resources { server_cpu_s: 0.98, ..used() };
        let found = verdict(&busy, &load(), &other_processes);
        assert_eq!(found.kind, VerdictKind::Noisy);
        assert!(
            found.reason.contains("50% of the server's CPUs, most of it `burner` (process 7)"),
            "{}",
            found.reason
        );
        let neighbour = [OtherProcessUse { cpu: 1, ..other(9, 1, 400) }];
        let found = verdict(&used(), &load(), &neighbour);
        assert!(found.reason.contains("20% of the load generator's CPUs"), "{}", found.reason);
        let quiet = [other(8, 1, 60)];
        assert_eq!(verdict(&used(), &load(), &quiet).kind, VerdictKind::Valid, "3% is no noise");
        assert_eq!(verdict(&busy, &load(), &[]).kind, VerdictKind::Noisy, "nor need the process be seen");
    }

    #[test]
    fn steal_and_throttling_are_noise() {
        let stolen = Resources { steal_s: 0.2, ..used() };
        assert_eq!(verdict(&stolen, &load(), &[]).kind, VerdictKind::Noisy);
        let (used, load) = (used(), load());
        let evidence = Evidence {
            load: &load,
            used: &used,
            other_processes: &[],
            window: Window::default(),
            throttled: 2,
            cpus: &split(),
        };
        assert!(judge(&evidence).reason.contains("throttled 2 times"));
    }

    #[test]
    fn steal_does_not_hide_a_neighbour() {
        let stolen = Resources { steal_s: 0.2, server_cpu_s: 0.9, ..used() };
        let neighbour = OtherProcessUse {
            from: Nanos::from_secs(1),
            to: Nanos::from_secs(3),
            pid: 7,
            name: "burner".into(),
            cpu: 0,
            cpu_ns: 900_000_000,
        };
        let reason = verdict(&stolen, &load(), &[neighbour]).reason;
        assert!(reason.contains("the hypervisor withheld 5%") && reason.contains("`burner`"), "{reason}");
    }

    #[test]
    fn lost_segments_are_the_networks_but_an_overflowing_queue_is_the_servers() {
        let lossy = Resources { tcp_retransmits: 5_000, ..used() };
        assert_eq!(verdict(&lossy, &load(), &[]).kind, VerdictKind::NetworkBound);
        let storm = LoadResult {
            storm: Some(Storm { requested: 10_000, ..Storm::default() }),
            throughput_rps: 0.0,
            ..load()
        };
        let lost_one = Resources { tcp_retransmits: 1, ..used() };
        assert_eq!(verdict(&lost_one, &storm, &[]).kind, VerdictKind::Valid);
        let overflowing = Resources { tcp_retransmits: 5_000, listen_drops: 5_000, ..used() };
        assert_eq!(verdict(&overflowing, &load(), &[]).kind, VerdictKind::Valid);
    }
}
