//! Limits of this process, and whether it has the right to exceed them.

use super::{Facts, field};
use crate::machine::Machine;

/// Capabilities by their numbers in linux/capability.h.
const RIGHTS: [(&str, u32); 2] = [("rights.lock-memory", 14), ("rights.exceed-limits", 24)];

pub(super) fn collect(facts: &mut Facts, machine: &Machine) {
    let text = machine.read("/proc/self/limits").unwrap_or_default();
    for line in text.lines() {
        for (name, word, start) in [
            ("descriptors", "descriptors", "Max open files"),
            ("processes", "processes", "Max processes"),
            ("locked memory", "locked", "Max locked memory"),
            ("stack", "stack", "Max stack size"),
        ] {
            let Some(rest) = line.strip_prefix(start) else { continue };
            let mut words = rest.split_whitespace();
            let (soft, hard) = (words.next().unwrap_or("?"), words.next().unwrap_or("?"));
            // The soft limit is the shell's affair and is raised; the hard one binds.
            let both = if name == "descriptors" { hard.into() } else { format!("{soft}, at most {hard}") };
            facts.record("limits", name, Some(both));
            for (which, limit) in [("soft", soft), ("hard", hard)] {
                let limit = if limit == "unlimited" { u64::MAX.to_string() } else { limit.to_owned() };
                facts.add(format!("limits.{word}.{which}"), Some(limit));
            }
        }
    }
    let status = machine.read("/proc/self/status").unwrap_or_default();
    let effective = field(&status, "CapEff").and_then(|hex| u64::from_str_radix(&hex, 16).ok());
    for (name, number) in RIGHTS {
        facts.add(name, effective.map(|bits| (bits >> number & 1 == 1).to_string()));
    }
}
