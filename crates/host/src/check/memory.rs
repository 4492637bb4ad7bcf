//! Huge pages, swap and where memory is.

use super::judge::{absent, at_least, at_most, fine, one_of, unknown, wrong, wrong_by_hand};
use super::rule::{Evidence, Rule, Threshold, Use, Verdict};
use crate::facts::Facts;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "thp",
        looks_at: "transparent huge pages (enabled)",
        uses: &[Use::Cache, Use::Mail],
        wanted: "madvise or never",
        why: "With always, a cache that forks copies 2 MiB for each changed byte, and memory grows; with madvise only programs that ask get them.",
        source: "Documentation/admin-guide/mm/transhuge.rst; Redis, latency",
        evidence: Evidence::Documented,
        threshold: Threshold::Documented("Redis, latency"),
        can_apply: true,
        judge: |f| one_of(f, "thp.enabled", &["madvise", "never"]),
    },
    Rule {
        name: "thp-defrag",
        looks_at: "transparent huge pages (defrag)",
        uses: &[Use::Cache],
        wanted: "madvise or defer+madvise or defer or never",
        why: "With always a page fault waits for memory compaction.",
        source: "Documentation/admin-guide/mm/transhuge.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| one_of(f, "thp.defrag", &["madvise", "defer+madvise", "defer", "never"]),
    },
    Rule {
        name: "numa-balancing",
        looks_at: "kernel.numa_balancing",
        uses: &[Use::Cache, Use::Load],
        wanted: "0",
        why: "The kernel unmaps pages to see who uses them, which adds page faults. Bind processes to a node instead.",
        source: "Documentation/admin-guide/sysctl/kernel.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Documented("Documentation/admin-guide/sysctl/kernel.rst"),
        can_apply: true,
        judge: numa,
    },
    Rule {
        name: "zone-reclaim",
        looks_at: "vm.zone_reclaim_mode",
        uses: &[Use::Cache, Use::Files],
        wanted: "0",
        why: "With 1 a node frees its own page cache before it uses free memory of another.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Documented("Documentation/admin-guide/sysctl/vm.rst"),
        can_apply: true,
        judge: |f| one_of(f, "vm.zone_reclaim_mode", &["0"]),
    },
    Rule {
        name: "swap",
        looks_at: "swap in use",
        uses: &[Use::Http, Use::Cache, Use::Mail],
        wanted: "at most 1%",
        why: "Reading swapped memory takes a thousand times as long.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: swap,
    },
    Rule {
        name: "swappiness",
        looks_at: "vm.swappiness",
        uses: &[Use::Cache, Use::Mail],
        wanted: "at most 10",
        why: "A low value evicts page cache before the memory of processes; without swap it has no effect.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Advised,
        can_apply: true,
        judge: swappiness,
    },
    Rule {
        name: "overcommit",
        looks_at: "vm.overcommit_memory",
        uses: &[Use::Cache],
        wanted: "1",
        why: "Redis forks to save its data, and with 0 or 2 that fork can fail for a large one. A cache that does not fork, such as memcached, is not affected.",
        source: "Redis, administration; Documentation/admin-guide/sysctl/vm.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Documented("Redis, administration"),
        can_apply: true,
        judge: |f| one_of(f, "vm.overcommit_memory", &["1"]).consider(),
    },
    Rule {
        name: "memory-available",
        looks_at: "available memory",
        uses: &[],
        wanted: "at least 5% of all",
        why: "With less the machine swaps or kills processes.",
        source: "Documentation/filesystems/proc.rst, MemAvailable",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: available,
    },
    Rule {
        name: "min-free",
        looks_at: "vm.min_free_kbytes",
        uses: &[Use::Http, Use::Cache, Use::Load],
        wanted: "half of what the kernel chooses, or 65536",
        why: "Packets are received into memory that must be free immediately.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| min_free(f).consider(),
    },
    Rule {
        name: "same-page-merging",
        looks_at: "merging of equal pages (KSM)",
        uses: &[Use::Cache, Use::Load],
        wanted: "0",
        why: "A kernel thread compares pages constantly, and writing to a merged page takes a page fault.",
        source: "Documentation/admin-guide/mm/ksm.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: false,
        judge: ksm,
    },
];

fn numa(facts: &Facts) -> Verdict {
    match (facts.count("memory.NUMA nodes"), facts.number("kernel.numa_balancing")) {
        (None, _) => unknown("the nodes cannot be counted"),
        (Some(1), _) => absent("the machine has one node"),
        (_, None) => absent("the kernel has no such balancing"),
        (_, Some(0)) => fine(0),
        (_, Some(found)) => wrong(found, 0, &[("kernel.numa_balancing", "0")]).consider(),
    }
}

fn swap(facts: &Facts) -> Verdict {
    let (Some(total), Some(free)) = (facts.kilobytes("memory.SwapTotal"), facts.kilobytes("memory.SwapFree"))
    else {
        return unknown("/proc/meminfo does not show it");
    };
    let used = total.saturating_sub(free);
    match total {
        0 => fine("there is none"),
        _ if used * 100 <= total => fine(format!("{} of {} MiB", used >> 10, total >> 10)),
        _ => wrong_by_hand(
            format!("{} of {} MiB", used >> 10, total >> 10),
            "at most 1%",
            "find what uses the memory (`smem`), then `swapoff -a && swapon -a`",
        )
        .consider(),
    }
}

fn swappiness(facts: &Facts) -> Verdict {
    match facts.kilobytes("memory.SwapTotal") {
        None => unknown("/proc/meminfo does not show it"),
        Some(0) => absent("there is no swap"),
        Some(_) => at_most(facts, "vm.swappiness", 10).consider(),
    }
}

fn available(facts: &Facts) -> Verdict {
    let (Some(total), Some(available)) =
        (facts.kilobytes("memory.MemTotal"), facts.kilobytes("memory.MemAvailable"))
    else {
        return unknown("/proc/meminfo does not show it");
    };
    let found = format!("{} of {} MiB", available >> 10, total >> 10);
    if available * 20 >= total {
        fine(found)
    } else {
        wrong_by_hand(found, "at least 5% of all", "stop other programs")
    }
}

fn min_free(facts: &Facts) -> Verdict {
    match facts.kilobytes("memory.MemTotal") {
        None => unknown("/proc/meminfo does not show it"),
        // The kernel chooses the square root of sixteen times the memory.
        Some(total) => at_least(facts, "vm.min_free_kbytes", ((total * 16).isqrt() / 2).min(65_536)),
    }
}

fn ksm(facts: &Facts) -> Verdict {
    match facts.word("memory.same-page merging") {
        None => absent("the kernel has none"),
        Some("0") => fine("off"),
        Some(found) => wrong_by_hand(found, "0", "echo 0 > /sys/kernel/mm/ksm/run").consider(),
    }
}
