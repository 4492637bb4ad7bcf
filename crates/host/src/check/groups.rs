//! Limits of control groups.

use super::judge::{fine, unknown, wrong_by_hand};
use super::rule::{Evidence, Rule, Threshold, Use, Verdict};
use crate::facts::Facts;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "cpu-quota",
        looks_at: "the CPU quota of the control group (cpu.max)",
        uses: &[],
        wanted: "none",
        why: "A process that has used its quota stops until the next period of 100 ms: the worst latencies of containers.",
        source: "Documentation/admin-guide/cgroup-v2.rst; Documentation/scheduler/sched-bwc.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: quota,
    },
    Rule {
        name: "cpu-throttled",
        looks_at: "periods in which the control group was throttled",
        uses: &[],
        wanted: "0",
        why: "They count from the start of the group.",
        source: "Documentation/scheduler/sched-bwc.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: throttled,
    },
    Rule {
        name: "group-pids",
        looks_at: "processes and threads that the control group still allows (pids.max)",
        uses: &[Use::Http, Use::Mail, Use::Load],
        wanted: "at least 4096",
        why: "It limits servers with a process or a thread for each connection (EAGAIN from fork or clone), besides the limits of the user.",
        source: "Documentation/admin-guide/cgroup-v2.rst; systemd.resource-control(5), TasksMax",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: pids,
    },
    Rule {
        name: "group-memory",
        looks_at: "memory that the control group still allows (memory.max), without the page cache",
        uses: &[],
        wanted: "at least 10%",
        why: "At the limit the group swaps or its processes are killed, however much memory the machine has free. Buffers of sockets count.",
        source: "Documentation/admin-guide/cgroup-v2.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: memory,
    },
];

/// As many as a server with a thread for each connection may have, as in the rule `processes`.
const PIDS_MIN: u64 = 4096;
/// Less than this share of what is allowed is too little.
const MEMORY_SHARE: u64 = 10;

const NO_GROUP: &str = "the control group of this process cannot be seen";

fn quota(facts: &Facts) -> Verdict {
    match facts.word("group.cpu-quota") {
        None => unknown(NO_GROUP),
        Some("max") => fine("none"),
        Some(found) => wrong_by_hand(
            format!("{found} us"),
            "none",
            "give CPUs (cpuset) rather than time: CPUQuota= of systemd, `--cpus` of containers",
        ),
    }
}

fn throttled(facts: &Facts) -> Verdict {
    match facts.number("group.throttled") {
        None => unknown(NO_GROUP),
        Some(0) => fine(0),
        Some(periods) => wrong_by_hand(periods, 0, "a larger quota, or none").consider(),
    }
}

fn pids(facts: &Facts) -> Verdict {
    match (facts.word("group.pids-free"), facts.number("group.pids-free")) {
        (None, _) => unknown(NO_GROUP),
        (_, None) => fine("no limit"),
        (_, Some(free)) if free >= PIDS_MIN => fine(format!("{free} more")),
        (_, Some(free)) => wrong_by_hand(
            format!("{free} more"),
            format!("at least {PIDS_MIN}"),
            "raise TasksMax= of the unit of systemd, or `--pids-limit` of the container",
        ),
    }
}

fn memory(facts: &Facts) -> Verdict {
    let mib = |bytes: u64| bytes >> 20;
    match (facts.word("group.memory"), facts.numbers("group.memory").as_deref()) {
        (None, _) => unknown(NO_GROUP),
        (_, Some(&[free, most])) if free >= most / MEMORY_SHARE => {
            fine(format!("{} of {} MiB free", mib(free), mib(most)))
        }
        (_, Some(&[free, most])) => wrong_by_hand(
            format!("{} of {} MiB free", mib(free), mib(most)),
            "at least 10%",
            "raise MemoryMax= of the unit of systemd, or `--memory` of the container",
        ),
        _ => fine("no limit"),
    }
}
