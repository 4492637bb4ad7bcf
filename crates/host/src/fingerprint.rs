//! A machine as an ordered list of facts, and what differs between two of them.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// What a machine is and how it is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint {
    /// The facts, grouped and in the order in which to show them.
    pub facts: Vec<Fact>,
}

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// cpu, memory, kernel, sysctl ...
    pub group: String,
    /// Unique within the group.
    pub name: String,
    /// As the kernel says it.
    pub value: String,
}

/// A fact that differs between two fingerprints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostChange {
    /// Its group.
    pub group: String,
    /// Its name.
    pub name: String,
    /// The first value; none if the fact is new.
    pub before: Option<String>,
    /// The second value; none if the fact is gone.
    pub after: Option<String>,
}

/// Facts that a report leaves out unless it is asked for them, so that it can be passed on.
const PRIVATE: [&str; 2] = ["host name", "kernel command line"];

impl Fingerprint {
    /// Whether a fact of that name is left out of reports that are passed on.
    pub fn is_private(name: &str) -> bool {
        PRIVATE.contains(&name)
    }

    /// Takes away what a report that is passed on leaves out.
    pub fn withhold_private_facts(&mut self) {
        self.facts.retain(|fact| !Fingerprint::is_private(&fact.name));
    }

    /// The value of a fact.
    pub fn get(&self, group: &str, name: &str) -> Option<&str> {
        self.facts.iter().find(|f| f.group == group && f.name == name).map(|f| f.value.as_str())
    }

    /// The groups, in order, each with its facts.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &[Fact])> {
        self.facts.chunk_by(|a, b| a.group == b.group).map(|facts| (facts[0].group.as_str(), facts))
    }

    /// What differs from `self` to `after`, in the order of `self`, new facts last.
    pub fn changes_to(&self, after: &Fingerprint) -> Vec<HostChange> {
        fn key(f: &Fact) -> (&str, &str) {
            (f.group.as_str(), f.name.as_str())
        }
        let ours: HashMap<_, _> = self.facts.iter().map(|f| (key(f), f)).collect();
        let theirs: HashMap<_, _> = after.facts.iter().map(|f| (key(f), f)).collect();
        let changed = self.facts.iter().filter_map(|f| {
            let other = theirs.get(&key(f)).map(|o| o.value.clone());
            (other.as_ref() != Some(&f.value)).then(|| change(f, Some(f.value.clone()), other))
        });
        let added = after.facts.iter().filter(|f| !ours.contains_key(&key(f)));
        changed.chain(added.map(|f| change(f, None, Some(f.value.clone())))).collect()
    }

    /// Adds a fact at the end.
    pub fn push(&mut self, group: &str, name: impl Into<String>, value: impl Into<String>) {
        self.facts.push(Fact { group: group.into(), name: name.into(), value: value.into() });
    }
}

fn change(fact: &Fact, before: Option<String>, after: Option<String>) -> HostChange {
    HostChange { group: fact.group.clone(), name: fact.name.clone(), before, after }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(facts: &[(&str, &str, &str)]) -> Fingerprint {
        let mut print = Fingerprint::default();
        for (group, name, value) in facts {
            print.push(group, *name, *value);
        }
        print
    }

    #[test]
    fn changes_name_what_was_and_what_is() {
        let before = print(&[("cpu", "model", "x"), ("cpu", "governor", "powersave"), ("net", "old", "1")]);
        let after = print(&[("cpu", "model", "x"), ("cpu", "governor", "performance"), ("net", "new", "2")]);
        let changes = before.changes_to(&after);
        let sides: Vec<_> =
            changes.iter().map(|c| (c.name.as_str(), c.before.as_deref(), c.after.as_deref())).collect();
        assert_eq!(
            sides,
            [
                ("governor", Some("powersave"), Some("performance")),
                ("old", Some("1"), None),
                ("new", None, Some("2"))
            ]
        );
        assert_eq!(before.changes_to(&before), []);
    }
}
