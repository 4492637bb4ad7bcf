//! Descriptors, processes and what else a program may have many of.

use super::judge::{at_least, fine, unknown, wrong_by_hand};
use super::rule::{Evidence, Rule, Threshold, Use, Verdict};
use crate::facts::Facts;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "descriptors-hard",
        looks_at: "the hard limit on descriptors (RLIMIT_NOFILE)",
        uses: &[Use::Http, Use::Cache, Use::Mail, Use::Load],
        wanted: "at least 65536",
        why: "A connection is a descriptor: without a free one a server cannot accept (EMFILE), and it can raise its own limit up to the hard one.",
        source: "getrlimit(2); docs/million.md",
        evidence: Evidence::Measured,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: |f| {
            limit(
                f,
                "limits.descriptors.hard",
                65_536,
                "LimitNOFILE=1048576 in the unit of systemd, or `ulimit -Hn 1048576` as root",
            )
        },
    },
    Rule {
        name: "descriptors-soft",
        looks_at: "the soft limit on descriptors",
        uses: &[Use::Http, Use::Cache, Use::Mail],
        wanted: "at least 4096",
        why: "Programs that do not raise it have no more descriptors than this, often 1024; Pitot's programs raise it.",
        source: "getrlimit(2)",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: |f| {
            limit(
                f,
                "limits.descriptors.soft",
                4096,
                "`ulimit -n $(ulimit -Hn)`, or LimitNOFILE in the unit of systemd",
            )
            .consider()
        },
    },
    Rule {
        name: "file-max",
        looks_at: "fs.file-max",
        uses: &[Use::Http, Use::Cache, Use::Mail, Use::Load],
        wanted: "at least 1000000",
        why: "All open files of the machine: beyond it nothing can be opened (ENFILE).",
        source: "Documentation/admin-guide/sysctl/fs.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| at_least(f, "fs.file-max", 1_000_000),
    },
    Rule {
        name: "nr-open",
        looks_at: "fs.nr_open",
        uses: &[Use::Http, Use::Cache, Use::Mail, Use::Load],
        wanted: "at least 1048576",
        why: "The hard limit on descriptors cannot be raised above it.",
        source: "Documentation/admin-guide/sysctl/fs.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| at_least(f, "fs.nr_open", 1_048_576),
    },
    Rule {
        name: "processes",
        looks_at: "the limit on processes (RLIMIT_NPROC)",
        uses: &[Use::Http, Use::Mail, Use::Load],
        wanted: "at least 4096",
        why: "It limits servers with a process or a thread for each connection (EAGAIN from fork or clone).",
        source: "getrlimit(2); fork(2)",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: |f| {
            limit(f, "limits.processes.soft", 4096, "`ulimit -u 65536`, or LimitNPROC in the unit of systemd")
        },
    },
    Rule {
        name: "threads-max",
        looks_at: "kernel.threads-max",
        uses: &[Use::Http, Use::Mail, Use::Load],
        wanted: "at least 16384",
        why: "All threads of the machine.",
        source: "Documentation/admin-guide/sysctl/kernel.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| at_least(f, "kernel.threads-max", 16_384),
    },
    Rule {
        name: "pid-max",
        looks_at: "kernel.pid_max",
        uses: &[Use::Http, Use::Mail, Use::Load],
        wanted: "at least 32768",
        why: "Each thread has a number below it.",
        source: "Documentation/admin-guide/sysctl/kernel.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| at_least(f, "kernel.pid_max", 32_768),
    },
    Rule {
        name: "map-count",
        looks_at: "vm.max_map_count",
        uses: &[Use::Http, Use::Cache],
        wanted: "at least 65530",
        why: "A thread takes two mappings for its stack: a process can have about half as many threads as this.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| at_least(f, "vm.max_map_count", 65_530),
    },
    Rule {
        name: "epoll-watches",
        looks_at: "fs.epoll.max_user_watches",
        uses: &[Use::Http, Use::Cache, Use::Load],
        wanted: "at least 100000",
        why: "It limits the descriptors that are watched with epoll (ENOSPC).",
        source: "epoll(7)",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| at_least(f, "fs.epoll.max_user_watches", 100_000),
    },
    Rule {
        name: "aio-max-nr",
        looks_at: "fs.aio-max-nr",
        uses: &[Use::Files],
        wanted: "at least 65536",
        why: "Native AIO requests of all processes: io_setup fails beyond it (EAGAIN).",
        source: "Documentation/admin-guide/sysctl/fs.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| at_least(f, "fs.aio-max-nr", 65_536),
    },
];

/// A limit of the process, which a person raises.
fn limit(facts: &Facts, name: &str, least: u64, hand: &str) -> Verdict {
    let show = |n: u64| if n == u64::MAX { "unlimited".to_owned() } else { n.to_string() };
    match facts.number(name) {
        None => unknown("/proc/self/limits does not show it"),
        Some(found) if found >= least => fine(show(found)),
        Some(found) => wrong_by_hand(show(found), format!("at least {least}"), hand),
    }
}
