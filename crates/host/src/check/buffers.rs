//! Memory of sockets.

use super::judge::{at_least, each_at_least, fine, one_of, unknown, wrong};
use super::rule::{Evidence, Rule, Threshold, Use, Verdict};
use crate::facts::Facts;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "tcp-rmem",
        looks_at: "net.ipv4.tcp_rmem",
        uses: &[Use::Http, Use::Cache, Use::Mail, Use::Load],
        wanted: "at least 4096 65536 4194304",
        why: "Receive buffers: minimum, initial, maximum. The window cannot exceed the maximum, and a small one slows large transfers.",
        source: "tcp(7); Documentation/networking/ip-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| each_at_least(f, "net.ipv4.tcp_rmem", &[4096, 65_536, 4_194_304]),
    },
    Rule {
        name: "tcp-wmem",
        looks_at: "net.ipv4.tcp_wmem",
        uses: &[Use::Http, Use::Cache, Use::Mail, Use::Files],
        wanted: "at least 4096 16384 4194304",
        why: "Send buffers: minimum, initial, maximum. A reply that does not fit takes further system calls and round trips.",
        source: "tcp(7); Documentation/networking/ip-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| each_at_least(f, "net.ipv4.tcp_wmem", &[4096, 16_384, 4_194_304]),
    },
    Rule {
        name: "moderate-rcvbuf",
        looks_at: "net.ipv4.tcp_moderate_rcvbuf",
        uses: &[],
        wanted: "1",
        why: "The kernel sizes receive buffers by need; without it they keep their initial size.",
        source: "tcp(7)",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| one_of(f, "net.ipv4.tcp_moderate_rcvbuf", &["1"]),
    },
    Rule {
        name: "tcp-mem",
        looks_at: "net.ipv4.tcp_mem",
        uses: &[Use::Http, Use::Cache, Use::Mail, Use::Load],
        wanted: "at least 1% of the memory",
        why: "Pages for the data of all TCP connections: beyond the third number connections are reset.",
        source: "tcp(7); docs/million.md",
        evidence: Evidence::Measured,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: tcp_mem,
    },
    Rule {
        name: "rmem-max",
        looks_at: "net.core.rmem_max",
        uses: &[Use::Http, Use::Cache, Use::Load],
        wanted: "at least 212992",
        why: "The maximum of SO_RCVBUF; UDP and QUIC need it, TCP sizes its own.",
        source: "socket(7)",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| at_least(f, "net.core.rmem_max", 212_992),
    },
    Rule {
        name: "wmem-max",
        looks_at: "net.core.wmem_max",
        uses: &[Use::Http, Use::Cache, Use::Load],
        wanted: "at least 212992",
        why: "The maximum of SO_SNDBUF.",
        source: "socket(7)",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| at_least(f, "net.core.wmem_max", 212_992),
    },
    Rule {
        name: "optmem-max",
        looks_at: "net.core.optmem_max",
        uses: &[Use::Http, Use::Cache, Use::Load],
        wanted: "at least 20480",
        why: "Ancillary data of a socket: beyond it zero-copy sends fail (ENOBUFS).",
        source: "socket(7); Documentation/networking/msg_zerocopy.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| at_least(f, "net.core.optmem_max", 20_480),
    },
];

const PAGE_KB: u64 = 4;

/// The kernel chooses about a tenth of the memory; a hundredth is too little.
fn tcp_mem(facts: &Facts) -> Verdict {
    let key = "net.ipv4.tcp_mem";
    let (Some(figures), Some(total_kb)) = (facts.numbers(key), facts.kilobytes("memory.MemTotal")) else {
        return unknown("the parameter or the memory cannot be seen");
    };
    let [_, _, most] = figures[..] else { return unknown("it has not three figures") };
    let pages = total_kb / PAGE_KB;
    if most >= pages / 100 {
        return fine(facts.word(key).unwrap_or_default());
    }
    let value = format!("{} {} {}", pages / 20, pages / 15, pages / 10);
    wrong(facts.word(key).unwrap_or_default(), format!("{value}, a tenth of the memory"), &[(key, &value)])
}
