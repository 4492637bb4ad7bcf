//! What very many open connections need of a machine that has both ends of them.
//!
//! Figures of memory are those of docs/million.md.

use super::super::rule::{Evidence, Rule, Threshold};
use super::figure::{Figure, Unit};
use crate::facts::{Demand, Facts};

/// Kernel and user memory of both ends of an idle connection: 9.5 KB were measured on Linux 6.18.
const BYTES_PER_CONNECTION: u64 = 10 << 10;
/// Memory that is left to everything else.
const BYTES_SPARE: u64 = 512 << 20;
/// Memory of a process besides its connections.
const BYTES_PER_PROCESS: u64 = 4 << 20;
/// Descriptors of a process that are not for connections: standard streams, pipes, a listener, open files.
const DESCRIPTORS_RESERVED: u64 = 128;
/// Connections that hold a page of data at the same time, as one of so many: while all are closed, those whose FIN is not
/// acknowledged do.
const CONNECTIONS_PER_TCP_PAGE: u64 = 2;
/// Connects that each process of the load has under way.
const CONNECTING_MAX: u64 = 100;
/// The load generator has at most so many processes.
const LOAD_PROCESSES_MAX: u64 = 256;
/// Threads of each process of the load, and what follows it in the first one.
const TASKS_PER_LOAD_PROCESS: u64 = 4;
/// A ring of io_uring as the servers and the load make it: 512 submissions, 4096 completions, 256 buffers' entries.
const BYTES_PER_RING: u64 = 128 << 10;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "descriptors-needed",
        looks_at: "the hard limit on descriptors",
        uses: &[],
        wanted: "one for each connection of a process, and 128",
        why: "A connection is a descriptor of its process, which cannot accept without a free one (EMFILE). A \
              server with SO_REUSEPORT gives each process its share by a hash, so that some get a little more.",
        source: "getrlimit(2), RLIMIT_NOFILE; socket(7), SO_REUSEPORT",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: |f| {
            let figure = Figure {
                unit: Unit::Count,
                wanted: |_, d| {
                    let of_server = d.server_processes.map_or(0, |processes| share(d.connections, processes));
                    of_server.max(d.connections.div_ceil(LOAD_PROCESSES_MAX)) + DESCRIPTORS_RESERVED
                },
                found: |f, _| f.number("limits.descriptors.hard"),
                fix: |f, wanted| {
                    let first = match f.number("fs.nr_open") {
                        Some(nr_open) if nr_open < wanted => format!("`sysctl -w fs.nr_open={wanted}` and "),
                        _ => String::new(),
                    };
                    format!("{first}`ulimit -Hn {wanted}` as root, or more server.workers in the plan")
                },
            };
            figure.judge(f)
        },
    },
    Rule {
        name: "file-max-needed",
        looks_at: "fs.file-max",
        uses: &[],
        wanted: "two for each connection, besides those that are open",
        why: "Both ends of a connection are open files of the machine; beyond the limit nothing can be opened (ENFILE).",
        source: "Documentation/admin-guide/sysctl/fs.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: |f| {
            let figure = Figure {
                unit: Unit::Count,
                wanted: |f, d| files_open(f) + 2 * d.connections + processes(f, d) * DESCRIPTORS_RESERVED,
                found: |f, _| f.number("fs.file-max"),
                fix: |_, wanted| format!("`sysctl -w fs.file-max={wanted}`"),
            };
            figure.judge(f)
        },
    },
    Rule {
        name: "ports-needed",
        looks_at: "the number of ports of all source addresses",
        uses: &[],
        wanted: "one for each connection",
        why: "Each pair of addresses has one port of net.ipv4.ip_local_port_range for a connection to one port of the \
              server; with none left a connect fails (EADDRNOTAVAIL).",
        source: "ip(7); Documentation/networking/ip-sysctl.rst, ip_local_port_range",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: |f| {
            let figure = Figure {
                unit: Unit::Count,
                wanted: |_, d| d.connections,
                found: |f, d| ports(f).map(|ports| ports * d.sources.max(1)),
                fix: |f, wanted| {
                    let sources = wanted.div_ceil(ports(f).unwrap_or(28_232).max(1)) + 2;
                    format!(
                        "load.source = \"127.0.0.0/{}\" in the plan",
                        32 - sources.next_power_of_two().ilog2()
                    )
                },
            };
            figure.judge(f)
        },
    },
    Rule {
        name: "somaxconn-needed",
        looks_at: "net.core.somaxconn",
        uses: &[],
        wanted: "the connects that are under way to a listener",
        why: "It limits the queue of each listener. While connections are opened each process of the load has 100 connects \
              under way, and one that finds the queue full is sent again after a second.",
        source: "listen(2); Documentation/admin-guide/sysctl/net.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: |f| {
            let figure = Figure {
                unit: Unit::Count,
                wanted: |f, d| {
                    let under_way = load_processes(f, d) * CONNECTING_MAX;
                    d.server_processes.map_or(0, |processes| share(under_way, processes))
                },
                found: |f, _| f.number("net.core.somaxconn"),
                fix: |_, wanted| format!("`sysctl -w net.core.somaxconn={wanted}`"),
            };
            figure.judge(f)
        },
    },
    Rule {
        name: "epoll-watches-needed",
        looks_at: "fs.epoll.max_user_watches",
        uses: &[],
        wanted: "one for each end that is watched with epoll",
        why: "Each descriptor that is watched with epoll counts against the user's limit (ENOSPC).",
        source: "epoll(7), /proc/sys/fs/epoll/max_user_watches",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: |f| {
            let figure = Figure {
                unit: Unit::Count,
                wanted: |_, d| {
                    let ends = u64::from(!d.server_uses_uring) + u64::from(!d.load_uses_uring);
                    ends * d.connections
                },
                found: |f, _| f.number("fs.epoll.max_user_watches"),
                fix: |_, wanted| format!("`sysctl -w fs.epoll.max_user_watches={wanted}`"),
            };
            figure.judge(f)
        },
    },
    Rule {
        name: "processes-needed",
        looks_at: "the limit on processes",
        uses: &[],
        wanted: "those of both sides, besides the existing ones",
        why: "A process holds as many connections as it may have descriptors, so that both sides need several (EAGAIN from \
              fork). The smallest of kernel.pid_max, kernel.threads-max, the limit of the control group (pids.max) and the \
              user's (RLIMIT_NPROC) counts.",
        source: "fork(2); proc(5)",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: |f| {
            let figure = Figure {
                unit: Unit::Count,
                wanted: |f, d| {
                    tasks(f)
                        + load_processes(f, d) * TASKS_PER_LOAD_PROCESS
                        + d.server_processes.unwrap_or(0) * 2
                },
                found: |f, _| tasks_max(f),
                fix: |_, wanted| {
                    format!(
                        "at least {wanted} in kernel.pid_max, kernel.threads-max, pids.max and `ulimit -u`"
                    )
                },
            };
            figure.judge(f)
        },
    },
    Rule {
        name: "memory-needed",
        looks_at: "the available memory",
        uses: &[],
        wanted: "10 KiB for each connection, and 512 MiB",
        why: "Two sockets with what belongs to them take some 9 KB of the kernel's memory, which cannot be swapped out; a \
              machine without it kills processes.",
        source: "measured, docs/million.md; Documentation/filesystems/proc.rst, MemAvailable",
        evidence: Evidence::Measured,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: |f| {
            let figure = Figure {
                unit: Unit::Bytes,
                wanted: |f, d| {
                    d.connections * BYTES_PER_CONNECTION + processes(f, d) * BYTES_PER_PROCESS + BYTES_SPARE
                },
                found: |f, _| memory_available(f),
                fix: |_, wanted| {
                    format!(
                        "free memory, or fewer connections: {}",
                        Unit::Bytes.show(wanted) + " have to be available"
                    )
                },
            };
            figure.judge(f)
        },
    },
    Rule {
        name: "tcp-mem-needed",
        looks_at: "net.ipv4.tcp_mem (its third figure)",
        uses: &[],
        wanted: "a page for every second connection",
        why: "It limits the data in flight of all connections together. An idle connection has none, but while all are \
              closed each FIN that waits takes a page; beyond the limit connections are reset.",
        source: "tcp(7), tcp_mem; measured, docs/million.md",
        evidence: Evidence::Measured,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: |f| {
            let figure = Figure {
                unit: Unit::Pages,
                wanted: |_, d| d.connections.div_ceil(CONNECTIONS_PER_TCP_PAGE),
                found: |f, _| f.numbers("net.ipv4.tcp_mem")?.get(2).copied(),
                fix: |_, wanted| {
                    format!("`sysctl -w net.ipv4.tcp_mem='{} {} {wanted}'`", wanted / 2, wanted / 4 * 3)
                },
            };
            figure.judge(f)
        },
    },
    Rule {
        name: "locked-memory-needed",
        looks_at: "the limit on locked memory",
        uses: &[],
        wanted: "128 KiB for each ring of io_uring",
        why: "Rings of io_uring count against the user's limit, those of all processes together (ENOMEM), unless the user \
              has CAP_IPC_LOCK.",
        source: "io_uring_setup(2), ENOMEM",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: |f| {
            let figure = Figure {
                unit: Unit::Bytes,
                wanted: |f, d| {
                    let of_server = if d.server_uses_uring { d.server_processes.unwrap_or(1) } else { 0 };
                    let of_load = if d.load_uses_uring { load_processes(f, d) } else { 0 };
                    // Whoever may lock any memory has no limit here.
                    if locked_bytes_max(f).is_some() { (of_server + of_load) * BYTES_PER_RING } else { 0 }
                },
                found: |f, _| locked_bytes_max(f),
                fix: |_, wanted| format!("`ulimit -l {}` as root", wanted >> 10),
            };
            figure.judge(f)
        },
    },
    Rule {
        name: "conntrack-max-needed",
        looks_at: "net.netfilter.nf_conntrack_max",
        uses: &[],
        wanted: "one for each connection, where a firewall tracks any",
        why: "A firewall that tracks connections has an entry for each, and drops packets of those for which it has none.",
        source: "Documentation/networking/nf_conntrack-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: |f| {
            let figure = Figure {
                unit: Unit::Count,
                wanted: |f, d| tracked(f).map_or(0, |tracked| tracked + d.connections),
                found: |f, _| f.number("net.netfilter.nf_conntrack_max"),
                fix: |_, wanted| {
                    format!(
                        "`sysctl -w net.netfilter.nf_conntrack_max={wanted}`, or do not track the loopback (`-i lo -j NOTRACK`)"
                    )
                },
            };
            figure.judge(f)
        },
    },
];

