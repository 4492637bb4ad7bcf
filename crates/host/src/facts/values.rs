//! Values of files and settings.

use crate::machine::Machine;
use crate::setting;

/// The value behind `name:` in a file of such lines.
pub(super) fn field(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(|l| l.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
        .filter(|value| !value.is_empty())
}

/// What a setting is set to, if it can be read.
pub(super) fn value_of(machine: &Machine, key: &str) -> Option<String> {
    setting::of(key)?.read(machine, key).ok()
}

/// What settings are set to, of those that can be read.
pub(super) fn values_of(machine: &Machine, keys: impl Iterator<Item = String>) -> Vec<String> {
    keys.filter_map(|key| value_of(machine, &key)).collect()
}

/// Values in one fact; none if there are none.
pub(super) fn joined(values: &[String]) -> Option<String> {
    Some(values.join(" ")).filter(|joined| !joined.is_empty())
}
