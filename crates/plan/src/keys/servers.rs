//! The table `servers` of a plan.

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

/// Keys of a table in `servers`.
pub(crate) static EXTERNAL: &[Key<Description>] = &[
    Key {
        name: "summary",
        kind: Kind::Text(|d, text| d.summary = text),
        presence: Presence::Optional,
        doc: "A description in one line.",
    },
    Key {
        name: "files",
        kind: Kind::Files(|d, files| d.files = files),
        presence: Presence::Optional,
        doc: "Files in its private directory, in addition to those of the plan.",
    },
    Key {
        name: "command",
        kind: Kind::Command(|d, argv| d.external.command = argv),
        presence: Presence::Optional,
        doc: "The program and its arguments, with `{address}`, `{port}`, `{dir}` and `{cpus}`. It must stay in the \
              foreground. `pitot` as its first word is this program.",
    },
    Key {
        name: "cwd",
        kind: Kind::Text(|d, text| d.external.cwd = Some(text)),
        presence: Presence::Optional,
        doc: "Its working directory: `\"{plan}\"` is the folder of the plan's file, and relative paths start there. Default: \
              its private directory, `{dir}`.",
    },
    Key {
        name: "env",
        kind: Kind::Variables(|d, variables| d.external.env = variables),
        presence: Presence::Optional,
        doc: "Environment variables, with the placeholders of commands: `{ PORT = \"{port}\" }`. The others are inherited from \
              the lab.",
    },
    Key {
        name: "ready",
        kind: Kind::Ready(|d, ready| d.external.ready = ready),
        presence: Presence::Default("\"port\""),
        doc: "How to detect that it is ready. `\"port\"`: its port accepts connections. `{ get = \"/\" }`: it replies to a \
              request for this path with status 200. `{ send = \"PING\\r\\n\", expect = \"PONG\" }`: its reply, or its banner \
              without `send`, contains this text. `{ line = \"...\" }`: it prints a line with this text.",
    },
    Key {
        name: "failed",
        kind: Kind::Texts(|d, texts| d.external.failed = texts),
        presence: Presence::Optional,
        doc: "Texts that show in its output that it will never be ready, although it keeps running. The line is reported as \
              the reason.",
    },
    Key {
        name: "ready-timeout",
        kind: Kind::Duration { positive: true, set: |d, s| d.external.ready_timeout_s = Some(s) },
        presence: Presence::Optional,
        doc: "Timeout until it is ready. Default: the plan's `ready-timeout`.",
    },
    Key {
        name: "stop",
        kind: Kind::Choice {
            what: "a signal to stop a server",
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
        doc: "A command that stops it, instead of the signal.",
    },
    Key {
        name: "address",
        kind: Kind::Text(|d, text| d.external.foreign.get_or_insert_default().address = text),
        presence: Presence::Optional,
        doc: "Its address if it is on a system without an agent: `\"10.0.0.9:8080\"` (docs/agent.md).",
    },
    Key {
        name: "cpu-time",
        kind: Kind::Command(|d, argv| d.external.foreign.get_or_insert_default().cpu_time = argv),
        presence: Presence::Optional,
        doc: "For a server with an `address`: a command that prints the CPU time it has used so far, like `ps -o time=` or \
              `kstat -p`.",
    },
    Key {
        name: "url",
        kind: Kind::Text(|d, text| d.external.url = Some(text)),
        presence: Presence::Optional,
        doc: "The URL of the load, also for a server of Pitot. Default: the plan's `load.url`.",
    },
    Key {
        name: "version",
        kind: Kind::Command(|d, argv| d.external.version = argv),
        presence: Presence::Optional,
        doc: "A command that prints the program's version.",
    },
];

/// Keys that a server of Pitot shares.
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
                let fix = "write command = [...] for another program, or options of `pitot serve` for a server of Pitot";
                return Err(option.key_error(what, fix));
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

/// Checks `address` and `cpu-time`.
fn check_foreign(section: &Section<'_>, external: &External) -> Result<(), PlanError> {
    let Some(foreign) = &external.foreign else { return Ok(()) };
    match (section.get("address"), section.get("cpu-time")) {
        (Some(item), _) if foreign.address.parse::<SocketAddr>().is_err() => {
            let what = format!("`{}` is not an address with a port", foreign.address);
            Err(item.error(what, "write address = \"10.0.0.9:8080\", for example"))
        }
        (None, Some(item)) => {
            let what = "`cpu-time` is for a server on another system, and this one has no `address`";
            Err(item.error(what, "remove it, or add the server's address: address = \"10.0.0.9:8080\""))
        }
        _ => Ok(()),
    }
}
