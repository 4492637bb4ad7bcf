//! Queues in which connections and packets wait.

use super::judge::{at_least, fine, one_of, unknown, wrong};
use super::rule::{Evidence, Rule, Threshold, Use, Verdict};
use crate::facts::Facts;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "somaxconn",
        looks_at: "net.core.somaxconn",
        uses: &[Use::Http, Use::Cache, Use::Mail],
        wanted: "at least 4096",
        why: "It limits the accept queue of each listener. A SYN that finds it full is dropped, and sent again after a second.",
        source: "listen(2); Documentation/admin-guide/sysctl/net.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| at_least(f, "net.core.somaxconn", 4096),
    },
    Rule {
        name: "syn-backlog",
        looks_at: "net.ipv4.tcp_max_syn_backlog",
        uses: &[Use::Http, Use::Cache, Use::Mail],
        wanted: "at least 1024",
        why: "Half-open connections of each listener: beyond it SYNs are dropped, or answered with cookies.",
        source: "tcp(7); Documentation/networking/ip-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| at_least(f, "net.ipv4.tcp_max_syn_backlog", 1024),
    },
    Rule {
        name: "syncookies",
        looks_at: "net.ipv4.tcp_syncookies",
        uses: &[Use::Http, Use::Cache, Use::Mail],
        wanted: "1",
        why: "With 1, a SYN flood does not block other clients; 0 drops SYNs, and with 2 every connection loses its TCP options.",
        source: "Documentation/networking/ip-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| one_of(f, "net.ipv4.tcp_syncookies", &["1"]),
    },
    Rule {
        name: "abort-on-overflow",
        looks_at: "net.ipv4.tcp_abort_on_overflow",
        uses: &[Use::Http, Use::Cache, Use::Mail],
        wanted: "0",
        why: "With 1 a client that finds the accept queue full is reset, and does not try again.",
        source: "Documentation/networking/ip-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| one_of(f, "net.ipv4.tcp_abort_on_overflow", &["0"]),
    },
    Rule {
        name: "synack-retries",
        looks_at: "net.ipv4.tcp_synack_retries",
        uses: &[Use::Http, Use::Cache, Use::Mail],
        wanted: "at most 5",
        why: "A half-open connection lasts for 63 s with the default of 5, and longer with more.",
        source: "Documentation/networking/ip-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| super::judge::at_most(f, "net.ipv4.tcp_synack_retries", 5),
    },
    Rule {
        name: "listen-overflows",
        looks_at: "connections dropped at listeners since the start (TcpExt ListenOverflows)",
        uses: &[Use::Http, Use::Cache, Use::Mail],
        wanted: "0",
        why: "A server accepts more slowly than connections arrive, or its queue is too short for a burst.",
        source: "nstat(8); Documentation/networking/snmp_counter.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: overflows,
    },
    Rule {
        name: "netdev-backlog",
        looks_at: "packets dropped before a CPU took them (softnet_stat)",
        uses: &[],
        wanted: "at most one in 100,000",
        why: "Packets that wait for a CPU, also on the loopback, are dropped beyond net.core.netdev_max_backlog.",
        source: "Documentation/admin-guide/sysctl/net.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: dropped,
    },
    Rule {
        name: "netdev-budget",
        looks_at: "polls that ended early (softnet_stat, time_squeeze)",
        uses: &[],
        wanted: "at most one in a thousand",
        why: "A CPU stops receiving after net.core.netdev_budget packets or netdev_budget_usecs, with more packets waiting.",
        source: "Documentation/admin-guide/sysctl/net.rst; Documentation/networking/scaling.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: squeezed,
    },
];

fn overflows(facts: &Facts) -> Verdict {
    match facts.number("count.ListenOverflows") {
        None => unknown("/proc/net/netstat does not show it"),
        Some(0) => fine(0),
        Some(dropped) => wrong(
            dropped,
            "0 (a longer queue, which the server must request too)",
            &[(
                "net.core.somaxconn",
                &facts.number("net.core.somaxconn").unwrap_or(4096).max(65_535).to_string(),
            )],
        )
        .consider(),
    }
}

fn dropped(facts: &Facts) -> Verdict {
    let (Some(dropped), Some(now)) = (facts.number("softnet.dropped"), facts.word("softnet.processed"))
    else {
        return unknown("/proc/net/softnet_stat does not show it");
    };
    // The first packets of a machine tell nothing.
    if dropped * 100_000 <= now.parse().unwrap_or(0) {
        return fine(format!("{dropped} of {now}"));
    }
    let wanted = facts.number("net.core.netdev_max_backlog").unwrap_or(1000).saturating_mul(4).max(16_384);
    wrong(
        format!("{dropped} of {now}"),
        "at most one in 100,000",
        &[("net.core.netdev_max_backlog", &wanted.to_string())],
    )
    .consider()
}

fn squeezed(facts: &Facts) -> Verdict {
    let (Some(squeezed), Some(now)) = (facts.number("softnet.squeezed"), facts.number("softnet.processed"))
    else {
        return unknown("/proc/net/softnet_stat does not show it");
    };
    if squeezed * 1000 <= now {
        return fine(format!("{squeezed} of {now}"));
    }
    let budget = facts.number("net.core.netdev_budget").unwrap_or(300).saturating_mul(2).max(600);
    wrong(
        format!("{squeezed} of {now}"),
        "at most one in a thousand",
        &[("net.core.netdev_budget", &budget.to_string())],
    )
    .consider()
}
