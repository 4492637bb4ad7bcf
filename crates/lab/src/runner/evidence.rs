//! Computes the figures on which the verdict of a repetition is based.

use pitot_results::load::{LoadResult, Window};

use crate::monitor::OtherProcessUse;
use crate::runner::under_way::Looks;
use pitot_host::CpuSplit;
use pitot_record::Resources;

/// What was observed.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    pub(super) load: &'a LoadResult,
    pub(super) used: &'a Resources,
    pub(super) other_processes: &'a [OtherProcessUse],
    pub(super) window: Window,
    /// How often the CPUs were throttled, for heat or by a control group's quota.
    pub(super) throttled: u64,
    pub(super) cpus: &'a CpuSplit,
    /// Whether the server writes files, so that kernel threads work for it.
    pub(super) writes_files: bool,
    /// Samples of the server's connections.
    pub(super) looks: Looks,
}

/// The figures of a verdict. They are recorded with every verdict.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// CPU time of the load generator as a share of its CPUs, or of its busiest thread if that is more.
    pub(super) client_cpu_share: f64,
    /// CPU time of the server as a share of what it can use: one CPU for each worker, up to its CPUs.
    pub(super) server_cpu_share: f64,
    /// CPU time of other processes on the server's CPUs, and as a share of those.
    pub(super) others_cpu_s: f64,
    pub(super) others_cpu_share: f64,
    /// The same on the load generator's CPUs.
    pub(super) load_others_cpu_s: f64,
    pub(super) load_others_cpu_share: f64,
    /// Busy time of the server's CPUs that no known process accounts for, without interrupts.
    pub(super) unknown_cpu_share: f64,
    /// Steal time as a share of the time of all CPUs.
    pub(super) steal_share: f64,
    pub(super) throttled_count: f64,
    pub(super) tcp_retransmits: f64,
    /// Retransmits that no dropped SYN explains, per request, or per connection in a connection storm.
    pub(super) retransmits_per_request: f64,
    pub(super) listen_drops: f64,
    /// Missed arrivals as a share of those that were due.
    pub(super) missed_share: f64,
    pub(super) monitor_cpu_share: f64,
}

impl Figures {
    /// The figures by name, in recorded order.
    pub(super) fn named(&self) -> Vec<(String, f64)> {
        // Destructured, so that a new field cannot be forgotten.
        let Figures {
            client_cpu_share,
            server_cpu_share,
            others_cpu_s,
            others_cpu_share,
            load_others_cpu_s,
            load_others_cpu_share,
            unknown_cpu_share,
            steal_share,
            throttled_count,
            tcp_retransmits,
            retransmits_per_request,
            listen_drops,
            missed_share,
            monitor_cpu_share,
        } = *self;
        [
            ("client_cpu_share", client_cpu_share),
            ("server_cpu_share", server_cpu_share),
            ("others_cpu_s", others_cpu_s),
            ("others_cpu_share", others_cpu_share),
            ("load_others_cpu_s", load_others_cpu_s),
            ("load_others_cpu_share", load_others_cpu_share),
            ("unknown_cpu_share", unknown_cpu_share),
            ("steal_share", steal_share),
            ("throttled_count", throttled_count),
            ("tcp_retransmits", tcp_retransmits),
            ("retransmits_per_request", retransmits_per_request),
            ("listen_drops", listen_drops),
            ("missed_share", missed_share),
            ("monitor_cpu_share", monitor_cpu_share),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }
}

/// Names for the sentence of a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// The other process that used most of the server's CPUs.
    pub(super) busiest_on_server: String,
    /// The same on the load generator's CPUs.
    pub(super) busiest_on_load: String,
    /// The unit: requests, or connections.
    pub(super) unit: &'static str,
}

/// Computes the figures.
pub(super) fn weigh(evidence: &Evidence<'_>) -> (Figures, Names) {
    let Evidence { load, used, .. } = evidence;
    let window = used.window_s.max(f64::MIN_POSITIVE);
    let server_time = window * f64::from(used.server_cpus.max(1));
    let load_time = window * f64::from(used.load_cpus.max(1));
    let shared = evidence.cpus.is_shared();
    let all_time = if shared { server_time } else { server_time + load_time };

    let on_server = Others::on(&evidence.cpus.server, evidence);
    let on_load = Others::on(&evidence.cpus.load, evidence);
    let known_s = used.server_cpu_s + on_server.seconds + if shared { used.load_cpu_s } else { 0.0 };
    // Without interrupts: whether a process's own time includes them depends on the kernel.
    let unknown_s = (used.server_cpus_busy_s - used.server_softirq_s - known_s).max(0.0);

    let workers = used.server_threads_max.max(used.server_processes_max).max(1);
    let usable = window * f64::from(used.server_cpus.max(1)).min(workers as f64);
    let busy = if workers >= u64::from(used.server_cpus) { used.server_cpus_busy_s } else { 0.0 };
    // The unit of a storm is connections.
    let (asked, unit) = match &load.storm {
        Some(storm) => (storm.requested as f64, "connection"),
        None => (load.throughput_rps * window, "request"),
    };
    let due = load.requests.missed + load.requests.attempted;
    let resent = used.tcp_retransmits.saturating_sub(used.listen_drops) as f64;

    let figures = Figures {
        client_cpu_share: load.client.cpu_utilisation.max(used.load_cpu_s / load_time),
        server_cpu_share: (used.server_cpu_s / usable).max(busy / server_time),
        others_cpu_s: on_server.seconds,
        others_cpu_share: on_server.seconds / server_time,
        load_others_cpu_s: on_load.seconds,
        load_others_cpu_share: on_load.seconds / load_time,
        unknown_cpu_share: unknown_s / server_time,
        steal_share: used.steal_s / if shared { 2.0 * all_time } else { all_time },
        throttled_count: evidence.throttled as f64,
        tcp_retransmits: used.tcp_retransmits as f64,
        retransmits_per_request: resent / asked.max(1.0),
        listen_drops: used.listen_drops as f64,
        missed_share: load.requests.missed as f64 / due.max(1) as f64,
        monitor_cpu_share: used.monitor_cpu_share,
    };
    (figures, Names { busiest_on_server: on_server.busiest, busiest_on_load: on_load.busiest, unit })
}

/// CPU time of other processes on some CPUs within the window.
#[derive(Debug, Default)]
struct Others {
    seconds: f64,
    /// The one that used most.
    busiest: String,
}

impl Others {
    fn on(cpus: &[usize], evidence: &Evidence<'_>) -> Others {
        let Window { start, end } = evidence.window;
        let mut sums: Vec<(String, f64)> = Vec::new();
        for other in evidence.other_processes.iter().filter(|o| cpus.contains(&o.cpu)) {
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
        let busiest = sums.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, _)| name);
        Others { seconds, busiest: busiest.unwrap_or_default() }
    }
}
