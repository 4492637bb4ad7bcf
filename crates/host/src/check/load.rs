//! What the load generator needs.

use super::judge::{fine, unknown, wrong, wrong_by_hand};
use super::rule::{Evidence, Rule, Threshold, Use, Verdict};
use crate::facts::Facts;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "load-cpus",
        looks_at: "CPUs for server and load",
        uses: &[Use::Load],
        wanted: "at least 2",
        why: "On one CPU server and load compete: throughput is that of both together.",
        source: "sched(7)",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: cpus,
    },
    Rule {
        name: "load-quiet",
        looks_at: "other programs (load average)",
        uses: &[Use::Load],
        wanted: "at most a quarter of the CPUs",
        why: "Other programs take CPU time from the measurement, in bursts.",
        source: "docs/method-slices.md",
        evidence: Evidence::Measured,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: quiet,
    },
    Rule {
        name: "load-ports",
        looks_at: "ports for connections from one address",
        uses: &[Use::Load],
        wanted: "at least 10000",
        why: "With fewer, use several source addresses (`--source 127.0.0.0/24`).",
        source: "ip(7); docs/million.md",
        evidence: Evidence::Measured,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: ports,
    },
    Rule {
        name: "load-descriptors",
        looks_at: "descriptors of the load generator",
        uses: &[Use::Load],
        wanted: "at least 20000",
        why: "Each connection takes one; with fewer the load needs several processes (`--processes`).",
        source: "getrlimit(2); docs/million.md",
        evidence: Evidence::Measured,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: descriptors,
    },
];

fn cpus(facts: &Facts) -> Verdict {
    match facts.count("cpu.allowed") {
        None => unknown("the CPUs cannot be counted"),
        Some(cpus) if cpus >= 2 => fine(cpus),
        Some(cpus) => wrong_by_hand(cpus, "at least 2", "another CPU, or another machine for the load"),
    }
}

fn quiet(facts: &Facts) -> Verdict {
    let load = facts.word("load.average").and_then(|word| word.parse::<f64>().ok());
    let (Some(load), Some(cpus)) = (load, facts.count("cpu.online")) else {
        return unknown("/proc/loadavg does not show it");
    };
    let found = format!("a load of {load:.2} on {cpus} CPUs");
    if load <= cpus as f64 / 4.0 {
        fine(found)
    } else {
        wrong_by_hand(found, "at most a quarter of the CPUs", "stop other programs, or wait").consider()
    }
}

fn ports(facts: &Facts) -> Verdict {
    let key = "net.ipv4.ip_local_port_range";
    let Some([low, high]) = facts.numbers(key).and_then(|range| <[u64; 2]>::try_from(range).ok()) else {
        return unknown("this kernel does not show them here");
    };
    let ports = (high + 1).saturating_sub(low);
    if ports >= 10_000 {
        fine(ports)
    } else {
        wrong(
            ports,
            "at least 10000",
            &[("net.ipv4.ip_local_reserved_ports", "listening"), (key, "1024 65535")],
        )
    }
}

fn descriptors(facts: &Facts) -> Verdict {
    match facts.number("limits.descriptors.hard") {
        None => unknown("/proc/self/limits does not show it"),
        Some(hard) if hard >= 20_000 => fine(hard),
        Some(hard) => wrong_by_hand(hard, "at least 20000", "`ulimit -Hn 1048576` as root, or --processes"),
    }
}
