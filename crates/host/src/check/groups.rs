//! Limits of control groups.

use super::facts::Facts;
use super::judge::{fine, unknown, wrong_by_hand};
use super::rule::{Evidence, Rule, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "cpu-quota",
        looks_at: "the CPU quota of the control group (cpu.max)",
        uses: &[],
        why: "A process that has used its quota stands still until the next period of 100 ms: the worst latencies of containers.",
        source: "Documentation/admin-guide/cgroup-v2.rst; Documentation/scheduler/sched-bwc.rst",
        evidence: Evidence::Documented,
        judge: quota,
    },
    Rule {
        name: "cpu-throttled",
        looks_at: "periods in which the control group was throttled",
        uses: &[],
        why: "They count from the start of the group.",
        source: "Documentation/scheduler/sched-bwc.rst",
        evidence: Evidence::Documented,
        judge: throttled,
    },
];

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
