//! What a machine should be set to, for servers and for load: rules, each with its reason and its source.
//!
//! A rule is data and a pure function of [`Facts`], which are collected once. Rules of one topic are a table in one file; those of
//! what plans need are tables by subject ([`needs()`]).
//! What cannot be seen is `unknown`, which is not the same as fine.

mod backlogs;
mod buffers;
mod connections;
mod cpu;
mod descriptors;
mod disk;
mod firewall;
mod groups;
mod judge;
mod kernel;
mod load;
mod memory;
mod needs;
mod nic;
mod rule;
mod steering;
mod tcp;

pub use needs::{SUBJECTS, Subject, needs, refusal, rules_for};
pub use rule::{Evidence, Fix, Judgement, Rule, Threshold, Use, Verdict};

use crate::facts::Facts;

/// The tables of rules by topic, in the order in which they are shown.
pub static TOPICS: &[(&str, &[Rule])] = &[
    ("descriptors and limits", descriptors::RULES),
    ("backlogs", backlogs::RULES),
    ("ports and TIME-WAIT", connections::RULES),
    ("buffers", buffers::RULES),
    ("TCP", tcp::RULES),
    ("network interfaces", nic::RULES),
    ("steering of packets", steering::RULES),
    ("CPU", cpu::RULES),
    ("memory", memory::RULES),
    ("disks", disk::RULES),
    ("firewall", firewall::RULES),
    ("control groups", groups::RULES),
    ("kernel", kernel::RULES),
    ("load generator", load::RULES),
];

/// All rules.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    TOPICS.iter().flat_map(|(_, rules)| *rules)
}

/// The rule of that name.
pub fn rule(name: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.name == name)
}

/// What the rules for a use say of a machine; of all uses if none is named.
pub fn check(facts: &Facts, wanted: Option<Use>) -> Vec<Judgement> {
    let applies = |rule: &&'static Rule| {
        wanted.is_none_or(|wanted| rule.uses.is_empty() || rule.uses.contains(&wanted))
    };
    rules().filter(applies).map(|rule| Judgement { rule, verdict: rule.judge(facts) }).collect()
}

#[cfg(test)]
mod tests;
