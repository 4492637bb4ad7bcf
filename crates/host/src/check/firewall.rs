//! Tracking of connections by a firewall.

use super::judge::{absent, at_most, fine, unknown, wrong};
use super::rule::{Evidence, Rule, Threshold, Use, Verdict};
use crate::facts::Facts;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "conntrack-max",
        looks_at: "net.netfilter.nf_conntrack_max",
        uses: &[Use::Http, Use::Cache, Use::Mail, Use::Load],
        wanted: "room for twice as many, and 262144",
        why: "A firewall that tracks connections drops packets of connections that do not fit into its table.",
        source: "Documentation/networking/nf_conntrack-sysctl.rst; docs/million.md",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: table,
    },
    Rule {
        name: "conntrack-buckets",
        looks_at: "net.netfilter.nf_conntrack_buckets",
        uses: &[Use::Http, Use::Cache, Use::Mail, Use::Load],
        wanted: "at least an eighth of nf_conntrack_max",
        why: "More than eight entries per bucket slow every packet.",
        source: "Documentation/networking/nf_conntrack-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: buckets,
    },
    Rule {
        name: "conntrack-time-wait",
        looks_at: "net.netfilter.nf_conntrack_tcp_timeout_time_wait",
        uses: &[Use::Http, Use::Mail, Use::Load],
        wanted: "at most 120",
        why: "Entries of closed connections remain this long; short connections fill the table with them.",
        source: "Documentation/networking/nf_conntrack-sysctl.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| {
            if tracks(f) {
                at_most(f, "net.netfilter.nf_conntrack_tcp_timeout_time_wait", 120)
            } else {
                absent(NONE)
            }
        },
    },
];

const NONE: &str = "no connection is tracked";

/// The module alone tracks nothing: rules make it do so, and then it has entries.
fn tracks(facts: &Facts) -> bool {
    facts.number("net.netfilter.nf_conntrack_count").is_some_and(|count| count > 0)
}

fn table(facts: &Facts) -> Verdict {
    let key = "net.netfilter.nf_conntrack_max";
    match (facts.number("net.netfilter.nf_conntrack_count"), facts.number(key)) {
        _ if !tracks(facts) => absent(NONE),
        (Some(count), Some(max)) if max >= 262_144 && count * 2 <= max => fine(format!("{count} of {max}")),
        (Some(count), Some(max)) => wrong(
            format!("{count} of {max}"),
            "room for twice as many, and 262144",
            &[(key, &(count * 4).max(262_144).to_string())],
        ),
        _ => unknown("the table cannot be seen"),
    }
}

fn buckets(facts: &Facts) -> Verdict {
    let key = "net.netfilter.nf_conntrack_buckets";
    match (facts.number("net.netfilter.nf_conntrack_max"), facts.number(key)) {
        _ if !tracks(facts) => absent(NONE),
        (Some(max), Some(buckets)) if buckets * 8 >= max => fine(buckets),
        (Some(max), Some(buckets)) => {
            wrong(buckets, format!("at least {}", max.div_ceil(8)), &[(key, &(max / 4).to_string())])
        }
        _ => unknown("the table cannot be seen"),
    }
}
