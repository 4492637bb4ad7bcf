//! Factors and their levels.

use std::collections::HashSet;
use std::ops::Range;

use crate::host::SETTINGS_FACTOR;
use crate::levels::{Factor, KERNEL_FACTOR, REPLICATE_FACTOR, SERVER_FACTOR};
use crate::options::{Side, check_option};
use crate::source::{Item, PlanError, did_you_mean};
use crate::value::Value;

use super::known::Known;
use super::{host, kernels, targets};

/// Reads the factors, and the positions of their names.
pub(super) fn factors(
    known: &Known<'_>,
    item: &Item<'_>,
) -> Result<(Vec<Factor>, Vec<Range<usize>>), PlanError> {
    let section = item.section("`factors`")?;
    let mut factors: Vec<Factor> = Vec::new();
    let mut spans = Vec::new();
    for item in section.flat_items() {
        let elements = item.list()?;
        if elements.is_empty() {
            return Err(
                item.error(format!("`{}` has no levels", item.key), "name at least one, or remove it")
            );
        }
        let mut levels: Vec<Value> = Vec::new();
        let mut names = HashSet::new();
        for element in &elements {
            let value = element.need_scalar()?;
            check_level(known, &item, element, &value)?;
            if !names.insert(value.to_string()) {
                return Err(element.error(format!("the level `{value}` is repeated"), "remove one"));
            }
            levels.push(value);
        }
        factors.push(Factor { name: item.key.clone(), levels });
        spans.push(item.key_span.clone());
    }
    if factors.is_empty() {
        let fix = "name at least one, such as server = [\"loop+epoll-et\"]";
        return Err(section.source.error(&section.span, "`factors` is empty", fix));
    }
    Ok((factors, spans))
}

fn check_level(
    known: &Known<'_>,
    item: &Item<'_>,
    element: &Item<'_>,
    value: &Value,
) -> Result<(), PlanError> {
    match item.key.split_once('.') {
        Some(("server", option)) => check_option(known.catalog, Side::Server, element, option, value),
        Some(("target", setting)) => targets::check_setting(known.catalog, element, setting, value),
        Some(("load", option)) => check_option(known.catalog, known.load_side(), element, option, value),
        None if item.key == SERVER_FACTOR => check_server_level(known, element, value),
        None if item.key == REPLICATE_FACTOR => Ok(()),
        None if item.key == SETTINGS_FACTOR => host::check_set(&known.settings, element, value),
        None if item.key == KERNEL_FACTOR => kernels::check_level(element, value),
        Some(("host", setting)) => host::check_setting(item, setting, value),
        _ => {
            let mut words =
                [SERVER_FACTOR, REPLICATE_FACTOR, SETTINGS_FACTOR, KERNEL_FACTOR].map(str::to_owned).to_vec();
            for (side, options) in
                [("server", &known.catalog.serve_options), ("load", &known.catalog.load_options)]
            {
                words.extend(options.iter().map(|o| format!("{side}.{}", o.name)));
            }
            let what = "a factor";
            let near = did_you_mean(&item.key, &words.iter().map(String::as_str).collect::<Vec<_>>());
            let fix = if near.starts_with("known") {
                "factors are `server`, `replicate`, `server.OPTION`, `target.SETTING`, `load.OPTION`, \
                 `host.SETTING`, `settings` and `kernel`"
                    .to_owned()
            } else {
                near
            };
            Err(item.key_error(format!("`{}` is not {what}", item.key), fix))
        }
    }
}

fn check_server_level(known: &Known<'_>, element: &Item<'_>, value: &Value) -> Result<(), PlanError> {
    let name = value.to_string();
    if known.servers.iter().any(|s| s.name == name) || known.catalog.target(&name).is_some() {
        return Ok(());
    }
    let models: Vec<&str> = known.catalog.models.iter().map(|m| m.name.as_str()).collect();
    let mechanisms: Vec<&str> = known.catalog.mechanisms.iter().map(String::as_str).collect();
    let (model, mechanism) = match name.split_once('+') {
        Some((model, mechanism)) => (model, Some(mechanism)),
        None => (name.as_str(), None),
    };
    if let Some(mechanism) = mechanism
        && !mechanisms.contains(&mechanism)
        && models.contains(&model)
    {
        let what = format!("`{mechanism}` in `{name}` is not an event mechanism");
        return Err(element.error(what, did_you_mean(mechanism, &mechanisms)));
    }
    if models.contains(&model) {
        return Ok(());
    }
    let mut words: Vec<&str> = known.servers.iter().map(|s| s.name.as_str()).collect();
    words.extend(&models);
    words.extend(known.catalog.targets.iter().map(|t| t.target.name.as_str()));
    let what = format!("`{model}` is not a server of this plan, a target or a concurrency model");
    let fix = did_you_mean(model, &words);
    let define = format!("or define it: [servers.{name}] with command = [\"program\", \"{{address}}\"]");
    Err(element.error(what, format!("{fix}; {define}")))
}