/// What one of several gets at most where a hash decides: the mean, and five times the spread of it.
fn share(whole: u64, parts: u64) -> u64 {
    let mean = whole.div_ceil(parts.max(1));
    if parts > 1 { mean + 5 * mean.isqrt() } else { mean }
}

/// Processes of the load: as many as descriptors make necessary.
fn load_processes(f: &Facts, d: &Demand) -> u64 {
    let each =
        f.number("limits.descriptors.hard").unwrap_or(1024).saturating_sub(DESCRIPTORS_RESERVED).max(1);
    d.connections.div_ceil(each).min(LOAD_PROCESSES_MAX)
}

/// Processes of both sides.
fn processes(f: &Facts, d: &Demand) -> u64 {
    load_processes(f, d) + d.server_processes.unwrap_or(1)
}

/// Open files of the whole machine.
fn files_open(f: &Facts) -> u64 {
    f.numbers("fs.file-nr").and_then(|numbers| numbers.first().copied()).unwrap_or(0)
}

/// Ports for outgoing connections of one address.
fn ports(f: &Facts) -> Option<u64> {
    let [low, high] = f.numbers("net.ipv4.ip_local_port_range")?[..] else { return None };
    Some((high + 1).saturating_sub(low))
}

/// Processes and threads that there are.
fn tasks(f: &Facts) -> u64 {
    f.number("tasks").unwrap_or(0)
}

