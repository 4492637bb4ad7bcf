//! What the side that makes the load needs.

use super::judge::{fine, unknown, wrong, wrong_by_hand};
use super::rule::{Evidence, Rule, Threshold, Use, Verdict};
use crate::facts::Facts;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "load-cpus",
        looks_at: "CPUs for the load beside those of the server",
        uses: &[Use::Load],
        wanted: "at least 2",
        why: "On one CPU server and load take it from each other: throughput is that of both together.",
        source: "sched(7)",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: cpus,
    },
    Rule {
        name: "load-quiet",
        looks_at: "what else runs",
        uses: &[Use::Load],
        wanted: "a quarter of the CPUs at most",
        why: "Other work takes CPU time from the measurement; noise comes in bursts.",
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
        why: "Without more, spread the load over several source addresses (`--source 127.0.0.0/24`).",
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
        why: "Each connection of the load is one; with fewer it takes several processes (`--processes`).",
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
        return unknown("/proc/loadavg does not tell it");
    };
    let found = format!("a load of {load:.2} on {cpus} CPUs");
    if load <= cpus as f64 / 4.0 {
        fine(found)
    } else {
        wrong_by_hand(found, "a quarter of the CPUs at most", "end what else runs, or wait").consider()
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
        None => unknown("/proc/self/limits does not tell it"),
        Some(hard) if hard >= 20_000 => fine(hard),
        Some(hard) => wrong_by_hand(hard, "at least 20000", "`ulimit -Hn 1048576` as root, or --processes"),
    }
}
