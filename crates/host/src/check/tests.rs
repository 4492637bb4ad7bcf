use super::*;
use crate::machine::Machine;
use crate::setting;

/// A machine as it should be, with four CPUs, a NIC and a disk.
const GOOD: &[(&str, &str)] = &[
    ("limits.descriptors.soft", "65536"),
    ("limits.descriptors.hard", "1048576"),
    ("limits.processes.soft", "63000"),
    ("fs.file-max", "9223372036854775807"),
    ("fs.nr_open", "1048576"),
    ("fs.epoll.max_user_watches", "3500000"),
    ("fs.aio-max-nr", "65536"),
    ("kernel.threads-max", "127000"),
    ("kernel.pid_max", "4194304"),
    ("vm.max_map_count", "65530"),
    ("net.core.somaxconn", "4096"),
    ("net.ipv4.tcp_max_syn_backlog", "4096"),
    ("net.ipv4.tcp_syncookies", "1"),
    ("net.ipv4.tcp_abort_on_overflow", "0"),
    ("net.ipv4.tcp_synack_retries", "5"),
    ("count.ListenOverflows", "0"),
    ("softnet.processed", "1000000"),
    ("softnet.dropped", "0"),
    ("softnet.squeezed", "3"),
    ("net.ipv4.ip_local_port_range", "1024 65535"),
    ("net.ipv4.tcp_tw_reuse", "1"),
    ("net.ipv4.tcp_max_tw_buckets", "131072"),
    ("net.ipv4.tcp_fin_timeout", "60"),
    ("net.ipv4.tcp_max_orphans", "131072"),
    ("net.ipv4.tcp_keepalive_time", "600"),
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
    ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
    ("net.ipv4.tcp_moderate_rcvbuf", "1"),
    ("net.ipv4.tcp_mem", "190000 250000 380000"),
    ("net.core.rmem_max", "212992"),
    ("net.core.wmem_max", "212992"),
    ("net.core.optmem_max", "131072"),
    ("net.ipv4.tcp_congestion_control", "cubic"),
    ("net.core.default_qdisc", "fq_codel"),
    ("net.ipv4.tcp_timestamps", "1"),
    ("net.ipv4.tcp_sack", "1"),
    ("net.ipv4.tcp_dsack", "1"),
    ("net.ipv4.tcp_window_scaling", "1"),
    ("net.ipv4.tcp_slow_start_after_idle", "0"),
    ("net.ipv4.tcp_early_demux", "1"),
    ("net.ipv4.tcp_autocorking", "1"),
    ("net.core.busy_read", "0"),
    ("net.core.busy_poll", "0"),
    ("nics", "eth0"),
    ("nic.eth0.combined-queues", "4"),
    ("nic.eth0.combined-queues.max", "8"),
    ("nic.eth0.rx-ring", "1024"),
    ("nic.eth0.rx-ring.max", "4096"),
    ("nic.eth0.rx-usecs", "50"),
    ("nic.eth0.gro", "on"),
    ("nic.eth0.gso", "on"),
    ("nic.eth0.tso", "on"),
    ("nic.eth0.rx_packets", "1000000"),
    ("nic.eth0.rx_dropped", "2"),
    ("nic.eth0.speed", "10000"),
    ("nic.eth0.duplex", "full"),
    ("nic.eth0.tx_queue_len", "1000"),
    ("nic.eth0.irq-cpus", "0 1 2 3"),
    ("nic.eth0.rx-count", "4"),
    ("nic.eth0.tx-count", "4"),
    ("nic.eth0.rps-cpus", "none"),
    ("nic.eth0.xps-cpus", "0 1 2 3"),
    ("cpu.governor", "performance"),
    ("cpu.energy-preference", "performance"),
    ("cpu.idle driver", "intel_idle"),
    ("idle.latency-us", "10"),
    ("cpu.turbo", "off"),
    ("smt.active", "0"),
    ("cpu.isolated", "2-3"),
    ("cpu.online", "0-3"),
    ("cpu.allowed", "0-3"),
    ("steal.permille", "0"),
    ("thp.enabled", "madvise"),
    ("thp.defrag", "madvise"),
    ("memory.NUMA nodes", "0-1"),
    ("kernel.numa_balancing", "0"),
    ("vm.zone_reclaim_mode", "0"),
    ("memory.SwapTotal", "2097148 kB"),
    ("memory.SwapFree", "2097148 kB"),
    ("vm.swappiness", "10"),
    ("vm.overcommit_memory", "1"),
    ("memory.MemTotal", "16000000 kB"),
    ("memory.MemAvailable", "12000000 kB"),
    ("vm.min_free_kbytes", "67584"),
    ("memory.same-page merging", "0"),
    ("disks", "nvme0n1"),
    ("block.nvme0n1.scheduler", "none"),
    ("block.nvme0n1.read-ahead-kb", "128"),
    ("vm.dirty_bytes", "0"),
    ("vm.dirty_ratio", "20"),
    ("vm.dirty_background_bytes", "0"),
    ("vm.dirty_background_ratio", "5"),
    ("vm.dirty_expire_centisecs", "3000"),
    ("vm.vfs_cache_pressure", "100"),
    ("disk.mount options", "rw,relatime"),
    ("net.netfilter.nf_conntrack_count", "10"),
    ("net.netfilter.nf_conntrack_max", "262144"),
    ("net.netfilter.nf_conntrack_buckets", "65536"),
    ("net.netfilter.nf_conntrack_tcp_timeout_time_wait", "120"),
    ("group.cpu-quota", "max"),
    ("group.throttled", "0"),
    ("group.pids-free", "max"),
    ("group.memory", "max"),
    ("system.clock source", "tsc"),
    ("system.clock sources", "tsc hpet acpi_pm"),
    ("time.synchronised", "true"),
    ("kernel.io_uring_disabled", "0"),
    ("io-uring.works", "true"),
    ("cpu.mitigation meltdown", "Not affected"),
    ("kernel.preempt", "voluntary"),
    ("kernel.random.entropy_avail", "256"),
    ("kernel.nmi_watchdog", "0"),
    ("kernel.sched_autogroup_enabled", "0"),
    ("net.core.bpf_jit_enable", "1"),
    ("load.average", "0.10"),
];