/// The smallest of the limits on processes and threads.
fn tasks_max(f: &Facts) -> Option<u64> {
    let of_group = f.number("group.pids-free").map(|free| tasks(f) + free);
    let of_user = limit(f, "limits.processes.soft", "rights.exceed-limits");
    [f.number("kernel.pid_max"), f.number("kernel.threads-max"), of_user, of_group]
        .into_iter()
        .flatten()
        .min()
}

/// Memory that can be used without pushing anything out, bytes: that of the machine, or of the control group if that is less.
fn memory_available(f: &Facts) -> Option<u64> {
    let of_group = f.numbers("group.memory").and_then(|figures| figures.first().copied());
    let of_machine = f.kilobytes("memory.MemAvailable").map(|kilobytes| kilobytes * 1024);
    [of_machine, of_group].into_iter().flatten().min()
}

/// Memory that this user may lock, bytes; `None` if it may lock any.
fn locked_bytes_max(f: &Facts) -> Option<u64> {
    limit(f, "limits.locked.soft", "rights.lock-memory")
}

/// A limit, if there is one and this user has no right to exceed it.
fn limit(f: &Facts, name: &str, right: &str) -> Option<u64> {
    f.number(name).filter(|limit| *limit < u64::MAX && f.word(right) != Some("true"))
}

