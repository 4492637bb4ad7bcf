//! A plan under several sets of settings of the host.

use crate::definition::Plan;
use crate::host::{AS_FOUND, SETTINGS_FACTOR, SettingSet, changes_host};
use crate::levels::{Factor, Levels};
use crate::value::Value;

impl Plan {
    /// All cells of the plan under each of these sets: names with keys and values. A set without settings is the host as it is
    /// found, and has to have that name ([`AS_FOUND`]). What the plan itself varies of the host is left out.
    pub fn under(mut self, sets: &[SettingSet]) -> Plan {
        self.factors.retain(|factor| !changes_host(&factor.name));
        self.factors.push(Factor {
            name: SETTINGS_FACTOR.into(),
            levels: sets.iter().map(|set| Value::Text(set.name.clone())).collect(),
        });
        self.settings = sets.iter().filter(|set| set.name != AS_FOUND).cloned().collect();
        // Sets are compared with each other, so that no two cells are ever side by side.
        let found = sets.iter().find(|set| set.name == AS_FOUND).or(sets.first());
        self.baseline = found.map(|set| Levels(vec![(SETTINGS_FACTOR.into(), vec![set.name.clone()])]));
        self.until_decided_s = None;
        self
    }
}
