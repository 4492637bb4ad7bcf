//! Options of `pitot serve` and of the load, and the helpers of the load.

use crate::options::{Side, check_option};
use crate::server::Helper;
use crate::source::{Item, PlanError};
use crate::value::Settings;

use super::known::Known;

/// Placeholders that a helper cannot be named after.
const PLACEHOLDERS: &[&str] = &["address", "port", "dir", "cpus", "size", "plan", "resolver"];

/// Reads options of one side.
pub(super) fn settings(known: &Known<'_>, item: &Item<'_>, side: Side<'_>) -> Result<Settings, PlanError> {
    let mut settings = Settings::default();
    for option in item.section(format!("`{}`", item.key))?.items() {
        if is_placement(item, &option.key) {
            continue;
        }
        let value = option.setting()?;
        check_option(known.catalog, side, &option, &option.key, &value)?;
        settings.set(&option.key, value);
    }
    Ok(settings)
}

/// Whether a key selects hosts, and is not an option of a command.
fn is_placement(table: &Item<'_>, option: &str) -> bool {
    matches!((table.key.as_str(), option), ("server" | "load", "host") | ("load", "hosts"))
}

/// Reads options of the load, and the program that runs instead, which decides which options there are.
pub(super) fn load(known: &mut Known<'_>, item: &Item<'_>) -> Result<(Settings, Option<String>), PlanError> {
    let program = item.section("`load`")?.get("program");
    if let Some(item) = &program {
        let name = item.text()?;
        known.program = Some(known.catalog.program(&name).ok_or_else(|| {
            let words: Vec<&str> = known.catalog.programs.iter().map(|p| p.name.as_str()).collect();
            item.unknown_value("a program for the load", &words)
        })?);
    }
    let mut options = Settings::default();
    for option in item.section("`load`")?.items() {
        if option.key != "program" && !is_placement(item, &option.key) {
            let value = option.setting()?;
            check_option(known.catalog, known.load_side(), &option, &option.key, &value)?;
            options.set(&option.key, value);
        }
    }
    Ok((options, known.program.map(|p| p.name.clone())))
}

/// Reads the helpers of the load.
pub(super) fn helpers(known: &Known<'_>, item: &Item<'_>) -> Result<Vec<Helper>, PlanError> {
    item.section("`helpers`")?.items().iter().map(|one| helper(known, one)).collect()
}

fn helper(known: &Known<'_>, item: &Item<'_>) -> Result<Helper, PlanError> {
    let section = item.section(format!("`helpers.{}`", item.key))?;
    if PLACEHOLDERS.contains(&item.key.as_str()) {
        let what = format!("`{{{}}}` is a placeholder already", item.key);
        return Err(item.key_error(what, "choose another name"));
    }
    let protocol = section.need("protocol", "add the protocol that it serves: protocol = \"dns\"")?;
    let mut options = settings(known, item, Side::Server)?;
    options.take("protocol");
    Ok(Helper { name: item.key.clone(), protocol: protocol.text()?, options })
}
