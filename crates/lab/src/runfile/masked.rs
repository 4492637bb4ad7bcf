//! What a run file holds of secrets: nothing. A plan and its results as they are written into one.

use pitot_results::load::LoadResult;
use pitot_results::secrets::Secrets;
use serde_json::Value;

use crate::plan::{FactorLevel, Plan};

pub(super) fn to_json<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect("plain data has a JSON form")
}

impl Plan {
    /// The secrets in it.
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        secrets.learn_json(&to_json(self));
        secrets
    }
}

/// A plan without its secrets.
pub(super) fn plan(plan: &Plan, secrets: &Secrets) -> Value {
    secrets.hide_json(&to_json(plan), |value| serde_json::from_value::<Plan>(value.clone()).is_ok())
}

/// What a load generator printed.
pub(super) fn load(result: &LoadResult, secrets: &Secrets) -> String {
    secrets.hide_json(&result.raw, |value| LoadResult::parse(&value.to_string()).is_ok()).to_string()
}

/// Levels as a run file names them.
pub(crate) fn levels(factors: &[FactorLevel], secrets: &Secrets) -> Vec<FactorLevel> {
    let level = |factor: &FactorLevel| FactorLevel {
        level: secrets.hide_option(&factor.name, &factor.level).into_owned(),
        ..factor.clone()
    };
    factors.iter().map(level).collect()
}
