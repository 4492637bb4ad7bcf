//! Targets in plans: settings, and servers that are targets.

use crate::catalog::Catalog;
use crate::levels::{Factor, SERVER_FACTOR};
use crate::server::ServerSpec;
use crate::source::{Item, PlanError, Section, did_you_mean};
use crate::target;
use crate::value::{Settings, Value};

use super::known::Known;
use super::values;

/// Reads settings that all targets share.
pub(super) fn settings(known: &Known<'_>, item: &Item<'_>) -> Result<Settings, PlanError> {
    let mut settings = Settings::default();
    for one in item.section("`target`")?.items() {
        let value = one.need_scalar()?;
        check_setting(known.catalog, &one, &one.key, &value)?;
        settings.set(&one.key, value);
    }
    Ok(settings)
}

/// Checks that some target has this setting and takes this value, which is at `item`.
pub(super) fn check_setting(
    catalog: &Catalog,
    item: &Item<'_>,
    name: &str,
    value: &Value,
) -> Result<(), PlanError> {
    check_among(catalog.targets.iter().map(|word| &word.target), item, name, value)
}

fn check_among<'a>(
    targets: impl Iterator<Item = &'a pitot_target::Target> + Clone,
    item: &Item<'_>,
    name: &str,
    value: &Value,
) -> Result<(), PlanError> {
    let all = || targets.clone().flat_map(|target| &target.settings);
    let mut named = all().filter(|setting| setting.name == name).peekable();
    let text = target::spelled(value);
    let Some(first) = named.peek().copied() else {
        let mut names: Vec<&str> = all().map(|setting| setting.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let what = format!("`{name}` is not a setting of a target");
        return Err(item.key_error(what, did_you_mean(name, &names)));
    };
    if named.any(|setting| setting.text(&text).is_some()) {
        return Ok(());
    }
    let values: Vec<&str> = first.values.iter().map(|(value, _)| value.as_str()).collect();
    Err(item.error(format!("`{text}` is not a value of `{name}`"), did_you_mean(&text, &values)))
}

/// The targets among the levels of the factor `server`, as servers.
pub(super) fn named(known: &Known<'_>, factors: &[Factor]) -> Vec<ServerSpec> {
    let levels = factors.iter().filter(|f| f.name == SERVER_FACTOR).flat_map(|f| &f.levels);
    let names = levels.map(ToString::to_string);
    names
        .filter(|name| known.servers.iter().all(|server| server.name != *name))
        .filter_map(|name| {
            Some(target::server(&name, known.catalog.target(&name)?, &Settings::default(), known.catalog))
        })
        .collect()
}

/// Reads `[servers.NAME]` with `target = "..."`: the other keys are settings.
pub(super) fn server(
    known: &Known<'_>,
    item: &Item<'_>,
    section: &Section<'_>,
    which: &Item<'_>,
) -> Result<ServerSpec, PlanError> {
    let Some(word) = known.catalog.target(&which.text()?) else {
        let names: Vec<&str> = known.catalog.targets.iter().map(|t| t.target.name.as_str()).collect();
        return Err(which.unknown_value("a target", &names));
    };
    let mut settings = Settings::default();
    let (mut summary, mut files) = (None, Vec::new());
    for one in section.items() {
        match one.key.as_str() {
            "target" => {}
            "summary" => summary = Some(one.text()?),
            "files" => files = values::files(&one)?,
            name => {
                let value = one.need_scalar()?;
                check_among(std::iter::once(&word.target), &one, name, &value)?;
                settings.set(name, value);
            }
        }
    }
    let mut spec = target::server(&item.key, word, &settings, known.catalog);
    spec.summary = summary.unwrap_or(spec.summary);
    spec.files.extend(files);
    Ok(spec)
}
