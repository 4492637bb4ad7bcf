//! What is known of a machine: one set of facts, read once from /proc, /sys and /etc/os-release; no other program is asked.
//!
//! Those that last are the fingerprint, which `pitot host` shows and every run file has. Others are of the moment, such as what
//! the kernel has counted. Rules ([`crate::check`]) look at both.

mod asked;
mod counters;
mod cpu;
mod disk;
mod groups;
mod limits;
mod memory;
mod network;
mod sysctl;
mod system;

use std::collections::BTreeMap;

use crate::fingerprint::Fingerprint;
use crate::machine::Machine;
use crate::{parse_cpu_list, setting};

pub use asked::Demand;
pub use memory::memory_total_bytes;

/// The group of kernel parameters.
const SYSCTL: &str = "sysctl";

/// Words by name. Kernel parameters and other settings have the names that `pitot host apply` takes, facts of the fingerprint those
/// of their group and of themselves (`memory.MemTotal`), and others names of their own. What cannot be seen is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    words: BTreeMap<String, String>,
    fingerprint: Fingerprint,
    /// What is asked of the machine where it is looked at for a plan.
    pub(crate) asked: Vec<Demand>,
}

impl Facts {
    /// What can be seen of a machine by this user. Limits are those of this process, which its children inherit.
    pub fn collect(machine: &Machine) -> Facts {
        let mut facts = Facts::default();
        let parameters = sysctl::read(&mut facts, machine);
        let cpu_info = machine.read("/proc/cpuinfo").unwrap_or_default();
        system::collect(&mut facts, machine, &cpu_info);
        cpu::collect(&mut facts, machine, &cpu_info);
        memory::collect(&mut facts, machine);
        limits::collect(&mut facts, machine);
        groups::collect(&mut facts, machine);
        network::collect(&mut facts, machine);
        disk::collect(&mut facts, machine);
        for (name, value) in parameters {
            facts.record(SYSCTL, &name, Some(value));
        }
        counters::collect(&mut facts, machine);
        facts
    }

    /// Adds a fact that lasts, if it can be seen.
    fn record(&mut self, group: &str, name: &str, value: Option<String>) {
        let Some(value) = value else { return };
        let word = if group == SYSCTL { name.to_owned() } else { format!("{group}.{name}") };
        self.words.insert(word, value.clone());
        self.fingerprint.push(group, name, value);
    }

    /// Adds a fact for rules alone, if it can be seen.
    pub(crate) fn add(&mut self, name: impl Into<String>, value: Option<String>) {
        if let Some(value) = value {
            self.words.insert(name.into(), value);
        }
    }

    /// What lasts of them. Nothing in it changes from one moment to the next by itself, and no secret of the kernel (keys, seeds)
    /// is in it.
    pub fn into_fingerprint(self) -> Fingerprint {
        self.fingerprint
    }

    /// A fact.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.words.get(name).map(String::as_str)
    }

    /// The numbers of a fact.
    pub fn numbers(&self, name: &str) -> Option<Vec<u64>> {
        self.word(name)?.split_whitespace().map(|word| word.parse().ok()).collect()
    }

    /// A fact that is one number.
    pub fn number(&self, name: &str) -> Option<u64> {
        match self.numbers(name)?[..] {
            [number] => Some(number),
            _ => None,
        }
    }

    /// A fact that is a number of kilobytes, as /proc/meminfo has them: `1024 kB`.
    pub fn kilobytes(&self, name: &str) -> Option<u64> {
        self.word(name)?.strip_suffix("kB")?.trim_end().parse().ok()
    }

    /// How many there are in a fact that is a list of CPUs or nodes: `0-3,8`.
    pub fn count(&self, name: &str) -> Option<u64> {
        parse_cpu_list(self.word(name)?).map(|list| list.len() as u64)
    }

    /// The words of a fact that is a list.
    pub fn list(&self, name: &str) -> Vec<&str> {
        self.word(name).map(|list| list.split_whitespace().collect()).unwrap_or_default()
    }

    /// The facts whose names begin so: the rest of each name, and the fact.
    pub fn beginning(&self, start: &str) -> impl Iterator<Item = (&str, &str)> {
        let from_there = self.words.range(start.to_owned()..);
        from_there.map_while(move |(name, word)| Some((name.strip_prefix(start)?, word.as_str())))
    }
}

impl Fingerprint {
    /// That of this machine.
    pub fn collect() -> Fingerprint {
        Facts::collect(&Machine::here()).into_fingerprint()
    }
}

/// The value behind `name:` in a file of such lines.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(|l| l.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
        .filter(|value| !value.is_empty())
}

/// What a setting is set to, if it can be read.
fn value_of(machine: &Machine, key: &str) -> Option<String> {
    setting::of(key)?.read(machine, key).ok()
}

/// What settings are set to, of those that can be read.
fn values_of(machine: &Machine, keys: impl Iterator<Item = String>) -> Vec<String> {
    keys.filter_map(|key| value_of(machine, &key)).collect()
}

/// Values in one fact; none if there are none.
fn joined(values: &[String]) -> Option<String> {
    Some(values.join(" ")).filter(|joined| !joined.is_empty())
}

#[cfg(test)]
impl<'a> FromIterator<(&'a str, &'a str)> for Facts {
    fn from_iter<T: IntoIterator<Item = (&'a str, &'a str)>>(facts: T) -> Facts {
        let words = facts.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Facts { words, ..Facts::default() }
    }
}

#[cfg(test)]
mod tests;