/// Connections that a firewall tracks. Its module alone tracks none: rules make it do so, and then it has entries.
fn tracked(f: &Facts) -> Option<u64> {
    f.number("net.netfilter.nf_conntrack_count").filter(|tracked| *tracked > 0)
}

#[cfg(test)]
mod tests {
    use super::super::{Judgement, Subject, needs, refusal, rules_for};
    use super::*;

    /// A machine that can hold a million.
    const ABLE: &[(&str, &str)] = &[
        ("limits.descriptors.hard", "20000"),
        ("limits.processes.soft", "96365"),
        ("limits.locked.soft", "67108864"),
        ("rights.exceed-limits", "true"),
        ("rights.lock-memory", "false"),
        ("fs.nr_open", "1048576"),
        ("fs.file-max", "2466183"),
        ("fs.file-nr", "600 0 2466183"),
        ("net.ipv4.ip_local_port_range", "32768 60999"),
        ("net.core.somaxconn", "4096"),
        ("fs.epoll.max_user_watches", "5491533"),
        ("kernel.pid_max", "32768"),
        ("kernel.threads-max", "192731"),
        ("tasks", "200"),
        ("group.pids-free", "max"),
        ("group.memory", "max"),
        ("memory.MemAvailable", "24117248 kB"),
        ("net.ipv4.tcp_mem", "287901 383868 575802"),
        ("net.netfilter.nf_conntrack_max", "262144"),
        ("net.netfilter.nf_conntrack_count", "0"),
    ];

    fn with(changes: &[(&str, &str)]) -> Facts {
        ABLE.iter().chain(changes).copied().collect()
    }

    fn million() -> Demand {
        Demand {
            connections: 1_000_064,
            server_processes: Some(56),
            sources: 254,
            server_uses_uring: false,
            load_uses_uring: false,
        }
    }

    fn judged(facts: &Facts, demand: Demand) -> Vec<Judgement> {
        needs(Subject::Connections, facts.clone(), vec![demand])
    }

    fn unmet(facts: &Facts, demand: Demand) -> Vec<Judgement> {
        judged(facts, demand).into_iter().filter(Judgement::is_wrong).collect()
    }

    #[test]
    fn a_machine_that_has_held_a_million_is_not_refused() {
        assert!(unmet(&with(&[]), million()).is_empty());
        assert!(refusal(&judged(&with(&[]), million())).is_none());
    }

