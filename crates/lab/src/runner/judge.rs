//! The verdict on a measurement: a pure function of its figures.
//!
//! The first rule that applies gives the verdict. The figures of all rules are recorded with every verdict.

use pitot_results::under_way::{is_idle, limits};
use pitot_results::{MISSED_SHARE_MAX, RETRANSMIT_SHARE_MAX, VerdictKind, is_client_at_limit};

use pitot_host::CpuSplit;
use pitot_record::{NEITHER_BUSY, Resources, Slice, Verdict};
use pitot_stats::median;

use super::evidence::{Evidence, Figures, Names, weigh};
use super::under_way::Looks;

/// More steal time than this share of the CPUs' time: noisy.
const STEAL_SHARE_MAX: f64 = 0.02;
/// Other processes used more than this share of the CPUs of either side: noisy.
pub(super) const OTHERS_SHARE_MAX: f64 = 0.05;
/// Limit for CPU time that no known process accounts for; larger, since it is a difference of sampled figures.
pub(super) const UNKNOWN_SHARE_MAX: f64 = 0.15;
/// Three clock ticks; less CPU time of other processes is not significant.
const OTHERS_S_MIN: f64 = 0.03;
/// A server that uses more than this share of what it can use is at its limit.
const SERVER_BUSY: f64 = 0.90;

/// If the median delay of slices exceeds this share of their length, they are noisy.
const LATE_SHARE_MAX: f64 = 0.1;

/// The verdict on a complete repetition.
pub(super) fn judge(evidence: &Evidence<'_>) -> Verdict {
    let (figures, names) = weigh(evidence);
    let noise = noise(&figures, &names, evidence.writes_files);
    let client = &evidence.load.client;
    let beside_server = figures.others_cpu_share + figures.unknown_cpu_share.max(0.0);
    let others_cpu_share = beside_server.max(figures.load_others_cpu_share);
    let sides = Sides::of(figures.client_cpu_share, evidence.used, evidence.cpus, others_cpu_share);
    let (kind, reason) = if let Some(reason) = sides.held_up(&evidence.looks) {
        (VerdictKind::NetworkBound, reason)
    } else if !noise.is_empty() {
        (VerdictKind::Noisy, noise.join("; "))
    } else if let Some(reason) = network_bound(
        &figures,
        &names,
        // The load generator does not see whether the server is busy.
        (client.verdict == Some(VerdictKind::NetworkBound) && sides.are_idle(sides.server_cpu_share))
            .then_some(&client.reason),
    ) {
        (VerdictKind::NetworkBound, reason)
    } else if let Some(reason) = disturbed(
        &figures,
        // What it waits for may be a kernel thread that writes back files.
        (client.verdict == Some(VerdictKind::Noisy) && !evidence.writes_files).then_some(&client.reason),
    ) {
        (VerdictKind::Noisy, reason)
    } else if let Some(reason) =
        client_bound(&figures, (client.verdict == Some(VerdictKind::ClientBound)).then_some(&client.reason))
    {
        (VerdictKind::ClientBound, reason)
    } else if let Some(reason) =
        rate_missed(&figures, (client.verdict == Some(VerdictKind::RateMissed)).then_some(&client.reason))
    {
        (VerdictKind::RateMissed, reason)
    } else {
        (VerdictKind::Valid, sides.waiting(&evidence.looks).unwrap_or_default())
    };
    let mut figures = figures.named();
    figures.extend(under_way(&evidence.looks));
    Verdict { kind, reason, figures }
}

/// The share of connections with a reply under way, if known.
fn under_way(looks: &Looks) -> Option<(String, f64)> {
    Some(("under_way_share".to_owned(), looks.share()?))
}

/// How busy the two sides of a load were.
struct Sides {
    /// As in [`Figures`].
    client_cpu_share: f64,
    /// CPU time of the server as a share of what it can use.
    server_cpu_share: f64,
    /// CPUs that the server used, on average. A server with many threads may be limited by one of them.
    server_cpus: f64,
    /// Share of CPU time of both sides, if they have the same CPUs.
    both_cpu_share: Option<f64>,
    /// Share of CPU time of all other processes, on the side where it is larger.
    others_cpu_share: f64,
}

