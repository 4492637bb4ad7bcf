//! Options of `pitot serve` and of the load in plans: which there are, and what they mean to the lab.

use super::source::{Item, PlanError, did_you_mean};
use super::value::Value;
use crate::catalog::{Catalog, OptionWord, ProgramWord};

/// Whose option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side<'a> {
    Server,
    Load,
    /// Of what runs in place of `pitot load`.
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

    /// What the lab knows of this side's options by itself.
    fn entries(self) -> impl Iterator<Item = &'static Entry> {
        let (server, load, program) = match self {
            Side::Server => (true, false, false),
            Side::Load => (false, true, false),
            Side::Program(_) => (false, false, true),
        };
        ENTRIES.iter().filter(move |e| (e.server && server) || (e.load && load) || (e.program && program))
    }
}

/// An option, or a word in its place, that means something to the lab.
struct Entry {
    name: &'static str,
    /// Among options of the server, of `pitot load`, of what runs in its place.
    server: bool,
    load: bool,
    program: bool,
    role: Role,
}

/// What an option means to the lab.
#[derive(Clone, Copy)]
enum Role {
    /// Only the lab sets it; this is what to write instead.
    Reserved(&'static str),
    /// It is no option of the command, but a word of plans.
    Word,
    /// It opens as many connections as it says.
    Connections,
    /// With it the load ends by itself, not after the plan's duration.
    EndsByItself,
    /// It matters to URLs of TLS only, and is left out of the other loads.
    OfTls,
}

const fn of_server(name: &'static str, role: Role) -> Entry {
    Entry { name, server: true, load: false, program: false, role }
}

const fn of_load(name: &'static str, role: Role) -> Entry {
    Entry { name, server: false, load: true, program: false, role }
}

const fn of_both_loads(name: &'static str, role: Role) -> Entry {
    Entry { name, server: false, load: true, program: true, role }
}

const ENTRIES: &[Entry] = &[
    of_server("protocol", Role::Word),
    of_server("listen", Role::Reserved("the lab chooses a free port for every repetition")),
    of_server("stats", Role::Reserved("the lab always asks for the counters")),
    of_server("cpus", Role::Reserved("write server-cpus = \"0-3\" at the top of the plan")),
    of_load("url", Role::Word),
    of_load("size", Role::Word),
    of_both_loads("program", Role::Word),
    of_both_loads("duration", Role::Reserved("write duration = \"2s\" at the top of the plan")),
    of_both_loads("warmup", Role::Reserved("write warmup = \"500ms\" at the top of the plan")),
    of_both_loads("json", Role::Reserved("the lab always asks for the result")),
    of_both_loads("cpus", Role::Reserved("write load-cpus = \"4-7\" at the top of the plan")),
    of_both_loads("connections", Role::Connections),
    of_load("idle", Role::Connections),
    of_load("requests-total", Role::EndsByItself),
    of_load("stages", Role::EndsByItself),
    of_load("storm", Role::EndsByItself),
    of_load("insecure", Role::OfTls),
    of_load("tls-ca", Role::OfTls),
    of_load("tls-cert", Role::OfTls),
    of_load("tls-crl", Role::OfTls),
    of_load("tls-key", Role::OfTls),
    of_load("tls-resume", Role::OfTls),
    of_load("tls-version", Role::OfTls),
];

/// Whether the option `load.NAME` is about TLS.
pub(super) fn is_of_tls(name: &str) -> bool {
    ENTRIES.iter().any(|e| e.name == name && matches!(e.role, Role::OfTls))
}

/// Whether the option `load.NAME` opens connections to the server.
pub(super) fn opens_connections(name: &str) -> bool {
    ENTRIES.iter().any(|e| e.name == name && e.load && matches!(e.role, Role::Connections))
}

/// The options that a plan may set for a side, and how it may spell each: none for a word that is no option of its command.
pub(super) fn known<'a>(
    catalog: &'a Catalog,
    side: Side<'a>,
) -> impl Iterator<Item = (&'a str, Option<&'a OptionWord>)> {
    let is_reserved =
        move |name: &str| side.entries().any(|e| e.name == name && matches!(e.role, Role::Reserved(_)));
    let options = side.options(catalog).iter();
    let words = side.entries().filter(|e| matches!(e.role, Role::Word)).map(|e| (e.name, None));
    let settable = options.filter(move |o| o.renamed_to.is_none() && !is_reserved(&o.name));
    settable.map(|o| (o.name.as_str(), Some(o))).chain(words)
}

/// Options of the load with which it ends by itself.
pub(super) fn ending_options() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().filter(|e| matches!(e.role, Role::EndsByItself)).map(|e| e.name)
}

/// Checks that `option` exists and may be set to `value`, which stands at `item`.
pub(super) fn check_option(
    catalog: &Catalog,
    side: Side<'_>,
    item: &Item<'_>,
    option: &str,
    value: &Value,
) -> Result<(), PlanError> {
    if let Some(Role::Reserved(cure)) = side.entries().find(|e| e.name == option).map(|e| e.role) {
        let what = format!("`{}.{option}` is set by the lab", side.table());
        return Err(item.source.error(&item.key_span, what, cure));
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
    let Some(word) = side.options(catalog).iter().find(|o| o.name == option) else {
        let known: Vec<&str> = known(catalog, side).map(|(name, _)| name).collect();
        let what = format!("`{option}` is not an option of `{}`", side.command());
        return Err(item.source.error(&item.key_span, what, did_you_mean(option, &known)));
    };
    if let Some(new) = &word.renamed_to {
        let what = format!("`{option}` is now called `{new}`");
        return Err(item.source.error(&item.key_span, what, format!("write {new} = ...")));
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
