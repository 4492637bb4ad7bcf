//! Servers that a plan describes.

use std::net::SocketAddr;

use crate::options::Side;
use crate::options::check_option;
use crate::server::{External, PlanFile, Program, Ready, ServerSpec};
use crate::source::{Item, PlanError, Section};
use crate::value::Settings;

use super::key::{Key, Kind, Presence, apply};
use super::known::Known;
use super::targets;

/// What a table of `servers` is read into.
pub(crate) struct Description {
    summary: String,
    files: Vec<PlanFile>,
    external: External,
}

/// Signals that may stop a server.
const STOP_SIGNALS: &[&str] = &["TERM", "INT", "QUIT", "SIGTERM", "SIGINT", "SIGQUIT"];

/// In a table of `servers`.
pub(crate) static EXTERNAL: &[Key<Description>] = &[
    Key {
        name: "summary",
        kind: Kind::Text(|d, text| d.summary = text),
        presence: Presence::Optional,
        doc: "One line for readers.",
    },
    Key {
        name: "files",
        kind: Kind::Files(|d, files| d.files = files),
        presence: Presence::Optional,
        doc: "Files written to its private directory, besides those of the plan.",
    },
    Key {
        name: "command",
        kind: Kind::Command(|d, argv| d.external.command = argv),
        presence: Presence::Optional,
        doc: "The program and its arguments, with `{address}`, `{port}`, `{dir}` and `{cpus}`. It must stay in the \
              foreground. As its first word `pitot` is this very program.",
    },
    Key {
        name: "cwd",
        kind: Kind::Text(|d, text| d.external.cwd = Some(text)),
        presence: Presence::Optional,
        doc: "The folder in which it is started: `\"{plan}\"` for that of the plan's file, to which a relative path \
              belongs as well. Its private directory, `{dir}`, if it is left out.",
    },
    Key {
        name: "env",
        kind: Kind::Variables(|d, variables| d.external.env = variables),
        presence: Presence::Optional,
        doc: "Variables of its environment, with the placeholders of commands: `{ PORT = \"{port}\" }`. The others are \
              those of the lab.",
    },
    Key {
        name: "ready",
        kind: Kind::Ready(|d, ready| d.external.ready = ready),
        presence: Presence::Default("\"port\""),
        doc: "`\"port\"`: its port accepts connections. `{ get = \"/\" }`: it answers a request for this path with status \
              200. `{ send = \"PING\\r\\n\", expect = \"PONG\" }`: what it answers, or says by itself where nothing is \
              sent, contains this text. `{ line = \"...\" }`: it prints a line with this text.",
    },
    Key {
        name: "failed",
        kind: Kind::Texts(|d, texts| d.external.failed = texts),
        presence: Presence::Optional,
        doc: "A text, or several: a line that it prints with one of them says that it will never be ready, although it goes \
              on. Nothing waits for it any longer, and the line is the reason.",
    },
    Key {
        name: "ready-timeout",
        kind: Kind::Duration { positive: true, set: |d, s| d.external.ready_timeout_s = Some(s) },
        presence: Presence::Optional,
        doc: "How long it may take until it is ready; what the plan says for all if it is left out.",
    },
    Key {
        name: "stop",
        kind: Kind::Choice {
            what: "a signal that stops",
            words: STOP_SIGNALS,
            set: |d, index| STOP_SIGNALS[index].trim_start_matches("SIG").clone_into(&mut d.external.stop),
        },
        presence: Presence::Default("\"TERM\""),
        doc: "The signal that stops it.",
    },
    Key {
        name: "stop-command",
        kind: Kind::Command(|d, argv| d.external.stop_command = argv),
        presence: Presence::Optional,
        doc: "A command that stops it, in place of the signal.",
    },
    Key {
        name: "address",
        kind: Kind::Text(|d, text| d.external.foreign.get_or_insert_default().address = text),
        presence: Presence::Optional,
        doc: "Where it listens, if the lab does not choose that: `\"10.0.0.9:8080\"`, on a system that has no agent (docs/agent.md).",
    },
    Key {
        name: "cpu-time",
        kind: Kind::Command(|d, argv| d.external.foreign.get_or_insert_default().cpu_time = argv),
        presence: Presence::Optional,
        doc: "For a server with an `address`: a command that prints the CPU time that it has used so far, as `ps -o time=` or \
              `kstat -p` do.",
    },
    Key {
        name: "url",
        kind: Kind::Text(|d, text| d.external.url = Some(text)),
        presence: Presence::Optional,
        doc: "What the load requests; the plan's `load.url` if it is left out. A server of Pitot may have it too.",
    },
    Key {
        name: "version",
        kind: Kind::Command(|d, argv| d.external.version = argv),
        presence: Presence::Optional,
        doc: "A command that prints the program's version.",
    },
];