impl Sides {
    fn of(client_cpu_share: f64, used: &Resources, cpus: &CpuSplit, others_cpu_share: f64) -> Sides {
        let server_cpus = used.server_cpu_s / used.window_s.max(f64::MIN_POSITIVE);
        let workers = used.server_threads_max.max(used.server_processes_max).max(1);
        let usable = f64::from(used.server_cpus.max(1)).min(workers as f64);
        // On the same CPUs one side is idle only if the other is, too.
        let both_cpu_share =
            cpus.is_shared().then(|| client_cpu_share + server_cpus / f64::from(used.server_cpus.max(1)));
        Sides {
            client_cpu_share,
            server_cpu_share: server_cpus / usable,
            server_cpus,
            both_cpu_share,
            others_cpu_share,
        }
    }

    /// Whether the CPUs of both sides are idle most of the time.
    fn are_idle(&self, server_cpu_share: f64) -> bool {
        [self.client_cpu_share, server_cpu_share, self.both_cpu_share.unwrap_or(0.0)]
            .into_iter()
            .all(|share| is_idle(share + self.others_cpu_share))
    }

    /// The reason that something between server and client limits: neither is busy, and replies are under way.
    fn held_up(&self, looks: &Looks) -> Option<String> {
        if !self.are_idle(self.server_cpu_share) || !looks.is_closed() {
            return None;
        }
        let (client, server) = (percent(self.client_cpu_share), percent(self.server_cpu_share));
        let who = format!(
            "{NEITHER_BUSY} (the server used {server} of the CPU time that it can use, the load generator {client})"
        );
        limits(looks.share(), &who)
    }

    /// A note for the case that neither is busy and the network is not known to limit.
    fn waiting(&self, looks: &Looks) -> Option<String> {
        if !self.are_idle(self.server_cpus) || !looks.is_closed() {
            return None;
        }
        let (client, server) = (percent(self.client_cpu_share), self.server_cpus);
        let between = if looks.share().is_some() { "" } else { ", something between the two limits" };
        Some(format!(
            "{NEITHER_BUSY} (the server used {server:.2} CPUs, the load generator {client} of its CPU time): the \
             server waits, for a disk, a lock, a timer or another server{between}, or the load has too few connections"
        ))
    }
}

/// The verdict on a generation of slices. Steal and other processes do not make it noisy: they affect all cells alike,
/// and their remaining effect shows in the interval and in the control.
pub(super) fn judge_slices(
    slices: &[Slice],
    used: &Resources,
    cpus: &CpuSplit,
    others_cpu_share: f64,
    looks: &Looks,
) -> Verdict {
    let total = |of: fn(&Slice) -> u64| slices.iter().map(of).sum::<u64>() as f64;
    let elapsed_s = used.window_s.max(f64::MIN_POSITIVE);
    let (requests, errors, missed) = (total(|s| s.requests), total(|s| s.errors), total(|s| s.missed));
    let usable = f64::from(used.server_cpus.max(1)).min(used.server_threads_max.max(1) as f64);
    let late: Vec<f64> = slices.iter().map(|s| s.late_ns as f64 / s.duration_ns.max(1) as f64).collect();
    let client_cpu_share = used.load_cpu_s / elapsed_s / f64::from(used.load_cpus.max(1));
    let server_cpu_share = used.server_cpu_s / elapsed_s / usable;
    let late_share = median(&late).unwrap_or(0.0);
    let missed_share = missed / (missed + requests + errors).max(1.0);
    let figures = [
        ("client_cpu_share", client_cpu_share),
        ("server_cpu_share", server_cpu_share),
        ("steal_share", used.steal_s / elapsed_s / f64::from((used.server_cpus + used.load_cpus).max(1))),
        ("late_share", late_share),
        ("missed_share", missed_share),
        ("error_share", errors / (requests + errors).max(1.0)),
        ("others_cpu_share", others_cpu_share),
    ];
    let sides = Sides::of(client_cpu_share, used, cpus, others_cpu_share);
    let (kind, reason) = if let Some(reason) = sides.held_up(looks) {
        (VerdictKind::NetworkBound, reason)
    } else if late_share > LATE_SHARE_MAX {
        let late = percent(late_share);
        (VerdictKind::Noisy, format!("slices began late, by {late} of their length in the median"))
    } else if is_client_at_limit(client_cpu_share) && server_cpu_share < SERVER_BUSY {
        let (client, server) = (percent(client_cpu_share.min(1.0)), percent(server_cpu_share));
        (
            VerdictKind::ClientBound,
            format!(
                "the load generator used {client} of its CPU time and the server only {server} of its own: the server \
                 can do more"
            ),
        )
    } else if missed_share > MISSED_SHARE_MAX {
        let missed = percent(missed_share);
        (VerdictKind::RateMissed, format!("{missed} of the requests that were due could not be sent"))
    } else {
        (VerdictKind::Valid, sides.waiting(looks).unwrap_or_default())
    };
    let figures = figures.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(under_way(looks));
    Verdict { kind, reason, figures: figures.collect() }
}

