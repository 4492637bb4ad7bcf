//! How TCP behaves.

use super::judge::{fine, fix_by, one_of, unknown, wrong};
use super::rule::{Evidence, Fix, Rule, Threshold, Use, Verdict};
use crate::facts::Facts;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "congestion-control",
        looks_at: "net.ipv4.tcp_congestion_control",
        uses: &[],
        wanted: "cubic or bbr",
        why: "CUBIC is the default and suits most; BBR can be better on lossy paths. Others are for special cases.",
        source: "RFC 9438; Documentation/networking/ip-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| one_of(f, "net.ipv4.tcp_congestion_control", &["cubic", "bbr"]),
    },
    Rule {
        name: "qdisc",
        looks_at: "net.core.default_qdisc",
        uses: &[],
        wanted: "fq_codel or fq or cake",
        why: "Fair queueing keeps large transfers from delaying small ones; it applies to interfaces that come up later.",
        source: "Documentation/admin-guide/sysctl/net.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| qdisc(f).consider(),
    },
    Rule {
        name: "timestamps",
        looks_at: "net.ipv4.tcp_timestamps",
        uses: &[],
        wanted: "1 or 2",
        why: "They measure round trips, guard against old segments, and let TIME-WAIT be reused. 0 saves 12 bytes a segment, as was done in 2009.",
        source: "RFC 7323; Documentation/networking/ip-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| one_of(f, "net.ipv4.tcp_timestamps", &["1", "2"]),
    },
    Rule {
        name: "sack",
        looks_at: "net.ipv4.tcp_sack",
        uses: &[],
        wanted: "1",
        why: "Without it one lost segment can cause the retransmission of a whole window.",
        source: "RFC 2018",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| one_of(f, "net.ipv4.tcp_sack", &["1"]),
    },
    Rule {
        name: "dsack",
        looks_at: "net.ipv4.tcp_dsack",
        uses: &[],
        wanted: "1",
        why: "It tells the sender about unnecessary retransmissions.",
        source: "RFC 2883",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| one_of(f, "net.ipv4.tcp_dsack", &["1"]),
    },
    Rule {
        name: "window-scaling",
        looks_at: "net.ipv4.tcp_window_scaling",
        uses: &[],
        wanted: "1",
        why: "Without it a window is at most 64 KiB: 5 Mbit/s over 100 ms.",
        source: "RFC 7323",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| one_of(f, "net.ipv4.tcp_window_scaling", &["1"]),
    },
    Rule {
        name: "slow-start-after-idle",
        looks_at: "net.ipv4.tcp_slow_start_after_idle",
        uses: &[Use::Http, Use::Cache, Use::Load],
        wanted: "0",
        why: "With 1 a persistent connection starts again with a small window after a pause, so that its next large reply takes more round trips. RFC 5681, section 4.1, recommends 1, as the path may have changed; 0 is often advised for servers.",
        source: "Documentation/networking/ip-sysctl.rst, of the parameter; RFC 5681 section 4.1, against it",
        evidence: Evidence::Documented,
        threshold: Threshold::Advised,
        can_apply: true,
        judge: |f| one_of(f, "net.ipv4.tcp_slow_start_after_idle", &["0"]).consider(),
    },
    Rule {
        name: "early-demux",
        looks_at: "net.ipv4.tcp_early_demux",
        uses: &[],
        wanted: "1",
        why: "The socket is looked up once for each packet, not twice; only routers benefit from 0.",
        source: "Documentation/networking/ip-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| one_of(f, "net.ipv4.tcp_early_demux", &["1"]),
    },
    Rule {
        name: "autocorking",
        looks_at: "net.ipv4.tcp_autocorking",
        uses: &[Use::Http, Use::Cache, Use::Mail, Use::Load],
        wanted: "1",
        why: "Successive small writes are sent as one segment while another waits in the queue of the device.",
        source: "Documentation/networking/ip-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| one_of(f, "net.ipv4.tcp_autocorking", &["1"]),
    },
    Rule {
        name: "busy-poll",
        looks_at: "net.core.busy_read and busy_poll",
        uses: &[Use::Cache, Use::Load],
        wanted: "0, or at most 100",
        why: "A reading thread polls the device for this many microseconds before it sleeps: slightly lower latency for a CPU that is never idle.",
        source: "Documentation/admin-guide/sysctl/net.rst; Documentation/networking/napi.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Documented("Documentation/admin-guide/sysctl/net.rst, busy_poll"),
        can_apply: true,
        judge: busy_poll,
    },
];

/// The first discipline that the kernel has; the first of all where nobody knows what it has.
fn qdisc(facts: &Facts) -> Verdict {
    let key = "net.core.default_qdisc";
    let mut verdict = one_of(facts, key, &["fq_codel", "fq", "cake"]);
    if let (Verdict::Wrong { fix, .. }, Some(_)) = (&mut verdict, facts.word("qdiscs")) {
        let known = facts.list("qdiscs");
        *fix = match known.iter().find(|name| **name != "none") {
            Some(name) => fix_by(key, name),
            None => Fix {
                settings: Vec::new(),
                by_hand: "this kernel has none of them: use a kernel with CONFIG_NET_SCH_FQ_CODEL".into(),
            },
        };
    }
    verdict
}

fn busy_poll(facts: &Facts) -> Verdict {
    let (Some(read), Some(poll)) = (facts.number("net.core.busy_read"), facts.number("net.core.busy_poll"))
    else {
        return unknown("this kernel does not show them here");
    };
    let found = format!("{read} and {poll} us");
    let off = [("net.core.busy_read", "0"), ("net.core.busy_poll", "0")];
    match read.max(poll) {
        0..=100 => fine(found),
        _ => wrong(found, "0, or at most 100", &off).consider(),
    }
}
