//! Which CPUs take the packets.

use super::facts::Facts;
use super::judge::{absent, each, fine, unknown, wrong};
use super::rule::{Evidence, Rule, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "irq-affinity",
        looks_at: "CPUs of the interrupts of each NIC",
        uses: &[],
        why: "All queues on one CPU are one queue. irqbalance spreads them, or nic.NAME.irq-cpus does.",
        source: "Documentation/core-api/irq/irq-affinity.rst",
        evidence: Evidence::Documented,
        judge: |f| each(&f.list("nics"), NO_NIC, |nic| interrupts(f, nic)),
    },
    Rule {
        name: "rps",
        looks_at: "receive packet steering of each NIC (rps_cpus)",
        uses: &[],
        why: "Where a NIC has fewer queues than there are CPUs, RPS spreads the work after the interrupt; on one CPU, and with as many queues, it only costs.",
        source: "Documentation/networking/scaling.rst",
        evidence: Evidence::Documented,
        judge: |f| each(&f.list("nics"), NO_NIC, |nic| rps(f, nic)),
    },
    Rule {
        name: "xps",
        looks_at: "transmit packet steering of each NIC (xps_cpus)",
        uses: &[],
        why: "Each CPU has send queues of its own, without locks between CPUs.",
        source: "Documentation/networking/scaling.rst",
        evidence: Evidence::Documented,
        judge: |f| each(&f.list("nics"), NO_NIC, |nic| xps(f, nic)),
    },
    Rule {
        name: "rfs",
        looks_at: "net.core.rps_sock_flow_entries",
        uses: &[],
        why: "With RPS, packets go to the CPU whose thread reads the connection, where the table has room.",
        source: "Documentation/networking/scaling.rst",
        evidence: Evidence::Documented,
        judge: rfs,
    },
];

const NO_NIC: &str = "there is no NIC that is up";

fn interrupts(facts: &Facts, nic: &str) -> Verdict {
    let Some(cpus) = facts.number("cpus.online") else { return unknown("the CPUs cannot be counted") };
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
    wrong(found, "several CPUs", &[(&format!("nic.{nic}.irq-cpus"), &all)])
}

fn rps(facts: &Facts, nic: &str) -> Verdict {
    let (Some(cpus), Some(queues)) =
        (facts.number("cpus.online"), facts.number(&format!("nic.{nic}.rx-count")))
    else {
        return unknown("its queues cannot be counted");
    };
    let found = facts.word(&format!("nic.{nic}.rps-cpus")).unwrap_or("none");
    if cpus == 1 || queues >= cpus || found != "none" {
        return fine(found);
    }
    let all = format!("0-{}", cpus - 1);
    wrong(
        found,
        format!("{all}, as there are {queues} queues for {cpus} CPUs"),
        &[(&format!("nic.{nic}.rps-cpus"), &all)],
    )
    .consider()
}

fn xps(facts: &Facts, nic: &str) -> Verdict {
    match (facts.number(&format!("nic.{nic}.tx-count")), facts.word(&format!("nic.{nic}.xps-cpus"))) {
        (None, _) => unknown("its queues cannot be counted"),
        (Some(1), _) => absent("it has one send queue"),
        (_, None | Some("none")) => Verdict::Consider {
            found: "none".into(),
            wanted: "a CPU or more for each queue".into(),
            mend: super::rule::Mend {
                settings: Vec::new(),
                by_hand: format!("pitot host apply nic.{nic}.tx-0.xps-cpus=0 nic.{nic}.tx-1.xps-cpus=1 ..."),
            },
        },
        (_, Some(found)) => fine(found),
    }
}

fn rfs(facts: &Facts) -> Verdict {
    let uses_rps = facts
        .list("nics")
        .iter()
        .any(|nic| facts.word(&format!("nic.{nic}.rps-cpus")).is_some_and(|cpus| cpus != "none"));
    match facts.number("net.core.rps_sock_flow_entries") {
        _ if !uses_rps => absent("no NIC is steered by RPS"),
        None => unknown("this kernel does not show it here"),
        Some(0) => wrong(0, 32_768, &[("net.core.rps_sock_flow_entries", "32768")]).consider(),
        Some(entries) => fine(entries),
    }
}
