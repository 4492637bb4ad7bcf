//! Settings of the host in a plan: single ones as factors, and named sets.

use pitot_host::Machine;
use pitot_host::setting::{Change, expand};
use serde::{Deserialize, Serialize};

/// The factor whose levels are sets of settings.
pub const SETTINGS_FACTOR: &str = "settings";
/// Prefix of factors whose levels are values of one setting.
const HOST: &str = "host.";
/// The factor whose levels are file systems: what is measured writes files there.
pub(crate) const FILE_SYSTEM_FACTOR: &str = "host.filesystem";
/// The level that leaves a setting unchanged.
pub const AS_FOUND: &str = "found";

/// Settings that are applied together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingSet {
    /// The name that levels use.
    pub name: String,
    /// Keys and values, in their order.
    pub settings: Vec<(String, String)>,
}

/// The key of the setting that a factor varies.
pub(crate) fn setting_of(factor: &str) -> Option<&str> {
    factor.strip_prefix(HOST)
}

/// Whether a factor changes settings of the host.
pub fn changes_host(factor: &str) -> bool {
    factor == SETTINGS_FACTOR || setting_of(factor).is_some()
}

/// The settings of a factor's level, as `pitot host apply` takes them.
pub(super) fn settings(sets: &[SettingSet], factor: &str, level: &str) -> Vec<(String, String)> {
    let of_set = || sets.iter().find(|set| set.name == level).map(|set| set.settings.clone());
    match setting_of(factor) {
        _ if level == AS_FOUND => Vec::new(),
        Some(key) => vec![(key.to_owned(), level.to_owned())],
        None => of_set().unwrap_or_default(),
    }
}

/// Whether this machine has a setting of that key.
pub(super) fn is_here(key: &str) -> bool {
    let machine = Machine::here();
    let is_one_here = |change: &Change| pitot_host::setting::is_here(&machine, &change.key);
    expand(&machine, key, "").is_ok_and(|changes| changes.iter().any(is_one_here))
}

/// The changes that settings make on this machine. The error is a sentence.
pub(super) fn changes(settings: &[(String, String)]) -> Result<Vec<Change>, String> {
    let machine = Machine::here();
    let expanded = settings.iter().map(|(key, value)| expand(&machine, key, value).map_err(|e| e.what));
    Ok(expanded.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}
