//! Frequencies, idle states, and which CPUs there are.

use super::judge::{absent, fine, one_of, unknown, wrong, wrong_by_hand};
use super::rule::{Evidence, Rule, Threshold, Use, Verdict};
use crate::facts::Facts;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "governor",
        looks_at: "the frequency governor",
        uses: &[Use::Http, Use::Cache, Use::Load],
        wanted: "performance",
        why: "A CPU that raises its frequency only when busy makes the first requests after a pause slow, and CPU time per request depends on the load.",
        source: "Documentation/admin-guide/pm/cpufreq.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: governor,
    },
    Rule {
        name: "energy-preference",
        looks_at: "the energy preference of the CPUs",
        uses: &[Use::Cache, Use::Load],
        wanted: "performance or 0",
        why: "With performance the processor does not reduce its speed to save power.",
        source: "Documentation/admin-guide/pm/intel_pstate.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| preference(f).consider(),
    },
    Rule {
        name: "idle-states",
        looks_at: "the longest wake-up time of an idle CPU",
        uses: &[Use::Cache, Use::Load],
        wanted: "at most 50 us",
        why: "A CPU in a deep idle state takes this long to wake for a packet.",
        source: "Documentation/admin-guide/pm/cpuidle.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: idle,
    },
    Rule {
        name: "turbo",
        looks_at: "turbo frequencies",
        uses: &[Use::Load],
        wanted: "off for a comparison",
        why: "With turbo the speed depends on temperature and on the number of busy CPUs: comparisons vary less without it, servers are faster with it.",
        source: "Documentation/admin-guide/pm/intel_pstate.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: turbo,
    },
    Rule {
        name: "smt",
        looks_at: "threads of cores (SMT)",
        uses: &[Use::Load],
        wanted: "off for a comparison",
        why: "Two threads share a core: a load on one slows a server on the other. Pin them to different cores, or turn SMT off for a comparison.",
        source: "Documentation/admin-guide/hw-vuln/core-scheduling.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: smt,
    },
    Rule {
        name: "isolated-cpus",
        looks_at: "CPUs that are isolated from the scheduler",
        uses: &[Use::Load],
        wanted: "those of the server and of the load",
        why: "Figures vary least on CPUs that nothing else uses; otherwise the scheduler runs other programs on the same CPUs.",
        source: "Documentation/admin-guide/kernel-parameters.txt, isolcpus; cgroup-v2.rst, cpuset",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: isolated,
    },
    Rule {
        name: "allowed-cpus",
        looks_at: "CPUs that this process may use",
        uses: &[],
        wanted: "all",
        why: "taskset, a control group or a systemd unit may restrict it to some of them.",
        source: "sched_setaffinity(2)",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: allowed,
    },
    Rule {
        name: "steal",
        looks_at: "CPU time that the hypervisor gave to others (steal)",
        uses: &[],
        wanted: "at most 1% of the busy time",
        why: "Other virtual machines slow this one for moments; only interleaved slices give comparable figures.",
        source: "proc_stat(5); docs/method-slices.md",
        evidence: Evidence::Measured,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: steal,
    },
];

fn governor(facts: &Facts) -> Verdict {
    match facts.word("cpu.governor") {
        None if facts.is_virtual() == Some(true) => unknown("the host of this virtual machine decides"),
        None => unknown("the kernel does not control frequencies here"),
        Some("performance") => fine("performance"),
        Some(found) => wrong(found, "performance", &[("cpu.governor", "performance")]),
    }
}

fn preference(facts: &Facts) -> Verdict {
    if facts.word("cpu.energy-preference").is_none() {
        return absent("the processor has none");
    }
    one_of(facts, "cpu.energy-preference", &["performance", "0"])
}

/// Deeper states are to be considered.
const WAKE_UP_US: u64 = 50;

fn idle(facts: &Facts) -> Verdict {
    let driver = facts.word("cpu.idle driver").filter(|driver| *driver != "none");
    match (driver, facts.number("idle.latency-us")) {
        (None, None) => absent("the kernel has no idle states here"),
        (_, None) => unknown("the kernel does not show it"),
        (_, Some(us)) if us <= WAKE_UP_US => fine(format!("{us} us")),
        (_, Some(us)) => wrong(
            format!("{us} us"),
            format!("at most {WAKE_UP_US} us"),
            &[("cpu.idle-latency-us", &WAKE_UP_US.to_string())],
        )
        .consider(),
    }
}

fn turbo(facts: &Facts) -> Verdict {
    match facts.word("cpu.turbo") {
        None => unknown("this machine does not show it"),
        Some("off") => fine("off"),
        Some(found) => wrong(found, "off for a comparison", &[("cpu.turbo", "off")]).consider(),
    }
}

fn smt(facts: &Facts) -> Verdict {
    match facts.word("smt.active") {
        None => unknown("this machine does not show it"),
        Some("0") => fine("off"),
        Some(_) => wrong("on", "off for a comparison", &[("cpu.smt", "off")]).consider(),
    }
}

fn isolated(facts: &Facts) -> Verdict {
    match facts.word("cpu.isolated") {
        None => unknown("this machine does not show it"),
        Some("none") => wrong_by_hand(
            "none",
            "those of the server and of the load",
            "pitot host apply fence=LIST, or isolcpus= on the kernel's command line",
        )
        .consider(),
        Some(found) => fine(found),
    }
}

fn allowed(facts: &Facts) -> Verdict {
    let (Some(online), Some(allowed)) = (facts.count("cpu.online"), facts.count("cpu.allowed")) else {
        return unknown("the CPUs cannot be counted");
    };
    let found = format!("{allowed} of {online}");
    if allowed >= online {
        fine(found)
    } else {
        wrong_by_hand(found, "all", "taskset -c or the cpuset of its group; ignore if intended").consider()
    }
}

fn steal(facts: &Facts) -> Verdict {
    match facts.number("steal.permille") {
        None => unknown("/proc/stat does not show it"),
        Some(permille) if permille <= 10 => {
            fine(format!("{}.{}% of the busy time", permille / 10, permille % 10))
        }
        Some(permille) => wrong_by_hand(
            format!("{}.{}% of the busy time", permille / 10, permille % 10),
            "at most 1% of the busy time",
            "compare in slices (`pitot run` does), or use a dedicated machine",
        )
        .consider(),
    }
}
