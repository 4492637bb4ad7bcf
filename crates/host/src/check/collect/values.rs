use crate::machine::Machine;
use crate::setting;

/// What settings are set to: those that can be read.
pub(super) fn values_of(machine: &Machine, keys: impl Iterator<Item = String>) -> Vec<String> {
    keys.filter_map(|key| setting::of(&key)?.read(machine, &key).ok()).collect()
}

/// Values in one fact; none if there are none.
pub(super) fn joined(values: &[String]) -> Option<String> {
    Some(values.join(" ")).filter(|joined| !joined.is_empty())
}