    #[test]
    fn each_limit_that_is_too_low_is_named_alone_with_how_to_fix_it() {
        let rings = Demand { server_uses_uring: true, ..million() };
        type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)], Demand);
        let cases: [Case; 15] = [
            ("descriptors", "ulimit -Hn", &[("limits.descriptors.hard", "16384")], million()),
            ("descriptors", "server.workers", &[], Demand { server_processes: Some(50), ..million() }),
            ("file-max", "fs.file-max=2014", &[("fs.file-max", "1000000")], million()),
            ("ports", "127.0.0.0/26", &[], Demand { sources: 14, ..million() }),
            ("somaxconn", "somaxconn=", &[("net.core.somaxconn", "128")], million()),
            (
                "max_user_watches",
                "max_user_watches=2000128",
                &[("fs.epoll.max_user_watches", "1999999")],
                million(),
            ),
            ("processes", "pids.max", &[("kernel.pid_max", "400")], million()),
            ("processes", "pids.max", &[("group.pids-free", "200")], million()),
            (
                "processes",
                "pids.max",
                &[("limits.processes.soft", "400"), ("rights.exceed-limits", "false")],
                million(),
            ),
            ("memory", "11 GiB", &[("memory.MemAvailable", "6291456 kB")], million()),
            ("memory", "11 GiB", &[("group.memory", "6442450944 8589934592")], million()),
            (
                "tcp_mem",
                "tcp_mem='250016 375024 500032'",
                &[("net.ipv4.tcp_mem", "200000 300000 400000")],
                million(),
            ),
            ("locked", "ulimit -l", &[("limits.locked.soft", "65536")], rings),
            ("conntrack", "NOTRACK", &[("net.netfilter.nf_conntrack_count", "1")], million()),
            (
                "descriptors",
                "fs.nr_open",
                &[("limits.descriptors.hard", "1024"), ("fs.nr_open", "4096")],
                million(),
            ),
        ];
        for (word, fix, changes, demand) in cases {
            let facts = with(changes);
            let found = unmet(&facts, demand);
            assert!(
                found
                    .iter()
                    .any(|f| f.sentence().contains(word) && f.verdict.fix().unwrap().by_hand.contains(fix)),
                "{word}: {found:?}"
            );
            let failure = refusal(&judged(&facts, demand)).unwrap();
            assert!(failure.to_string().contains(word) && failure.fix.contains(fix), "{failure:?}");
            assert!(!failure.to_string().contains('\n') && !failure.fix.contains('\n'));
        }
    }

    #[test]
    fn what_cannot_be_seen_stands_in_nobodys_way() {
        let all = judged(&Facts::default(), million());
        assert!(all.len() > 5 && refusal(&all).is_none());
        assert!(all.iter().all(|f| f.sentence().contains("unknown; wanted: ")), "{all:?}");
    }

    #[test]
    fn what_a_cell_does_not_use_is_not_asked_for() {
        let names =
            |demand| -> Vec<&str> { judged(&with(&[]), demand).iter().map(|f| f.rule.name).collect() };
        assert!(!names(million()).contains(&"locked-memory-needed"));
        let rings = Demand { server_uses_uring: true, load_uses_uring: true, ..million() };
        assert!(names(rings).contains(&"locked-memory-needed"));
        assert!(!names(rings).contains(&"epoll-watches-needed"));
        assert!(!names(rings).contains(&"conntrack-max-needed"));
        let other_program = Demand { server_processes: None, ..million() };
        assert!(!names(other_program).contains(&"somaxconn-needed"));
    }

    #[test]
    fn a_user_with_the_right_has_no_limit() {
        let rings = Demand { server_uses_uring: true, ..million() };
        let facts = with(&[("limits.locked.soft", "65536"), ("rights.lock-memory", "true")]);
        assert!(unmet(&facts, rings).is_empty());
    }

    #[test]
    fn of_several_demands_the_one_that_is_missed_by_most_is_told() {
        let of = |connections| Demand { connections, ..million() };
        let facts = with(&[("fs.file-max", "1000000")]);
        let told = needs(Subject::Connections, facts, vec![of(10), of(2_000_000), of(1_000_000)]);
        let file_max = told.iter().find(|judgement| judgement.rule.looks_at == "fs.file-max").unwrap();
        assert!(file_max.sentence().contains("fs.file-max is 1,000,000, and 4,0"), "{}", file_max.sentence());
        assert!(file_max.is_wrong());
    }

    #[test]
    fn each_rule_has_a_cure_of_one_line() {
        let demand = Demand { server_uses_uring: true, ..million() };
        let nothing = with(&[
            ("limits.descriptors.hard", "1"),
            ("fs.file-max", "1"),
            ("net.ipv4.ip_local_port_range", "1 1"),
            ("net.core.somaxconn", "1"),
            ("fs.epoll.max_user_watches", "1"),
            ("kernel.pid_max", "1"),
            ("memory.MemAvailable", "1 kB"),
            ("net.ipv4.tcp_mem", "1 1 1"),
            ("limits.locked.soft", "1"),
            ("net.netfilter.nf_conntrack_count", "1"),
        ]);
        let unmet = unmet(&nothing, demand);
        assert_eq!(unmet.len(), rules_for(Subject::Connections).len());
        for judgement in unmet {
            let fix = &judgement.verdict.fix().unwrap().by_hand;
            assert!(!fix.is_empty() && !fix.contains('\n') && !fix.ends_with('.'), "{fix}");
        }
    }
}
