//! Queues, rings, interrupts and offloads of network interfaces.

use super::judge::{absent, each, fine, unknown, wrong, wrong_by_hand};
use super::rule::{Evidence, Rule, Threshold, Verdict};
use crate::facts::Facts;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "nic-queues",
        looks_at: "queues of each NIC (ethtool -l)",
        uses: &[],
        wanted: "a queue for each CPU, or as many as the driver has",
        why: "One CPU at a time receives the packets of a queue: with one queue for many CPUs it is the bottleneck. In 2009, 2+2 queues were the best on Linux, found by experiment.",
        source: "Documentation/networking/scaling.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Documented("Documentation/networking/scaling.rst"),
        can_apply: true,
        judge: |f| each(f, "nics", NO_NIC, |nic| queues(f, nic)),
    },
    Rule {
        name: "nic-rings",
        looks_at: "rings of each NIC (ethtool -g)",
        uses: &[],
        wanted: "1024, or as many as the driver has; more if packets were dropped",
        why: "The device drops a burst that does not fit into the ring, unseen by the kernel.",
        source: "ethtool(8)",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| each(f, "nics", NO_NIC, |nic| rings(f, nic)),
    },
    Rule {
        name: "nic-drops",
        looks_at: "packets that the NIC dropped",
        uses: &[],
        wanted: "at most one in ten thousand",
        why: "The ring was full, or there was no memory.",
        source: "Documentation/networking/statistics.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: |f| each(f, "nics", NO_NIC, |nic| drops(f, nic)),
    },
    Rule {
        name: "nic-coalescing",
        looks_at: "interrupt coalescing of each NIC (ethtool -c)",
        uses: &[],
        wanted: "adaptive, or at most 100 us",
        why: "An interrupt for every packet costs CPU; a delayed one costs latency. Adaptive coalescing balances both.",
        source: "ethtool(8)",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| each(f, "nics", NO_NIC, |nic| coalescing(f, nic)),
    },
    Rule {
        name: "nic-offloads",
        looks_at: "segmentation, GRO and checksums of each NIC (ethtool -k)",
        uses: &[],
        wanted: "on, where the device can",
        why: "Without them each segment of 1448 bytes passes through the whole stack.",
        source: "Documentation/networking/segmentation-offloads.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| each(f, "nics", NO_NIC, |nic| offloads(f, nic)),
    },
    Rule {
        name: "nic-duplex",
        looks_at: "speed and duplex of each NIC",
        uses: &[],
        wanted: "full duplex, and 1000 Mbit/s or more",
        why: "Half duplex or low speed is due to a bad cable or a failed negotiation.",
        source: "ethtool(8)",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: false,
        judge: |f| each(f, "nics", NO_NIC, |nic| duplex(f, nic)),
    },
    Rule {
        name: "nic-tx-queue-len",
        looks_at: "length of the send queue of each NIC",
        uses: &[],
        wanted: "at least 500",
        why: "Without fair queueing a short queue drops bursts.",
        source: "ip-link(8)",
        evidence: Evidence::Documented,
        threshold: Threshold::Advised,
        can_apply: true,
        judge: |f| each(f, "nics", NO_NIC, |nic| tx_queue(f, nic)),
    },
];

const NO_NIC: &str = "there is no NIC that is up";

fn of(facts: &Facts, nic: &str, name: &str) -> Option<u64> {
    facts.number(&format!("nic.{nic}.{name}"))
}

fn queues(facts: &Facts, nic: &str) -> Verdict {
    let Some(cpus) = facts.count("cpu.online") else { return unknown("the CPUs cannot be counted") };
    let kinds: Vec<(&str, u64, u64)> = ["combined-queues", "rx-queues"]
        .into_iter()
        .filter_map(|name| Some((name, of(facts, nic, name)?, of(facts, nic, &format!("{name}.max"))?)))
        .filter(|(_, _, max)| *max > 0)
        .collect();
    let Some((name, found, max)) = kinds.first() else { return unknown("its driver does not show it") };
    let wanted = cpus.min(*max);
    if *found >= wanted {
        return fine(format!("{found} of {max}"));
    }
    wrong(
        format!("{found} of {max}"),
        format!("{wanted}, as there are {cpus} CPUs"),
        &[(&format!("nic.{nic}.{name}"), &wanted.to_string())],
    )
}

