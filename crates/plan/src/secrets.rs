//! Masks secrets in plans and levels before they are recorded.

use pitot_results::secrets::Secrets;
use serde_json::Value;

use crate::definition::Plan;
use crate::levels::FactorLevel;

impl Plan {
    /// The plan as JSON, with its secrets.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan has a JSON form")
    }

    /// The secrets in it.
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        secrets.learn_json(&self.to_json());
        secrets
    }

    /// The plan as JSON, without them.
    pub fn masked(&self, secrets: &Secrets) -> Value {
        secrets.hide_json(&self.to_json(), |value| serde_json::from_value::<Plan>(value.clone()).is_ok())
    }
}

/// Levels as they are recorded.
pub fn masked_levels(factors: &[FactorLevel], secrets: &Secrets) -> Vec<FactorLevel> {
    let level = |factor: &FactorLevel| FactorLevel {
        level: secrets.hide_option(&factor.name, &factor.level).into_owned(),
        ..factor.clone()
    };
    factors.iter().map(level).collect()
}
