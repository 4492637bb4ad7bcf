//! What very many open connections need of a machine that has both ends of them.
//!
//! Figures of memory are those of docs/million.md.

use super::asked::Demand;
use super::facts::Facts;
use super::rule::{Rule, Unit};
use super::subject::Subject;

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
        name: "the hard limit on descriptors",
        subject: Subject::Connections,
        unit: Unit::Count,
        why: "A connection is a descriptor of the process that has it: one that has no more accepts no more (EMFILE). A \
              server with SO_REUSEPORT gives each process its share by a hash, so that some get a little more.",
        source: "getrlimit(2), RLIMIT_NOFILE; socket(7), SO_REUSEPORT",
        wanted: |_, d| {
            let of_server = d.server_processes.map_or(0, |processes| share(d.connections, processes));
            of_server.max(d.connections.div_ceil(LOAD_PROCESSES_MAX)) + DESCRIPTORS_RESERVED
        },
        found: |f, _| f.descriptors_max,
        mend: |f, wanted| {
            let first = match f.nr_open {
                Some(nr_open) if nr_open < wanted => format!("`sysctl -w fs.nr_open={wanted}` and "),
                _ => String::new(),
            };
            format!("{first}`ulimit -Hn {wanted}` as root, or more server.workers in the plan")
        },
    },
    Rule {
        name: "fs.file-max",
        subject: Subject::Connections,
        unit: Unit::Count,
        why: "Both ends of a connection are open files of the machine; beyond the limit nothing can be opened (ENFILE).",
        source: "Documentation/admin-guide/sysctl/fs.rst",
        wanted: |f, d| f.files_open + 2 * d.connections + processes(f, d) * DESCRIPTORS_RESERVED,
        found: |f, _| f.files_max,
        mend: |_, wanted| format!("`sysctl -w fs.file-max={wanted}`"),
    },
    Rule {
        name: "the number of ports of all source addresses",
        subject: Subject::Connections,
        unit: Unit::Count,
        why: "Each pair of addresses has one port of net.ipv4.ip_local_port_range for a connection to one port of the \
              server; with none left a connect fails (EADDRNOTAVAIL).",
        source: "ip(7); Documentation/networking/ip-sysctl.rst, ip_local_port_range",
        wanted: |_, d| d.connections,
        found: |f, d| f.ports.map(|ports| ports * d.sources.max(1)),
        mend: |f, wanted| {
            let sources = wanted.div_ceil(f.ports.unwrap_or(28_232).max(1)) + 2;
            format!("load.source = \"127.0.0.0/{}\" in the plan", 32 - sources.next_power_of_two().ilog2())
        },
    },
    Rule {
        name: "net.core.somaxconn",
        subject: Subject::Connections,
        unit: Unit::Count,
        why: "It limits the queue of each listener. While connections are opened each process of the load has 100 connects \
              under way, and one that finds the queue full is sent again after a second.",
        source: "listen(2); Documentation/admin-guide/sysctl/net.rst",
        wanted: |f, d| {
            let under_way = load_processes(f, d) * CONNECTING_MAX;
            d.server_processes.map_or(0, |processes| share(under_way, processes))
        },
        found: |f, _| f.somaxconn,
        mend: |_, wanted| format!("`sysctl -w net.core.somaxconn={wanted}`"),
    },
    Rule {
        name: "fs.epoll.max_user_watches",
        subject: Subject::Connections,
        unit: Unit::Count,
        why: "Each descriptor that is watched with epoll counts against the user's limit (ENOSPC).",
        source: "epoll(7), /proc/sys/fs/epoll/max_user_watches",
        wanted: |_, d| {
            let ends = u64::from(!d.server_uses_uring) + u64::from(!d.load_uses_uring);
            ends * d.connections
        },
        found: |f, _| f.epoll_watches_max,
        mend: |_, wanted| format!("`sysctl -w fs.epoll.max_user_watches={wanted}`"),
    },
    Rule {
        name: "the limit on processes",
        subject: Subject::Connections,
        unit: Unit::Count,
        why: "A process holds as many connections as it may have descriptors, so that both sides need several (EAGAIN from \
              fork). The smallest of kernel.pid_max, kernel.threads-max, the limit of the control group (pids.max) and the \
              user's (RLIMIT_NPROC) counts.",
        source: "fork(2); proc(5)",
        wanted: |f, d| {
            f.tasks + load_processes(f, d) * TASKS_PER_LOAD_PROCESS + d.server_processes.unwrap_or(0) * 2
        },
        found: |f, _| f.tasks_max,
        mend: |_, wanted| {
            format!("at least {wanted} in kernel.pid_max, kernel.threads-max, pids.max and `ulimit -u`")
        },
    },
    Rule {
        name: "the available memory",
        subject: Subject::Connections,
        unit: Unit::Bytes,
        why: "Two sockets with what belongs to them take some 9 KB of the kernel's memory, which cannot be swapped out; a \
              machine without it kills processes.",
        source: "measured, docs/million.md; Documentation/filesystems/proc.rst, MemAvailable",
        wanted: |f, d| {
            d.connections * BYTES_PER_CONNECTION + processes(f, d) * BYTES_PER_PROCESS + BYTES_SPARE
        },
        found: |f, _| f.memory_available,
        mend: |_, wanted| {
            format!(
                "free memory, or fewer connections: {}",
                Unit::Bytes.show(wanted) + " have to be available"
            )
        },
    },
    Rule {
        name: "net.ipv4.tcp_mem (its third figure)",
        subject: Subject::Connections,
        unit: Unit::Pages,
        why: "It limits the data in flight of all connections together. An idle connection has none, but while all are \
              closed each FIN that waits takes a page; beyond the limit connections are reset.",
        source: "tcp(7), tcp_mem; measured, docs/million.md",
        wanted: |_, d| d.connections.div_ceil(CONNECTIONS_PER_TCP_PAGE),
        found: |f, _| f.tcp_pages_max,
        mend: |_, wanted| {
            format!("`sysctl -w net.ipv4.tcp_mem='{} {} {wanted}'`", wanted / 2, wanted / 4 * 3)
        },
    },
    Rule {
        name: "the limit on locked memory",
        subject: Subject::Connections,
        unit: Unit::Bytes,
        why: "Rings of io_uring count against the user's limit, those of all processes together (ENOMEM), unless the user \
              has CAP_IPC_LOCK.",
        source: "io_uring_setup(2), ENOMEM",
        wanted: |f, d| {
            let of_server = if d.server_uses_uring { d.server_processes.unwrap_or(1) } else { 0 };
            let of_load = if d.load_uses_uring { load_processes(f, d) } else { 0 };
            // Whoever may lock any memory has no limit here.
            if f.locked_bytes_max.is_some() { (of_server + of_load) * BYTES_PER_RING } else { 0 }
        },
        found: |f, _| f.locked_bytes_max,
        mend: |_, wanted| format!("`ulimit -l {}` as root", wanted >> 10),
    },
    Rule {
        name: "net.netfilter.nf_conntrack_max",
        subject: Subject::Connections,
        unit: Unit::Count,
        why: "A firewall that tracks connections has an entry for each, and drops packets of those for which it has none.",
        source: "Documentation/networking/nf_conntrack-sysctl.rst",
        wanted: |f, d| if f.tracked_max.is_some() { f.tracked + d.connections } else { 0 },
        found: |f, _| f.tracked_max,
        mend: |_, wanted| {
            format!(
                "`sysctl -w net.netfilter.nf_conntrack_max={wanted}`, or do not track the loopback (`-i lo -j NOTRACK`)"
            )
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
    let each = f.descriptors_max.unwrap_or(1024).saturating_sub(DESCRIPTORS_RESERVED).max(1);
    d.connections.div_ceil(each).min(LOAD_PROCESSES_MAX)
}

/// Processes of both sides.
fn processes(f: &Facts, d: &Demand) -> u64 {
    load_processes(f, d) + d.server_processes.unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, findings, refusal};
    use super::*;

    /// A machine that can hold a million.
    fn able() -> Facts {
        Facts {
            descriptors_max: Some(20_000),
            nr_open: Some(1 << 20),
            files_max: Some(2_466_183),
            files_open: 600,
            ports: Some(28_232),
            somaxconn: Some(4096),
            epoll_watches_max: Some(5_491_533),
            tasks_max: Some(32_768),
            tasks: 200,
            memory_available: Some(23 << 30),
            tcp_pages_max: Some(575_802),
            locked_bytes_max: Some(64 << 20),
            tracked_max: None,
            tracked: 0,
        }
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

    fn unmet(facts: &Facts, demand: &Demand) -> Vec<Finding> {
        findings(Subject::Connections, facts, demand).into_iter().filter(Finding::is_unmet).collect()
    }

    #[test]
    fn a_machine_that_has_held_a_million_is_not_refused() {
        assert!(unmet(&able(), &million()).is_empty());
        assert!(refusal(&findings(Subject::Connections, &able(), &million())).is_none());
    }

    #[test]
    fn each_limit_that_is_too_low_is_named_alone_with_how_to_mend_it() {
        type Change = fn(&mut Facts, &mut Demand);
        let cases: [(&str, &str, Change); 12] = [
            ("descriptors", "ulimit -Hn", |f, _| f.descriptors_max = Some(16_384)),
            ("descriptors", "server.workers", |_, d| d.server_processes = Some(50)),
            ("file-max", "fs.file-max=2014", |f, _| f.files_max = Some(1_000_000)),
            ("ports", "127.0.0.0/26", |_, d| d.sources = 14),
            ("somaxconn", "somaxconn=", |f, _| f.somaxconn = Some(128)),
            ("max_user_watches", "max_user_watches=2000128", |f, _| f.epoll_watches_max = Some(1_999_999)),
            ("processes", "pids.max", |f, _| f.tasks_max = Some(400)),
            ("memory", "11 GiB", |f, _| f.memory_available = Some(6 << 30)),
            ("tcp_mem", "tcp_mem='250016 375024 500032'", |f, _| f.tcp_pages_max = Some(400_000)),
            ("locked", "ulimit -l", |f, d| {
                d.server_uses_uring = true;
                f.locked_bytes_max = Some(64 << 10);
            }),
            ("conntrack", "NOTRACK", |f, _| f.tracked_max = Some(262_144)),
            ("descriptors", "fs.nr_open", |f, _| {
                f.descriptors_max = Some(1024);
                f.nr_open = Some(4096);
            }),
        ];
        for (word, cure, change) in cases {
            let (mut facts, mut demand) = (able(), million());
            change(&mut facts, &mut demand);
            let found = unmet(&facts, &demand);
            assert!(
                found.iter().any(|f| f.sentence().contains(word) && f.mend.contains(cure)),
                "{word}: {found:?}"
            );
            let failure = refusal(&findings(Subject::Connections, &facts, &demand)).unwrap();
            assert!(failure.to_string().contains(word) && failure.cure.contains(cure), "{failure:?}");
            assert!(!failure.to_string().contains('\n') && !failure.cure.contains('\n'));
        }
    }

    #[test]
    fn what_cannot_be_seen_stands_in_nobodys_way() {
        assert!(unmet(&Facts::default(), &million()).is_empty());
        let all = findings(Subject::Connections, &Facts::default(), &million());
        assert!(all.iter().all(|f| f.sentence().contains("not known")), "{all:?}");
    }

    #[test]
    fn what_a_cell_does_not_use_is_not_asked_for() {
        let names = |d: &Demand| -> Vec<&str> {
            findings(Subject::Connections, &able(), d).iter().map(|f| f.rule.name).collect()
        };
        assert!(!names(&million()).contains(&"the limit on locked memory"));
        let rings = Demand { server_uses_uring: true, load_uses_uring: true, ..million() };
        assert!(names(&rings).contains(&"the limit on locked memory"));
        assert!(!names(&rings).contains(&"fs.epoll.max_user_watches"));
        assert!(!names(&rings).contains(&"net.netfilter.nf_conntrack_max"));
        let other_program = Demand { server_processes: None, ..million() };
        assert!(!names(&other_program).contains(&"net.core.somaxconn"));
    }
}
