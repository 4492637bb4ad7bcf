//! Which CPUs take the packets.

use pitot_meter::units;

use super::judge::{absent, each, fine, unknown, wrong};
use super::rule::{Evidence, Fix, Rule, Threshold, Verdict};
use crate::facts::Facts;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "irq-affinity",
        looks_at: "CPUs of the interrupts of each NIC",
        uses: &[],
        wanted: "several CPUs, from three interrupts on",
        why: "With all queues on one CPU, that CPU is the bottleneck. irqbalance or nic.NAME.irq-cpus spreads them.",
        source: "Documentation/core-api/irq/irq-affinity.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| each(f, "nics", NO_NIC, |nic| interrupts(f, nic)),
    },
    Rule {
        name: "rps",
        looks_at: "receive packet steering of each NIC (rps_cpus)",
        uses: &[],
        wanted: "several CPUs, where there are fewer queues than CPUs",
        why: "If a NIC has fewer queues than the machine CPUs, RPS spreads the work after the interrupt; otherwise it only has a cost.",
        source: "Documentation/networking/scaling.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Documented("Documentation/networking/scaling.rst"),
        can_apply: true,
        judge: |f| each(f, "nics", NO_NIC, |nic| rps(f, nic)),
    },
    Rule {
        name: "xps",
        looks_at: "transmit packet steering of each NIC (xps_cpus)",
        uses: &[],
        wanted: "a CPU or more for each queue",
        why: "CPUs with their own send queues do not contend for locks.",
        source: "Documentation/networking/scaling.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Documented("Documentation/networking/scaling.rst"),
        can_apply: true,
        judge: |f| each(f, "nics", NO_NIC, |nic| xps(f, nic)),
    },
    Rule {
        name: "rfs",
        looks_at: "net.core.rps_sock_flow_entries, and rps_flow_cnt of each queue",
        uses: &[],
        wanted: "a table, and a share of it for each queue",
        why: "With RPS, packets go to the CPU whose thread reads the connection, as far as the table has room.",
        source: "Documentation/networking/scaling.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Documented("Documentation/networking/scaling.rst"),
        can_apply: true,
        judge: rfs,
    },
];

const NO_NIC: &str = "there is no NIC that is up";

fn interrupts(facts: &Facts, nic: &str) -> Verdict {
    let Some(cpus) = facts.count("cpu.online") else { return unknown("the CPUs cannot be counted") };
    let mut placed = facts.list(&format!("nic.{nic}.irq-cpus"));
    if placed.is_empty() {
        return unknown("its interrupts cannot be seen");
    }
    let interrupts = placed.len();
    placed.sort_unstable();
    placed.dedup();
    let found = format!("{interrupts} interrupts on CPU {}", placed.join(", "));
    if cpus == 1 || interrupts < 3 || placed.len() > 1 {
        return fine(found);
    }
    let all = format!("0-{}", cpus - 1);
    wrong(found, "several CPUs, from three interrupts on", &[(&format!("nic.{nic}.irq-cpus"), &all)])
}

fn rps(facts: &Facts, nic: &str) -> Verdict {
    let (Some(cpus), Some(queues)) =
        (facts.count("cpu.online"), facts.number(&format!("nic.{nic}.rx-count")))
    else {
        return unknown("its queues cannot be counted");
    };
    let Some(found) = facts.word(&format!("nic.{nic}.rps-cpus")) else {
        return unknown("the kernel does not show it");
    };
    if cpus == 1 || queues >= cpus || found != "none" {
        return fine(found);
    }
    let all = format!("0-{}", cpus - 1);
    wrong(
        found,
        format!("{all}, as it has {} for {cpus} CPUs", units::counted(queues, "queue", "queues")),
        &[(&format!("nic.{nic}.rps-cpus"), &all)],
    )
    .consider()
}

fn xps(facts: &Facts, nic: &str) -> Verdict {
    let (Some(cpus), Some(queues)) =
        (facts.count("cpu.online"), facts.number(&format!("nic.{nic}.tx-count")))
    else {
        return unknown("its queues cannot be counted");
    };
    match facts.word(&format!("nic.{nic}.xps-cpus")) {
        _ if queues == 1 => absent("it has one send queue"),
        _ if cpus == 1 => absent("there is one CPU"),
        None => unknown("the kernel does not show it"),
        Some("none") => {
            let settings = dealt(cpus, queues)
                .map(|(queue, cpus)| (format!("nic.{nic}.tx-{queue}.xps-cpus"), cpus))
                .collect();
            let by_hand =
                format!("a mask of CPUs into xps_cpus of each send queue below /sys/class/net/{nic}/queues");
            Verdict::Consider {
                found: "none".into(),
                wanted: "a CPU or more for each queue".into(),
                fix: Fix { settings, by_hand },
            }
        }
        Some(found) => fine(found),
    }
}

/// The CPUs of each queue as a list: all CPUs in turn, or where there are more queues, one for each.
fn dealt(cpus: u64, queues: u64) -> impl Iterator<Item = (u64, String)> {
    (0..queues).map(move |queue| {
        let of_queue = (queue % cpus..cpus).step_by(queues as usize);
        (queue, of_queue.map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(","))
    })
}

/// Entries of the table of flows, unless there is one.
const FLOWS: u64 = 32_768;

fn rfs(facts: &Facts) -> Verdict {
    if facts.word("nics").is_none() {
        return unknown("/sys shows no NICs");
    }
    let is_steered =
        |nic: &&str| facts.word(&format!("nic.{nic}.rps-cpus")).is_some_and(|cpus| cpus != "none");
    let steered: Vec<&str> = facts.list("nics").into_iter().filter(is_steered).collect();
    if steered.is_empty() {
        return absent("no NIC is steered by RPS");
    }
    let Some(entries) = facts.number("net.core.rps_sock_flow_entries") else {
        return unknown("this kernel does not show it here");
    };
    // Either without the other does nothing.
    let table = if entries == 0 { FLOWS } else { entries };
    let mut settings = Vec::new();
    if entries == 0 {
        settings.push(("net.core.rps_sock_flow_entries".to_owned(), table.to_string()));
    }
    let mut found = format!("a table of {entries}");
    for nic in steered {
        if facts.list(&format!("nic.{nic}.rps-flows")).contains(&"0") {
            let queues = facts.number(&format!("nic.{nic}.rx-count")).unwrap_or(1).max(1);
            let share = 1u64 << (table / queues).max(1).ilog2();
            settings.push((format!("nic.{nic}.rps-flows"), share.to_string()));
            found += &format!("; {nic}: no share of it");
        }
    }
    if settings.is_empty() {
        return fine(found);
    }
    let settings: Vec<(&str, &str)> = settings.iter().map(|(key, value)| (&**key, &**value)).collect();
    wrong(found, "a table, and a share of it for each queue", &settings).consider()
}