fn rings(facts: &Facts, nic: &str) -> Verdict {
    let (Some(found), Some(max)) = (of(facts, nic, "rx-ring"), of(facts, nic, "rx-ring.max")) else {
        return unknown("its driver does not show it");
    };
    let missed =
        of(facts, nic, "rx_missed_errors").unwrap_or(0) + of(facts, nic, "rx_fifo_errors").unwrap_or(0);
    let wanted = max.min((found * 2).max(1024));
    let larger =
        |found: String| wrong(found, wanted, &[(&format!("nic.{nic}.rx-ring"), &wanted.to_string())]);
    match missed {
        _ if found >= wanted => fine(format!("{found} of {max}")),
        0 if found >= max.min(1024) => fine(format!("{found} of {max}")),
        0 => larger(format!("{found} of {max}")).consider(),
        _ => larger(format!("{found} of {max}, and {missed} packets were dropped")),
    }
}

fn drops(facts: &Facts, nic: &str) -> Verdict {
    let (Some(packets), Some(dropped)) = (of(facts, nic, "rx_packets"), of(facts, nic, "rx_dropped")) else {
        return unknown("the kernel does not count them");
    };
    let all =
        dropped + of(facts, nic, "rx_missed_errors").unwrap_or(0) + of(facts, nic, "tx_dropped").unwrap_or(0);
    let found = format!("{all} of {packets}");
    if all * 10_000 <= packets {
        return fine(found);
    }
    wrong_by_hand(
        found,
        "at most one in ten thousand",
        "larger rings, more queues, or interrupts on more CPUs",
    )
    .consider()
}

fn coalescing(facts: &Facts, nic: &str) -> Verdict {
    let adaptive = of(facts, nic, "adaptive-rx");
    match (adaptive, of(facts, nic, "rx-usecs")) {
        (Some(1), _) => fine("adaptive"),
        (_, None) => unknown("its driver does not show it"),
        (_, Some(usecs)) if usecs > 100 => wrong(
            format!("{usecs} us"),
            "adaptive, or at most 100 us",
            &[(&format!("nic.{nic}.rx-usecs"), "50")],
        )
        .consider(),
        (_, Some(usecs)) => fine(format!("{usecs} us")),
    }
}

fn offloads(facts: &Facts, nic: &str) -> Verdict {
    let names = [
        ("gro", "gro"),
        ("gso", "gso"),
        ("tso", "tso"),
        ("scatter-gather", "sg"),
        ("tx-checksum", ""),
        ("rx-checksum", "rx-checksum"),
    ];
    let all: Vec<_> = names
        .iter()
        .filter_map(|(name, key)| Some((*name, *key, facts.word(&format!("nic.{nic}.{name}"))? == "on")))
        .collect();
    if all.is_empty() {
        return unknown("its driver does not show it");
    }
    let off: Vec<_> = all.iter().filter(|(_, _, on)| !on).collect();
    if off.is_empty() {
        return fine("all on");
    }
    let found = format!("{} off", off.iter().map(|(name, _, _)| *name).collect::<Vec<_>>().join(", "));
    let can_be_set = |key: &&str| !key.is_empty() && facts.word(&format!("nic.{nic}.{key}.fixed")).is_none();
    let keys = off.iter().map(|(_, key, _)| *key).filter(can_be_set);
    let keys: Vec<String> = keys.map(|key| format!("nic.{nic}.{key}")).collect();
    let settings: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), "on")).collect();
    // A device need not have checksums, and without those it has no TSO; what the kernel does alone is always to be had.
    let is_kernels = off.iter().any(|(name, _, _)| ["gro", "gso"].contains(name));
    if is_kernels {
        wrong(found, "on, where the device can", &settings)
    } else if settings.is_empty() {
        wrong_by_hand(found, "on, where the device can", format!("ethtool -K {nic} tx on")).consider()
    } else {
        wrong(found, "on, where the device can", &settings).consider()
    }
}

const LINE: &str = "full duplex, and 1000 Mbit/s or more";

fn duplex(facts: &Facts, nic: &str) -> Verdict {
    match (facts.word(&format!("nic.{nic}.duplex")), of(facts, nic, "speed")) {
        (Some("half"), _) => wrong_by_hand("half duplex", LINE, "check the cable and the switch"),
        (_, Some(speed)) if speed < 1000 => {
            wrong_by_hand(format!("{speed} Mbit/s"), LINE, "check the cable and the switch").consider()
        }
        (_, Some(speed)) => fine(format!("{speed} Mbit/s")),
        (Some("full"), None) => fine("full duplex"),
        _ => absent("a virtual NIC has no cable"),
    }
}

fn tx_queue(facts: &Facts, nic: &str) -> Verdict {
    match of(facts, nic, "tx_queue_len") {
        None => unknown("the kernel does not show it"),
        Some(length) if length < 500 => {
            wrong(length, "at least 500", &[(&format!("nic.{nic}.tx-queue-len"), "1000")]).consider()
        }
        Some(length) => fine(length),
    }
}