fn good() -> Facts {
    GOOD.iter().copied().collect()
}

/// The good machine with other facts.
fn with(changes: &[(&str, &str)]) -> Facts {
    let mut facts = good();
    for (name, value) in changes {
        facts.add(*name, Some((*value).to_owned()));
    }
    facts
}

#[test]
fn rules_are_named_once_and_say_why_and_where_that_is_written() {
    let of_needs = SUBJECTS.iter().flat_map(|(_, subject)| rules_for(*subject));
    let all: Vec<_> = rules().chain(of_needs).collect();
    assert!(all.len() >= 45, "{}", all.len());
    for (i, rule) in all.iter().enumerate() {
        assert!(all[..i].iter().all(|other| other.name != rule.name), "{} stands twice", rule.name);
        assert!(
            rule.why.ends_with('.')
                && [rule.source, rule.looks_at, rule.wanted].iter().all(|text| !text.is_empty()),
            "{}",
            rule.name
        );
        let is_word = rule.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        assert!(is_word, "{}", rule.name);
        if rule.evidence == Evidence::Measured {
            assert!(rule.source.contains("docs/"), "{} says where it was measured", rule.name);
        }
    }
}

#[test]
fn a_good_machine_is_fine_in_every_rule() {
    for judgement in check(&good(), None) {
        // With as many queues as CPUs nothing is steered by RPS, and so nothing by RFS.
        let is_absent = judgement.rule.name == "rfs" && judgement.verdict.word() == "absent";
        assert!(
            is_absent || matches!(judgement.verdict, Verdict::Fine { .. }),
            "{}: {:?}",
            judgement.rule.name,
            judgement.verdict
        );
    }
}

#[test]
fn what_cannot_be_seen_is_never_fine_nor_wrong() {
    for judgement in check(&Facts::default(), None) {
        assert!(
            matches!(judgement.verdict, Verdict::Unknown { .. } | Verdict::Absent { .. }),
            "{}: {:?}",
            judgement.rule.name,
            judgement.verdict
        );
    }
}

