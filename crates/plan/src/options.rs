//! Options of `pitot serve` and of the load in plans, and their values.

use super::source::{Item, PlanError, did_you_mean};
use super::value::Value;
use crate::catalog::{Catalog, OptionWord, ProgramWord};

/// Whose option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side<'a> {
    Server,
    Load,
    /// A program that runs instead of `pitot load`.
    Program(&'a ProgramWord),
}

impl<'a> Side<'a> {
    pub(super) fn table(self) -> &'static str {
        match self {
            Side::Server => "server",
            Side::Load | Side::Program(_) => "load",
        }
    }

    fn command(self) -> String {
        match self {
            Side::Server => "pitot serve".to_owned(),
            Side::Load => "pitot load".to_owned(),
            Side::Program(program) => format!("pitot {}", program.name),
        }
    }

    fn options(self, catalog: &'a Catalog) -> &'a [OptionWord] {
        match self {
            Side::Server => &catalog.serve_options,
            Side::Load => &catalog.load_options,
            Side::Program(program) => &program.options,
        }
    }

    /// Keys among its options that only plans have.
    fn words(self) -> &'static [&'static str] {
        match self {
            Side::Server => &["protocol"],
            Side::Load => &["url", "size", "program"],
            Side::Program(_) => &["program"],
        }
    }
}

/// The options that a plan may set for a side; those that only plans have come without an entry.
pub(super) fn known<'a>(
    catalog: &'a Catalog,
    side: Side<'a>,
) -> impl Iterator<Item = (&'a str, Option<&'a OptionWord>)> {
    let settable =
        side.options(catalog).iter().filter(|o| o.renamed_to.is_none() && o.meaning.reserved.is_none());
    settable.map(|o| (o.name.as_str(), Some(o))).chain(side.words().iter().map(|word| (*word, None)))
}

/// Checks that `option` exists and takes `value`, which is at `item`.
pub(super) fn check_option(
    catalog: &Catalog,
    side: Side<'_>,
    item: &Item<'_>,
    option: &str,
    value: &Value,
) -> Result<(), PlanError> {
    let word = side.options(catalog).iter().find(|o| o.name == option);
    if let Some(fix) = word.and_then(|word| word.meaning.reserved.as_ref()) {
        let what = format!("`{}.{option}` is set by the lab", side.table());
        return Err(item.key_error(what, fix));
    }
    let refuse = |kind: &str, known: &[&str]| {
        let known: Vec<&str> = known.to_vec();
        Err(item.error(format!("`{value}` is not {kind}"), did_you_mean(&value.to_string(), &known)))
    };
    let words = |list: &[String]| -> Vec<String> { list.to_vec() };
    let words_known = match (side, option) {
        (Side::Server, "protocol") => {
            Some(("a protocol", catalog.protocols.iter().map(|p| p.name.clone()).collect()))
        }
        (Side::Server, "model") => {
            Some(("a concurrency model", catalog.models.iter().map(|m| m.name.clone()).collect()))
        }
        (Side::Server, "mechanism") => Some(("an event mechanism", words(&catalog.mechanisms))),
        (Side::Load, "size") => {
            let bytes = pitot_meter::units::size(&value.to_string());
            return bytes
                .map(|_| ())
                .map_err(|e| item.error(e.to_string(), "write 512, \"4KiB\" or \"1MiB\""));
        }
        (Side::Load, "url") => {
            return match value {
                Value::Text(url) if url.contains("://") => Ok(()),
                _ => Err(item.error(
                    format!("`{value}` is not a URL"),
                    "write it as \"http://{address}/bytes/{size}\": {address} is the server's",
                )),
            };
        }
        _ => None,
    };
    if let Some((kind, known)) = words_known {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        return if known.contains(&value.to_string().as_str()) { Ok(()) } else { refuse(kind, &known) };
    }
    let Some(word) = word else {
        let known: Vec<&str> = known(catalog, side).map(|(name, _)| name).collect();
        let what = format!("`{option}` is not an option of `{}`", side.command());
        return Err(item.key_error(what, did_you_mean(option, &known)));
    };
    if let Some(new) = &word.renamed_to {
        let what = format!("`{option}` is now called `{new}`");
        return Err(item.key_error(what, format!("write {new} = ...")));
    }
    match value {
        Value::Flag(_) if word.takes_value => Err(item
            .error(format!("`{option}` takes a value, not a switch"), format!("write {option} = \"...\""))),
        Value::Flag(_) => Ok(()),
        _ if !word.takes_value => Err(item.error(
            format!("`{option}` is a switch and takes no value"),
            format!("write {option} = true or false"),
        )),
        _ if !word.values.is_empty() && !word.values.contains(&value.to_string()) => {
            let known: Vec<&str> = word.values.iter().map(String::as_str).collect();
            refuse(&format!("a value of `{option}`"), &known)
        }
        _ => Ok(()),
    }
}
