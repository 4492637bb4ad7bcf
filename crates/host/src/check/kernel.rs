//! The kernel itself: clock, switches, mitigations, preemption, entropy.

use super::judge::{absent, fine, one_of, unknown, wrong, wrong_by_hand};
use super::rule::{Evidence, Rule, Threshold, Use, Verdict};
use crate::facts::Facts;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "clock-source",
        looks_at: "the clock source",
        uses: &[],
        wanted: "tsc, or that of the hypervisor",
        why: "Reading the time from a device takes a microsecond and a system call, from the processor about 20 ns. Servers read it for every request.",
        source: "Documentation/timers/timekeeping.rst; vdso(7)",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: clock,
    },
    Rule {
        name: "time-sync",
        looks_at: "whether the time of day is synchronised",
        uses: &[Use::Http, Use::Mail],
        wanted: "synchronised",
        why: "Logs, certificates and mail depend on the time, and nothing synchronises this clock.",
        source: "adjtimex(2)",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: synchronised,
    },
    Rule {
        name: "io-uring",
        looks_at: "whether io_uring can be used (kernel.io_uring_disabled, filters of system calls)",
        uses: &[Use::Http, Use::Cache, Use::Files, Use::Load],
        wanted: "usable",
        why: "With 2 nobody can use io_uring, with 1 only processes with CAP_SYS_ADMIN or in its group; distributions and containers turn it off.",
        source: "Documentation/admin-guide/sysctl/kernel.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: uring,
    },
    Rule {
        name: "mitigations",
        looks_at: "mitigations of processor vulnerabilities",
        uses: &[],
        wanted: "a decision, stated in reports",
        why: "Some slow each system call. Turning them off is a security decision, not tuning; state them when you compare machines.",
        source: "Documentation/admin-guide/hw-vuln/index.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: mitigations,
    },
    Rule {
        name: "preemption",
        looks_at: "preemption of the kernel",
        uses: &[],
        wanted: "none, voluntary or lazy, for throughput",
        why: "Full preemption lowers the worst latencies and costs throughput; none does the opposite.",
        source: "kernel/Kconfig.preempt",
        evidence: Evidence::Documented,
        threshold: Threshold::Documented("kernel/Kconfig.preempt"),
        can_apply: false,
        judge: preemption,
    },
    Rule {
        name: "entropy",
        looks_at: "random numbers",
        uses: &[],
        wanted: "at least 128 bits",
        why: "TLS waits at the start until the generator is ready; since Linux 5.18 it remains ready.",
        source: "random(4)",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: entropy,
    },
    Rule {
        name: "nmi-watchdog",
        looks_at: "kernel.nmi_watchdog",
        uses: &[Use::Load],
        wanted: "0",
        why: "It occupies one hardware counter of each CPU, and interrupts it from time to time.",
        source: "Documentation/admin-guide/sysctl/kernel.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| watchdog(f).consider(),
    },
    Rule {
        name: "autogroup",
        looks_at: "kernel.sched_autogroup_enabled",
        uses: &[Use::Load],
        wanted: "0",
        why: "A load and a server from two terminals share the CPU by terminals, not by threads.",
        source: "sched(7)",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| autogroup(f).consider(),
    },
    Rule {
        name: "bpf-jit",
        looks_at: "net.core.bpf_jit_enable",
        uses: &[],
        wanted: "1 or 2",
        why: "Filters of sockets and of seccomp are interpreted without it, for every packet and every system call.",
        source: "Documentation/admin-guide/sysctl/net.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| one_of(f, "net.core.bpf_jit_enable", &["1", "2"]),
    },
];

fn clock(facts: &Facts) -> Verdict {
    let Some(found) = facts.word("system.clock source") else { return unknown("/sys does not show it") };
    if ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"].contains(&found) {
        return fine(found);
    }
    let better =
        facts.list("system.clock sources").into_iter().find(|name| ["tsc", "kvm-clock"].contains(name));
    match better {
        Some(name) => wrong(found, name, &[("clocksource", name)]),
        None => wrong_by_hand(
            found,
            "tsc",
            "tsc=reliable on the kernel's command line, where the processor's counter is constant",
        ),
    }
}

fn synchronised(facts: &Facts) -> Verdict {
    match facts.word("time.synchronised") {
        None => unknown("the kernel does not show it"),
        Some("true") => fine("synchronised"),
        Some(_) => wrong_by_hand(
            "not synchronised",
            "synchronised",
            "run chrony or systemd-timesyncd, or let the host of the virtual machine do it",
        )
        .consider(),
    }
}

/// The switch is not all: filters of system calls forbid it in containers.
fn uring(facts: &Facts) -> Verdict {
    const WANTED: &str = "usable";
    let key = "kernel.io_uring_disabled";
    let refused = |why: &str| {
        let fix = facts.word("io-uring.fix").unwrap_or("use Linux 6.1 or later");
        wrong_by_hand(why, WANTED, fix)
    };
    match (facts.number(key), facts.word("io-uring.refused"), facts.word("io-uring.works")) {
        (Some(found @ 1..), _, _) => wrong(format!("{key} is {found}"), WANTED, &[(key, "0")]),
        (Some(_), Some(why), _) => refused(why),
        // Before Linux 6.6 there is no switch, and before 6.1 not all that is needed.
        (None, Some(why), _) => refused(why).consider(),
        (_, None, Some(_)) => fine(WANTED),
        (_, None, None) => unknown("it was not tried"),
    }
}

fn mitigations(facts: &Facts) -> Verdict {
    let all: Vec<(&str, &str)> = facts.beginning("cpu.mitigation ").collect();
    let active = all.iter().filter(|(_, state)| state.starts_with("Mitigation"));
    let active: Vec<&str> = active.map(|(bug, _)| *bug).collect();
    match (all.is_empty(), active.is_empty()) {
        (true, _) => unknown("/sys does not show them"),
        (_, true) => fine("none is active"),
        _ => wrong_by_hand(
            format!("active: {}", active.join(", ")),
            "a decision, stated in reports",
            "mitigations=off on the kernel's command line, on a machine that runs only trusted code",
        )
        .consider(),
    }
}

fn preemption(facts: &Facts) -> Verdict {
    match facts.word("kernel.preempt") {
        None => unknown("the kernel does not show it"),
        Some("preempt_dynamic") => {
            unknown("it is chosen at boot, and /sys/kernel/debug/sched/preempt cannot be read")
        }
        Some(found @ ("none" | "voluntary" | "lazy" | "preempt_lazy")) => fine(found),
        Some(found) => wrong_by_hand(
            found,
            "none, voluntary or lazy, for throughput",
            "preempt=voluntary on the kernel's command line",
        )
        .consider(),
    }
}

fn entropy(facts: &Facts) -> Verdict {
    match facts.number("kernel.random.entropy_avail") {
        None => unknown("the kernel does not show it"),
        Some(bits) if bits >= 128 => fine(format!("{bits} bits")),
        Some(bits) => {
            wrong_by_hand(format!("{bits} bits"), "at least 128 bits", "a virtio-rng device, or rngd")
        }
    }
}

fn watchdog(facts: &Facts) -> Verdict {
    match facts.number("kernel.nmi_watchdog") {
        None => absent("this kernel has none"),
        _ => one_of(facts, "kernel.nmi_watchdog", &["0"]),
    }
}

fn autogroup(facts: &Facts) -> Verdict {
    match facts.number("kernel.sched_autogroup_enabled") {
        None => absent("this kernel has none"),
        _ => one_of(facts, "kernel.sched_autogroup_enabled", &["0"]),
    }
}