/// All disturbances of the measurement, so that the user sees those that can be fixed here besides steal.
fn noise(figures: &Figures, names: &Names, writes_files: bool) -> Vec<String> {
    let mut noise = Vec::new();
    if figures.steal_share > STEAL_SHARE_MAX {
        let share = percent(figures.steal_share);
        noise.push(format!("{share} of the CPU time was steal: the hypervisor ran something else"));
    }
    if figures.throttled_count > 0.0 {
        let count = figures.throttled_count;
        noise.push(format!("the CPUs were throttled {count} times, for heat or by a cgroup's quota"));
    }
    for (side, seconds, share, busiest) in [
        ("server", figures.others_cpu_s, figures.others_cpu_share, &names.busiest_on_server),
        ("load generator", figures.load_others_cpu_s, figures.load_others_cpu_share, &names.busiest_on_load),
    ] {
        if share > OTHERS_SHARE_MAX && seconds >= OTHERS_S_MIN {
            // A process counts for the CPU that it was last seen on, with the time that it had on others.
            let share = percent(share.min(1.0));
            noise.push(format!("other processes used {share} of the {side}'s CPUs, most of it {busiest}"));
        }
    }
    // Kernel threads write back what a program has written to files: that is its own work, not noise.
    if figures.unknown_cpu_share > UNKNOWN_SHARE_MAX && !writes_files {
        noise.push(format!(
            "{} of the server's CPUs went to kernel threads or to processes too short-lived to be sampled",
            percent(figures.unknown_cpu_share)
        ));
    }
    noise
}

/// `reported`: the load generator's reason, if it has this verdict.
fn network_bound(figures: &Figures, names: &Names, reported: Option<&String>) -> Option<String> {
    if figures.retransmits_per_request > RETRANSMIT_SHARE_MAX {
        let share = percent(figures.retransmits_per_request);
        return Some(format!(
            "{} segments were retransmitted, {share} per {}",
            figures.tcp_retransmits, names.unit
        ));
    }
    reported.map(|reason| format!("the load generator reports: {reason}"))
}

/// Something unknown took CPU time from the load generator. It matters only if the server could do more.
fn disturbed(figures: &Figures, reported: Option<&String>) -> Option<String> {
    let reason = reported.filter(|_| figures.server_cpu_share < SERVER_BUSY)?;
    Some(format!("the load generator reports: {reason}"))
}

fn client_bound(figures: &Figures, reported: Option<&String>) -> Option<String> {
    if figures.server_cpu_share >= SERVER_BUSY {
        return None;
    }
    if is_client_at_limit(figures.client_cpu_share) {
        return Some(format!(
            "the load generator used {} of its CPU time and the server only {} of its own: the server can do more",
            percent(figures.client_cpu_share.min(1.0)),
            percent(figures.server_cpu_share)
        ));
    }
    reported.map(|reason| format!("the load generator reports: {reason}"))
}