/// A rule, the facts that it finds fault with, and a word of the fix.
type Fault = (&'static str, &'static [(&'static str, &'static str)], &'static str);

/// For each rule a machine that it finds fault with, and a word of what is wanted or how to fix it.
const BAD: &[Fault] = &[
    ("descriptors-hard", &[("limits.descriptors.hard", "1024")], "LimitNOFILE"),
    ("descriptors-soft", &[("limits.descriptors.soft", "1024")], "ulimit -n"),
    ("file-max", &[("fs.file-max", "1000")], "1000000"),
    ("nr-open", &[("fs.nr_open", "1000")], "1048576"),
    ("processes", &[("limits.processes.soft", "100")], "ulimit -u"),
    ("threads-max", &[("kernel.threads-max", "100")], "16384"),
    ("pid-max", &[("kernel.pid_max", "100")], "32768"),
    ("map-count", &[("vm.max_map_count", "100")], "65530"),
    ("epoll-watches", &[("fs.epoll.max_user_watches", "100")], "100000"),
    ("aio-max-nr", &[("fs.aio-max-nr", "100")], "65536"),
    ("somaxconn", &[("net.core.somaxconn", "128")], "4096"),
    ("syn-backlog", &[("net.ipv4.tcp_max_syn_backlog", "128")], "1024"),
    ("syncookies", &[("net.ipv4.tcp_syncookies", "0")], "tcp_syncookies"),
    ("abort-on-overflow", &[("net.ipv4.tcp_abort_on_overflow", "1")], "tcp_abort_on_overflow"),
    ("synack-retries", &[("net.ipv4.tcp_synack_retries", "9")], "5"),
    ("listen-overflows", &[("count.ListenOverflows", "9")], "somaxconn"),
    ("netdev-backlog", &[("softnet.dropped", "900")], "netdev_max_backlog"),
    ("netdev-budget", &[("softnet.squeezed", "90000")], "netdev_budget"),
    ("port-range", &[("net.ipv4.ip_local_port_range", "40000 41000")], "1024 65535"),
    ("tw-reuse", &[("net.ipv4.tcp_tw_reuse", "0")], "tcp_tw_reuse"),
    ("tw-buckets", &[("net.ipv4.tcp_max_tw_buckets", "10")], "4096"),
    ("fin-timeout", &[("net.ipv4.tcp_fin_timeout", "600")], "60"),
    ("orphans", &[("net.ipv4.tcp_max_orphans", "10")], "4096"),
    ("keepalive-time", &[("net.ipv4.tcp_keepalive_time", "7200")], "600"),
    ("metrics-save", &[("net.ipv4.tcp_no_metrics_save", "0")], "1"),
    ("tcp-rmem", &[("net.ipv4.tcp_rmem", "4096 8192 16384")], "4096 65536 4194304"),
    ("tcp-wmem", &[("net.ipv4.tcp_wmem", "4096 4096 4096")], "4096 16384 4194304"),
    ("moderate-rcvbuf", &[("net.ipv4.tcp_moderate_rcvbuf", "0")], "1"),
    ("tcp-mem", &[("net.ipv4.tcp_mem", "1 2 3")], "400000"),
    ("rmem-max", &[("net.core.rmem_max", "4096")], "212992"),
    ("wmem-max", &[("net.core.wmem_max", "4096")], "212992"),
    ("optmem-max", &[("net.core.optmem_max", "4096")], "20480"),
    ("congestion-control", &[("net.ipv4.tcp_congestion_control", "reno")], "cubic"),
    ("qdisc", &[("net.core.default_qdisc", "pfifo_fast")], "fq_codel"),
    ("timestamps", &[("net.ipv4.tcp_timestamps", "0")], "tcp_timestamps"),
    ("sack", &[("net.ipv4.tcp_sack", "0")], "tcp_sack"),
    ("dsack", &[("net.ipv4.tcp_dsack", "0")], "tcp_dsack"),
    ("window-scaling", &[("net.ipv4.tcp_window_scaling", "0")], "tcp_window_scaling"),
    ("slow-start-after-idle", &[("net.ipv4.tcp_slow_start_after_idle", "1")], "0"),
    ("early-demux", &[("net.ipv4.tcp_early_demux", "0")], "1"),
    ("autocorking", &[("net.ipv4.tcp_autocorking", "0")], "1"),
    ("busy-poll", &[("net.core.busy_poll", "5000")], "busy_poll"),
    ("nic-queues", &[("nic.eth0.combined-queues", "1")], "nic.eth0.combined-queues=4"),
    (
        "nic-rings",
        &[("nic.eth0.rx-ring", "256"), ("nic.eth0.rx_missed_errors", "9")],
        "nic.eth0.rx-ring=1024",
    ),
    ("nic-drops", &[("nic.eth0.rx_dropped", "90000")], "rings"),
    ("nic-coalescing", &[("nic.eth0.rx-usecs", "900")], "nic.eth0.rx-usecs=50"),
    ("nic-offloads", &[("nic.eth0.gro", "off")], "nic.eth0.gro=on"),
    ("nic-duplex", &[("nic.eth0.duplex", "half")], "cable"),
    ("nic-tx-queue-len", &[("nic.eth0.tx_queue_len", "10")], "nic.eth0.tx-queue-len=1000"),
    ("irq-affinity", &[("nic.eth0.irq-cpus", "0 0 0 0")], "nic.eth0.irq-cpus=0-3"),
    ("rps", &[("nic.eth0.rx-count", "1")], "nic.eth0.rps-cpus=0-3"),
    ("xps", &[("nic.eth0.xps-cpus", "none"), ("nic.eth0.tx-count", "2")], "nic.eth0.tx-1.xps-cpus=1,3"),
    (
        "rfs",
        &[("nic.eth0.rps-cpus", "0-3"), ("net.core.rps_sock_flow_entries", "0"), ("nic.eth0.rps-flows", "0")],
        "net.core.rps_sock_flow_entries=32768 nic.eth0.rps-flows=8192",
    ),
    ("governor", &[("cpu.governor", "powersave")], "cpu.governor=performance"),
    ("energy-preference", &[("cpu.energy-preference", "balance_power")], "performance"),
    ("idle-states", &[("idle.latency-us", "890")], "idle-latency-us=50"),
    ("turbo", &[("cpu.turbo", "on")], "cpu.turbo=off"),
    ("smt", &[("smt.active", "1")], "cpu.smt=off"),
    ("isolated-cpus", &[("cpu.isolated", "none")], "fence"),
    ("allowed-cpus", &[("cpu.allowed", "0-1")], "taskset"),
    ("steal", &[("steal.permille", "200")], "slices"),
    ("thp", &[("thp.enabled", "always")], "thp.enabled=madvise"),
    ("thp-defrag", &[("thp.defrag", "always")], "thp.defrag=madvise"),
    ("numa-balancing", &[("kernel.numa_balancing", "1")], "numa_balancing"),
    ("zone-reclaim", &[("vm.zone_reclaim_mode", "1")], "zone_reclaim_mode"),
    ("swap", &[("memory.SwapFree", "1000 kB")], "swapoff"),
    ("swappiness", &[("vm.swappiness", "60")], "10"),
    ("overcommit", &[("vm.overcommit_memory", "2")], "overcommit_memory"),
    ("memory-available", &[("memory.MemAvailable", "1000 kB")], "stop other"),
    ("min-free", &[("vm.min_free_kbytes", "100")], "8000"),
    ("same-page-merging", &[("memory.same-page merging", "1")], "ksm"),
    ("io-scheduler", &[("block.nvme0n1.scheduler", "bfq")], "block.nvme0n1.scheduler=none"),
    ("read-ahead", &[("block.nvme0n1.read-ahead-kb", "0")], "block.nvme0n1.read-ahead-kb=128"),
    ("dirty-limits", &[("vm.dirty_ratio", "90")], "dirty_bytes"),
    ("dirty-background", &[("vm.dirty_background_ratio", "50")], "dirty_background_bytes"),
    ("dirty-expire", &[("vm.dirty_expire_centisecs", "90000")], "3000"),
    ("access-times", &[("disk.mount options", "rw,strictatime")], "relatime"),
    ("vfs-cache-pressure", &[("vm.vfs_cache_pressure", "1000")], "100"),
    ("conntrack-max", &[("net.netfilter.nf_conntrack_max", "4096")], "262144"),
    ("conntrack-buckets", &[("net.netfilter.nf_conntrack_buckets", "16")], "65536"),
    ("conntrack-time-wait", &[("net.netfilter.nf_conntrack_tcp_timeout_time_wait", "600")], "120"),
    ("cpu-quota", &[("group.cpu-quota", "50000 100000")], "CPUQuota"),
    ("cpu-throttled", &[("group.throttled", "9")], "quota"),
    ("group-pids", &[("group.pids-free", "100")], "TasksMax"),
    ("group-memory", &[("group.memory", "1048576 1073741824")], "MemoryMax"),
    ("clock-source", &[("system.clock source", "hpet")], "clocksource=tsc"),
    ("time-sync", &[("time.synchronised", "false")], "chrony"),
    ("io-uring", &[("kernel.io_uring_disabled", "2")], "io_uring_disabled"),
    ("mitigations", &[("cpu.mitigation spectre_v2", "Mitigation: Retpolines")], "mitigations=off"),
    ("preemption", &[("kernel.preempt", "full")], "preempt=voluntary"),
    ("entropy", &[("kernel.random.entropy_avail", "10")], "rng"),
    ("nmi-watchdog", &[("kernel.nmi_watchdog", "1")], "nmi_watchdog"),
    ("autogroup", &[("kernel.sched_autogroup_enabled", "1")], "sched_autogroup_enabled"),
    ("bpf-jit", &[("net.core.bpf_jit_enable", "0")], "bpf_jit_enable"),
    ("load-cpus", &[("cpu.allowed", "0")], "another CPU"),
    ("load-quiet", &[("load.average", "3.5")], "stop other"),
    ("load-ports", &[("net.ipv4.ip_local_port_range", "40000 41000")], "1024 65535"),
    ("load-descriptors", &[("limits.descriptors.hard", "1024")], "--processes"),
];

/// Rules whose verdict says what is wanted of this machine in figures, which differ from one to the next.
const OF_THE_MACHINE: &[&str] = &[
    "clock-source",
    "conntrack-buckets",
    "io-scheduler",
    "listen-overflows",
    "min-free",
    "nic-queues",
    "nic-rings",
    "port-range",
    "rps",
    "tcp-mem",
];

#[test]
fn what_a_rule_wants_of_any_machine_is_what_its_verdict_wants() {
    for (name, facts, _) in BAD {
        let verdict = rule(name).unwrap().judge(&with(facts));
        let (Verdict::Wrong { wanted, .. } | Verdict::Consider { wanted, .. }) = verdict else {
            panic!("{name}")
        };
        let is_same = wanted == rule(name).unwrap().wanted;
        assert!(is_same != OF_THE_MACHINE.contains(name), "{name}: {wanted}");
    }
}

#[test]
fn io_uring_that_a_filter_forbids_is_wrong_though_its_switch_is_on() {
    let judge = |facts: &[(&str, &str)]| rule("io-uring").unwrap().judge(&facts.iter().copied().collect());
    let filtered =
        [("kernel.io_uring_disabled", "0"), ("io-uring.refused", "a filter"), ("io-uring.fix", "lift it")];
    let Verdict::Wrong { found, fix, .. } = judge(&filtered) else { panic!() };
    assert_eq!((found.as_str(), fix.by_hand.as_str(), fix.settings.len()), ("a filter", "lift it", 0));
    assert_eq!(judge(&filtered[1..]).word(), "consider", "an old kernel has no switch");
    assert_eq!(judge(&filtered[..1]).word(), "unknown");
}

#[test]
fn queues_are_steered_to_all_cpus_in_turn() {
    let xps = |cpus: &str, queues: &str| {
        let facts =
            with(&[("cpu.online", cpus), ("nic.eth0.tx-count", queues), ("nic.eth0.xps-cpus", "none")]);
        let fix = rule("xps").unwrap().judge(&facts).fix().cloned();
        fix.map(|fix| fix.settings.into_iter().map(|(_, value)| value).collect::<Vec<_>>())
    };
    assert_eq!(xps("0-4", "2"), Some(vec!["0,2,4".to_owned(), "1,3".to_owned()]));
    assert_eq!(xps("0-1", "3"), Some(["0", "1", "0"].map(str::to_owned).to_vec()));
    assert_eq!([xps("0", "4"), xps("0-3", "1")], [None, None]);
}

#[test]
fn each_rule_finds_its_fault_and_says_how_to_fix_it() {
    for rule in rules() {
        let Some((_, changes, word)) = BAD.iter().find(|(name, _, _)| *name == rule.name) else {
            panic!("{} has no fault to find", rule.name)
        };
        let verdict = rule.judge(&with(changes));
        let Some(fix) = verdict.fix() else { panic!("{}: {verdict:?}", rule.name) };
        let settings: Vec<_> = fix.settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let text = format!("{} {}", settings.join(" "), fix.by_hand);
        assert!(text.contains(word), "{}: {text} does not name {word}", rule.name);
        assert!(!fix.by_hand.is_empty() && !fix.by_hand.contains('\n'), "{}", rule.name);
        assert_eq!(rule.can_apply, !fix.settings.is_empty(), "{}", rule.name);
        for (key, value) in &fix.settings {
            if let Err(failure) = setting::expand(&Machine::here(), key, value) {
                assert!(failure.what.contains("cannot be set"), "{}: {failure:?}", rule.name);
            }
        }
    }
}

#[test]
fn a_queueing_discipline_is_offered_that_the_kernel_has() {
    let fix = |known: &[(&str, &str)]| {
        let verdict = rule("qdisc")
            .unwrap()
            .judge(&with(&[&[("net.core.default_qdisc", "pfifo_fast")], known].concat()));
        verdict.fix().unwrap().clone()
    };
    let value = |fix: &Fix| fix.settings.first().map(|(_, value)| value.clone());
    assert_eq!(value(&fix(&[])).as_deref(), Some("fq_codel"), "nobody knows what it has");
    assert_eq!(value(&fix(&[("qdiscs", "fq cake")])).as_deref(), Some("fq"));
    let none = fix(&[("qdiscs", "none")]);
    assert!(none.settings.is_empty() && none.by_hand.contains("CONFIG_NET_SCH_FQ_CODEL"), "{none:?}");
}

#[test]
fn ten_faults_at_once_are_all_named_and_nothing_else() {
    let faults = [
        "somaxconn",
        "tcp-rmem",
        "sack",
        "thp",
        "governor",
        "clock-source",
        "nic-queues",
        "io-uring",
        "cpu-quota",
        "file-max",
    ];
    let changes: Vec<_> =
        BAD.iter().filter(|(name, _, _)| faults.contains(name)).flat_map(|(_, c, _)| *c).copied().collect();
    let found = check(&with(&changes), None);
    let wrong: Vec<_> =
        found.iter().filter(|j| matches!(j.verdict, Verdict::Wrong { .. })).map(|j| j.rule.name).collect();
    assert_eq!(wrong.len(), faults.len(), "{wrong:?}");
    assert!(faults.iter().all(|fault| wrong.contains(fault)), "{wrong:?}");
}

#[test]
fn a_use_has_its_own_rules_and_those_of_everything() {
    let names = |wanted| -> Vec<&str> { check(&good(), Some(wanted)).iter().map(|j| j.rule.name).collect() };
    assert!(names(Use::Cache).contains(&"overcommit") && !names(Use::Http).contains(&"overcommit"));
    for (_, wanted) in Use::ALL {
        assert!(names(wanted).contains(&"sack"));
    }
}

#[test]
fn offloads_are_set_by_pitot_where_the_driver_lets_them_be_set() {
    let fix = |facts: &[(&str, &str)]| {
        let verdict = rule("nic-offloads").unwrap().judge(&with(facts));
        assert_eq!(verdict.word(), "consider");
        verdict.fix().unwrap().clone()
    };
    let tso = fix(&[("nic.eth0.tso", "off")]);
    assert_eq!(tso.settings, [("nic.eth0.tso".to_owned(), "on".to_owned())]);
    let fixed = fix(&[("nic.eth0.tso", "off"), ("nic.eth0.tso.fixed", "true")]);
    assert!(fixed.settings.is_empty() && fixed.by_hand.contains("ethtool"), "{fixed:?}");
}

#[test]
fn several_nics_are_judged_by_the_worst_of_them() {
    let facts = with(&[
        ("nics", "eth0 eth1 eth2"),
        ("nic.eth1.combined-queues", "1"),
        ("nic.eth1.combined-queues.max", "2"),
        ("nic.eth2.combined-queues", "1"),
        ("nic.eth2.combined-queues.max", "4"),
    ]);
    let Verdict::Wrong { found, fix, .. } = rule("nic-queues").unwrap().judge(&facts) else { panic!() };
    assert!(
        found.contains("eth1: 1 of 2") && found.contains("eth2: 1 of 4") && !found.contains("eth0"),
        "{found}"
    );
    assert_eq!(fix.settings.len(), 2);
}

#[test]
fn the_tightest_limit_of_the_control_group_and_those_above_counts() {
    let dir = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let path = dir.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("proc/self/cgroup", "0::/a/b\n");
    for group in ["", "/a", "/a/b"] {
        write(&format!("sys/fs/cgroup{group}/cgroup.controllers"), "cpu memory pids\n");
    }
    write("sys/fs/cgroup/a/pids.max", "500\n");
    write("sys/fs/cgroup/a/pids.current", "480\n");
    write("sys/fs/cgroup/a/b/pids.max", "max\n");
    write("sys/fs/cgroup/a/b/pids.current", "3\n");
    write("sys/fs/cgroup/a/b/memory.max", "1000\n");
    write("sys/fs/cgroup/a/b/memory.current", "900\n");
    write("sys/fs/cgroup/a/b/memory.stat", "anon 100\ninactive_file 500\nactive_file 300\n");
    let facts = Facts::collect(&Machine::at(dir.path()));
    assert_eq!(facts.word("group.pids-free"), Some("20"));
    assert_eq!(facts.word("group.memory"), Some("900 1000"));
    assert_eq!(facts.word("group.cpu-quota"), Some("max"));
    // Of what is not handed down a limit above may be in force, which cannot be seen.
    for group in ["", "/a", "/a/b"] {
        write(&format!("sys/fs/cgroup{group}/cgroup.controllers"), "memory\n");
    }
    let facts = Facts::collect(&Machine::at(dir.path()));
    assert_eq!((facts.word("group.pids-free"), facts.word("group.cpu-quota")), (None, None));
    assert_eq!(rule("group-pids").unwrap().judge(&facts).word(), "unknown");
}

#[test]
fn the_facts_of_this_machine_can_be_judged() {
    let facts = Facts::collect(&Machine::here());
    assert!(facts.number("net.ipv4.tcp_timestamps").is_some());
    assert_eq!(check(&facts, None).len(), rules().count());
}

#[test]
fn advice_is_not_passed_off_as_documentation() {
    let rule = |name: &str| rules().find(|rule| rule.name == name).unwrap();
    for name in ["keepalive-time", "dirty-limits", "dirty-background", "tcp-wmem", "wmem-max"] {
        let rule = rule(name);
        assert_eq!(rule.evidence, Evidence::Documented, "{name}: what it does is documented");
        assert!(!matches!(rule.threshold, Threshold::Documented(_)), "{name}: its figure is not");
    }
    let slow_start = rule("slow-start-after-idle");
    assert!(slow_start.threshold == Threshold::Advised && slow_start.why.contains("recommends 1"));
    assert!(slow_start.sources().ends_with("threshold: often advised, without proof"));
    assert!(rule("tw-reuse").why.contains("without advice or request of technical experts"));
    for (found, word) in [("0", "consider"), ("1", "fine"), ("2", "fine")] {
        let facts = with(&[("net.ipv4.tcp_tw_reuse", found)]);
        assert_eq!(rule("tw-reuse").judge(&facts).word(), word, "{found}");
    }
    // A cache that does not fork is not told that its machine is wrong.
    let facts = with(&[("vm.overcommit_memory", "0")]);
    assert!(matches!(rule("overcommit").judge(&facts), Verdict::Consider { .. }));
}
