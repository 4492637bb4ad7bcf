//! Runs a plan with several sets of settings of the host.

use crate::definition::Plan;
use crate::host::{AS_FOUND, SETTINGS_FACTOR, SettingSet, changes_host};
use crate::levels::{Factor, Levels};
use crate::value::Value;

impl Plan {
    /// The plan with the factor `settings` whose levels are these sets, in place of what the plan varies of the host. The
    /// set without settings must be called [`AS_FOUND`].
    pub fn under(mut self, sets: &[SettingSet]) -> Plan {
        self.factors.retain(|factor| !changes_host(&factor.name));
        self.factors.push(Factor {
            name: SETTINGS_FACTOR.into(),
            levels: sets.iter().map(|set| Value::Text(set.name.clone())).collect(),
        });
        self.settings = sets.iter().filter(|set| set.name != AS_FOUND).cloned().collect();
        // Cells under different settings cannot run side by side.
        let found = sets.iter().find(|set| set.name == AS_FOUND).or(sets.first());
        self.baseline = found.map(|set| Levels(vec![(SETTINGS_FACTOR.into(), vec![set.name.clone()])]));
        self.until_decided_s = None;
        self
    }
}
