//! Ports of outgoing connections, and closed connections.

use super::judge::{at_least, at_most, fine, one_of, unknown, wrong};
use super::rule::{Evidence, Rule, Threshold, Use, Verdict};
use crate::facts::Facts;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "port-range",
        looks_at: "net.ipv4.ip_local_port_range",
        uses: &[Use::Http, Use::Mail, Use::Load],
        wanted: "60,000 ports or more",
        why: "Each connection from an address to a port takes one of these; without a free one connect fails (EADDRNOTAVAIL).",
        source: "ip(7); Documentation/networking/ip-sysctl.rst; docs/million.md",
        evidence: Evidence::Measured,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: ports,
    },
    Rule {
        name: "tw-reuse",
        looks_at: "net.ipv4.tcp_tw_reuse",
        uses: &[Use::Http, Use::Mail, Use::Load],
        wanted: "2 or 1",
        why: "Without it a port in TIME-WAIT is blocked for a minute: 28,000 ports allow 470 new connections a second. 2, the default, allows reuse only on the loopback, 1 everywhere. The kernel's documentation warns: it should not be changed without advice or request of technical experts.",
        source: "Documentation/networking/ip-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| one_of(f, "net.ipv4.tcp_tw_reuse", &["2", "1"]).consider(),
    },
    Rule {
        name: "tw-buckets",
        looks_at: "net.ipv4.tcp_max_tw_buckets",
        uses: &[Use::Http, Use::Mail, Use::Load],
        wanted: "at least 4096",
        why: "Beyond it TIME-WAIT is cut short, and late segments can reach another connection (RFC 1337).",
        source: "Documentation/networking/ip-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| at_least(f, "net.ipv4.tcp_max_tw_buckets", 4096),
    },
    Rule {
        name: "fin-timeout",
        looks_at: "net.ipv4.tcp_fin_timeout",
        uses: &[Use::Http, Use::Mail],
        wanted: "at most 60",
        why: "Connections that the peer never closes remain for this many seconds; the default is 60.",
        source: "Documentation/networking/ip-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| at_most(f, "net.ipv4.tcp_fin_timeout", 60),
    },
    Rule {
        name: "orphans",
        looks_at: "net.ipv4.tcp_max_orphans",
        uses: &[Use::Http, Use::Cache, Use::Mail],
        wanted: "at least 4096",
        why: "Beyond it, connections without a process that still have data to send are reset.",
        source: "Documentation/networking/ip-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| at_least(f, "net.ipv4.tcp_max_orphans", 4096),
    },
    Rule {
        name: "keepalive-time",
        looks_at: "net.ipv4.tcp_keepalive_time",
        uses: &[Use::Http, Use::Cache, Use::Mail],
        wanted: "at most 600",
        why: "With keep-alive, a lost peer is noticed after this many seconds; load balancers forget idle connections sooner than after the default of two hours.",
        source: "tcp(7)",
        evidence: Evidence::Documented,
        threshold: Threshold::Advised,
        can_apply: true,
        judge: |f| at_most(f, "net.ipv4.tcp_keepalive_time", 600).consider(),
    },
    Rule {
        name: "metrics-save",
        looks_at: "net.ipv4.tcp_no_metrics_save",
        uses: &[Use::Load],
        wanted: "1",
        why: "With 0 a run starts with the metrics of an earlier one (round-trip time, slow-start threshold), so that runs depend on each other.",
        source: "Documentation/networking/ip-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| one_of(f, "net.ipv4.tcp_no_metrics_save", &["1"]).consider(),
    },
];

const PORTS_MIN: u64 = 28_000;

fn ports(facts: &Facts) -> Verdict {
    let key = "net.ipv4.ip_local_port_range";
    let Some([low, high]) = facts.numbers(key).and_then(|range| <[u64; 2]>::try_from(range).ok()) else {
        return unknown("this kernel does not show it here");
    };
    let (found, ports) = (format!("{low} {high}"), (high + 1).saturating_sub(low));
    let wider = |found: String| {
        wrong(
            found,
            "1024 65535, 64,512 ports",
            &[("net.ipv4.ip_local_reserved_ports", "listening"), (key, "1024 65535")],
        )
    };
    match ports {
        0..PORTS_MIN => wider(format!("{found}, {ports} ports")),
        PORTS_MIN..60_000 => wider(format!("{found}, {ports} ports")).consider(),
        _ => fine(found),
    }
}