/// The figures are those of an overload, and no percentile includes requests that were never sent.
fn rate_missed(figures: &Figures, reported: Option<&String>) -> Option<String> {
    if let Some(reason) = reported {
        return Some(format!("the load generator reports: {reason}"));
    }
    (figures.missed_share > MISSED_SHARE_MAX).then(|| {
        format!(
            "{} of the requests that were due could not be sent: no connection was free",
            percent(figures.missed_share)
        )
    })
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use pitot_meter::Nanos;

    use super::*;
    use crate::monitor::OtherProcessUse;
    use pitot_record::Resources;
    use pitot_results::load::{LoadResult, Storm, Window};

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
        judge(&Evidence {
            load,
            used,
            other_processes,
            window,
            throttled: 0,
            cpus: &split(),
            writes_files: false,
            looks: Looks::default(),
        })
    }

    #[test]
    fn a_busy_server_with_a_client_to_spare_is_valid() {
        let verdict = verdict(&used(), &load(), &[]);
        assert_eq!((verdict.kind, verdict.reason.as_str()), (VerdictKind::Valid, ""));
        assert!(verdict.figures.iter().any(|(name, value)| name == "client_cpu_share" && *value == 0.6));
    }

    #[test]
    fn a_way_that_limits_is_told_from_a_server_that_waits_and_from_one_that_is_busy() {
        let idle = Resources { server_cpu_s: 0.4, server_cpus_busy_s: 0.5, load_cpu_s: 0.32, ..used() };
        let fresh = |used: &Resources, sending: Option<u64>| {
            judge(&Evidence {
                load: &load(),
                used,
                other_processes: &[],
                window: Window { start: 1_000_000_000, end: 3_000_000_000 },
                throttled: 0,
                cpus: &split(),
                writes_files: true,
                looks: Looks::seen(sending),
            })
        };
        // The same replies wait where something that was never sampled has taken the CPU from both.
        let taken = Resources {
            server_cpus_busy_s: 0.4 + 0.8 * used().window_s * f64::from(used().server_cpus),
            ..idle
        };
        assert_ne!(fresh(&taken, Some(95)).kind, VerdictKind::NetworkBound);
        let slice = Slice { duration_ns: 2_000_000_000, requests: 1926, ..Slice::default() };
        let sliced =
            |used: &Resources, sending| judge_slices(&[slice], used, &split(), 0.0, &Looks::seen(sending));
        for of in [&fresh as &dyn Fn(&Resources, Option<u64>) -> Verdict, &sliced] {
            let held_up = of(&idle, Some(95));
            assert_eq!(held_up.kind, VerdictKind::NetworkBound);
            assert!(
                held_up
                    .reason
                    .contains("the load generator 16%), and 95% of the connections had a reply under way"),
                "{}",
                held_up.reason
            );
            assert!(held_up.figures.contains(&("under_way_share".to_owned(), 0.95)));
            let waits = of(&idle, Some(3));
            assert_eq!(waits.kind, VerdictKind::Valid);
            assert!(
                waits.reason.contains("the server used 0.20 CPUs")
                    && waits.reason.contains("the server waits")
            );
            assert!(!waits.reason.contains("between"), "{}", waits.reason);
            let unseen = of(&idle, None);
            assert_eq!(unseen.kind, VerdictKind::Valid);
            assert!(unseen.reason.contains("something between the two limits"), "{}", unseen.reason);
            let busy = of(&used(), Some(95));
            assert_eq!((busy.kind, busy.reason.as_str()), (VerdictKind::Valid, ""));
        }
        // Replies wait for a client that waits for its CPU.
        let beside_others = judge_slices(&[slice], &idle, &split(), 0.6, &Looks::seen(Some(95)));
        assert_eq!((beside_others.kind, beside_others.reason.as_str()), (VerdictKind::Valid, ""));
        // Or for one that both have.
        let both = CpuSplit { server: vec![0, 1], load: vec![0, 1] };
        let together = Resources {
            server_cpus: 2,
            server_threads_max: 4,
            server_cpu_s: 1.9,
            load_cpus: 2,
            load_cpu_s: 1.6,
            ..used()
        };
        let verdict = |cpus| judge_slices(&[slice], &together, cpus, 0.0, &Looks::seen(Some(95)));
        assert_eq!(verdict(&both).kind, VerdictKind::Valid);
        assert_eq!(verdict(&split()).kind, VerdictKind::NetworkBound);
        // An open loop asks for no more than its rate.
        assert_eq!(judge_slices(&[slice], &idle, &split(), 0.0, &Looks::default()).reason, "");
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
        held_up.client.verdict = Some(VerdictKind::ClientBound);
        held_up.client.reason = "it started late".into();
        let spare = Resources { server_cpu_s: 1.0, server_cpus_busy_s: 1.1, ..used() };
        let found = verdict(&spare, &held_up, &[]);
        assert_eq!(found.reason, "the load generator reports: it started late");
        (held_up.client.verdict, held_up.client.reason) =
            (Some(VerdictKind::Noisy), "it waited for its CPU".into());
        let found = verdict(&spare, &held_up, &[]);
        assert_eq!(found.kind, VerdictKind::Noisy);
        assert_eq!(found.reason, "the load generator reports: it waited for its CPU");
        assert_eq!(verdict(&used(), &held_up, &[]).kind, VerdictKind::Valid, "the server is at its limit");
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
        let moved = [OtherProcessUse { cpu: 1, ..other(9, 1, 2320) }];
        let found = verdict(&used(), &load(), &moved);
        assert!(found.reason.contains("100% of the load generator's CPUs"), "{}", found.reason);
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
            writes_files: false,
            looks: Looks::default(),
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
        assert!(reason.contains("5% of the CPU time was steal") && reason.contains("`burner`"), "{reason}");
    }

    #[test]
    fn arrivals_that_were_missed_are_no_valid_result_whoever_says_so() {
        let mut overloaded = load();
        (overloaded.requests.attempted, overloaded.requests.missed) = (50_000, 50_000);
        let found = verdict(&used(), &overloaded, &[]);
        assert_eq!(found.kind, VerdictKind::RateMissed);
        assert!(found.reason.starts_with("50% of the requests that were due"), "{}", found.reason);
        assert!(found.figures.contains(&("missed_share".to_owned(), 0.5)), "{:?}", found.figures);
        // The load generator was late as well, but the server was at its limit.
        overloaded.client.verdict = Some(VerdictKind::ClientBound);
        assert_eq!(verdict(&used(), &overloaded, &[]).kind, VerdictKind::RateMissed);
        let mut reported = load();
        reported.client.verdict = Some(VerdictKind::RateMissed);
        reported.client.reason = "2.0% of the requests that were due could not be sent".into();
        assert_eq!(
            verdict(&used(), &reported, &[]).reason,
            "the load generator reports: 2.0% of the requests that were due could not be sent"
        );
        let mut few = load();
        (few.requests.attempted, few.requests.missed) = (1_000, 10);
        assert_eq!(verdict(&used(), &few, &[]).kind, VerdictKind::Valid);
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

    #[test]
    fn kernel_threads_that_write_back_files_are_no_noise() {
        let (used, load) = (Resources { server_cpu_s: 0.98, ..used() }, load());
        let of = |writes_files| {
            let window = Window { start: 1_000_000_000, end: 3_000_000_000 };
            let cpus = split();
            let other_processes = &[];
            judge(&Evidence {
                load: &load,
                used: &used,
                other_processes,
                window,
                throttled: 0,
                cpus: &cpus,
                writes_files,
                looks: Looks::default(),
            })
        };
        assert_eq!((of(true).kind, of(false).kind), (VerdictKind::Valid, VerdictKind::Noisy));
    }
}
