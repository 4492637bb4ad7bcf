//! Settings of the host in plans.

use pitot_host::Machine;
use pitot_host::setting::is_setting;

use crate::host::{AS_FOUND, SettingSet};
use crate::source::{Item, PlanError};
use crate::value::Value;

/// Reads the sets of settings.
pub(super) fn sets(item: &Item<'_>) -> Result<Vec<SettingSet>, PlanError> {
    let mut sets = Vec::new();
    for set in item.section("`settings`")?.items() {
        if set.key == AS_FOUND {
            let what = format!("`{AS_FOUND}` is the level that changes nothing");
            return Err(set.key_error(what, "give the settings another name"));
        }
        let mut settings = Vec::new();
        for one in set.section(format!("`settings.{}`", set.key))?.flat_items() {
            let value = one.need_scalar()?;
            check_setting(&one, &one.key, &value)?;
            settings.push((one.key.clone(), value.to_string()));
        }
        if settings.is_empty() {
            let what = format!("`settings.{}` sets nothing", set.key);
            return Err(set.error(what, "add a setting and its value: \"net.core.somaxconn\" = 4096"));
        }
        sets.push(SettingSet { name: set.key.clone(), settings });
    }
    Ok(sets)
}

/// Checks a level of the factor `settings`.
pub(super) fn check_set(sets: &[SettingSet], element: &Item<'_>, level: &Value) -> Result<(), PlanError> {
    let name = level.to_string();
    if name == AS_FOUND || sets.iter().any(|set| set.name == name) {
        return Ok(());
    }
    let known: Vec<&str> = sets.iter().map(|set| set.name.as_str()).chain([AS_FOUND]).collect();
    Err(element.unknown_value("a table of `settings`", &known))
}

/// Checks the name of a setting. Whether this machine has it and takes the value is checked when cells are made.
pub(super) fn check_setting(item: &Item<'_>, key: &str, value: &Value) -> Result<(), PlanError> {
    let value = value.to_string();
    if value == AS_FOUND || is_setting(&Machine::here(), key, &value) {
        return Ok(());
    }
    let what = format!("no setting of the host is called `{key}`");
    Err(item.key_error(what, "use a setting of docs/host.md, for example host.\"net.core.somaxconn\""))
}