/// Keys that a server of Pitot may have too.
const COMMON: &[&str] = &["summary", "files"];

/// Reads the servers.
pub(super) fn servers(known: &mut Known<'_>, item: &Item<'_>) -> Result<Vec<ServerSpec>, PlanError> {
    item.section("`servers`")?.items().iter().map(|one| server(known, one)).collect()
}

fn server(known: &mut Known<'_>, item: &Item<'_>) -> Result<ServerSpec, PlanError> {
    let section = item.section(format!("`servers.{}`", item.key))?;
    let mut description = Description {
        summary: String::new(),
        files: Vec::new(),
        external: External {
            command: Vec::new(),
            cwd: None,
            env: Vec::new(),
            ready: Ready::Port,
            failed: Vec::new(),
            stop: "TERM".into(),
            stop_command: Vec::new(),
            url: None,
            version: Vec::new(),
            ready_timeout_s: None,
            stop_timeout_s: None,
            foreign: None,
            target: None,
        },
    };
    if let Some(target) = section.get("target") {
        return targets::server(known, item, &section, &target);
    }
    let is_external = section.get("command").is_some();
    let mut options = Settings::default();
    if is_external {
        section.check_keys(EXTERNAL.iter().map(|key| key.name))?;
    } else {
        for option in section.items().iter().filter(|i| !COMMON.contains(&i.key.as_str())) {
            if option.key == "url" {
                let url = option.setting()?;
                check_option(known.catalog, Side::Load, option, "url", &url)?;
                options.set("url", url);
                continue;
            }
            if EXTERNAL.iter().any(|key| key.name == option.key) {
                let what = format!("`servers.{}` has `{}` but no `command`", item.key, option.key);
                let cure =
                    "another program needs command = [...]; a server of Pitot takes options of `pitot serve`";
                return Err(section.source.error(&option.key_span, what, cure));
            }
            let value = option.setting()?;
            check_option(known.catalog, Side::Server, option, &option.key, &value)?;
            options.set(&option.key, value);
        }
    }
    apply(EXTERNAL, known, &section, &mut description)?;
    check_foreign(&section, &description.external)?;
    let Description { summary, files, external } = description;
    let program = if is_external { Program::External(Box::new(external)) } else { Program::Pitot(options) };
    Ok(ServerSpec { name: item.key.clone(), summary, files, program })
}

/// What is seen from the outside has an address.
fn check_foreign(section: &Section<'_>, external: &External) -> Result<(), PlanError> {
    let Some(foreign) = &external.foreign else { return Ok(()) };
    match (section.get("address"), section.get("cpu-time")) {
        (Some(item), _) if foreign.address.parse::<SocketAddr>().is_err() => {
            let what = format!("`{}` is no address with a port", foreign.address);
            Err(item.error(what, "write address = \"10.0.0.9:8080\", for example"))
        }
        (None, Some(item)) => {
            let what = "`cpu-time` is for a server on another system, and this one has no `address`";
            Err(item
                .error(what, "take it out, or write where the server listens: address = \"10.0.0.9:8080\""))
        }
        _ => Ok(()),
    }
}
