//! What an option `--server` means.

use pitot_plan::{Catalog, nearest};
use pitot_results::Failure;
use pitot_target::Target;

use crate::failure::hint;
use crate::words::{self, Flaw};

/// A server of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    /// Its name in the plan and in the report.
    pub(super) name: String,
    pub(super) kind: ServerKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServerKind {
    /// `pitot serve`: a model, and a mechanism if one is named.
    Architecture { model: String, mechanism: Option<String> },
    /// A target.
    Target(Box<Target>),
    /// Any other program.
    Command(Vec<String>),
}

/// The servers of a comparison, with unique names.
///
/// # Errors
/// If one of them cannot be started, or is given twice.
pub(super) fn named(texts: &[String], catalog: &Catalog) -> Result<Vec<Server>, Failure> {
    let mut servers: Vec<Server> = Vec::new();
    for text in texts {
        let mut server = parse(text.trim(), catalog)?;
        let is_taken = |name: &str| servers.iter().any(|other| other.name == name);
        if is_taken(&server.name) {
            if !matches!(server.kind, ServerKind::Command(_)) || has_name(text) {
                let command = split_name(text.trim()).map_or(text.trim(), |(_, rest)| rest);
                return Err(Failure::misuse(
                    format!("two servers are called `{}`", server.name),
                    format!("omit one, or give it another name: --server 'NAME={command}'"),
                ));
            }
            // Two scripts of the same name differ by their interpreter, else by a number.
            let runner = match &server.kind {
                ServerKind::Command(words) => runner_of(words),
                ServerKind::Architecture { .. } | ServerKind::Target(_) => None,
            };
            let by_runner = runner.map(|runner| format!("{runner}-{}", server.name));
            let free = by_runner
                .into_iter()
                .chain((2..).map(|n| format!("{}-{n}", server.name)))
                .find(|name| !is_taken(name));
            server.name = free.unwrap_or_default();
        }
        servers.push(server);
    }
    Ok(servers)
}

/// A server, named after its role if it is a command without a name.
///
/// # Errors
/// If it cannot be started.
pub(crate) fn with_role(text: &str, role: &str, catalog: &Catalog) -> Result<String, Failure> {
    let is_command = matches!(parse(text.trim(), catalog)?.kind, ServerKind::Command(_));
    Ok(if is_command && !has_name(text) { format!("{role}={text}") } else { text.to_owned() })
}

fn has_name(text: &str) -> bool {
    split_name(text).is_some()
}

/// `NAME=COMMAND`, taken apart.
pub(crate) fn split_name(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once('=')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_+.".contains(c);
    (!name.is_empty() && name.chars().all(is_name)).then_some((name, rest))
}

fn parse(text: &str, catalog: &Catalog) -> Result<Server, Failure> {
    let Some((name, rest)) = split_name(text) else {
        let kind = kind(text, catalog)?;
        let name = match &kind {
            ServerKind::Command(words) => name_of(words),
            ServerKind::Target(target) => target.name.clone(),
            ServerKind::Architecture { .. } => text.to_owned(),
        };
        return Ok(Server { name, kind });
    };
    // In a shell, words before a command set variables.
    let first = text.split_whitespace().next().unwrap_or_default();
    if first.len() < text.len() && !name.chars().any(|c| c.is_ascii_lowercase()) {
        return Err(Failure::misuse(
            format!("`{first}` would be the name of the server, not a variable"),
            format!("to set a variable use env {text}"),
        ));
    }
    Ok(Server { name: name.to_owned(), kind: kind(rest.trim(), catalog)? })
}

fn unreadable(command: &str, flaw: Flaw) -> Failure {
    match flaw {
        Flaw::Quote(quote) => {
            Failure::misuse(format!("the quote {quote} in `{command}` is not closed"), "close it")
        }
        Flaw::Backslash => {
            Failure::misuse(format!("`{command}` ends in a backslash"), "omit it, or double it")
        }
        Flaw::Refused(c) => Failure::misuse(
            format!("`{command}` needs a shell for {c}, but commands run without one"),
            "use sh -c 'exec ...', with exec so that signals reach the server",
        ),
    }
}

fn kind(text: &str, catalog: &Catalog) -> Result<ServerKind, Failure> {
    let is_named = |target: &Target| target.name == text || format!("{}-server", target.name) == text;
    if let Some(word) = catalog.targets.iter().find(|word| is_named(&word.target)) {
        return Ok(ServerKind::Target(Box::new(word.target.clone())));
    }
    if let Some(architecture) = architecture(text, catalog) {
        return Ok(architecture);
    }
    let words = words::split(text, words::OF_SHELLS).map_err(|flaw| unreadable(text, flaw))?;
    if words.iter().any(|word| ["{address}", "{port}"].iter().any(|place| word.contains(place))) {
        return Ok(ServerKind::Command(words));
    }
    if let Some((wrong, right)) = words.iter().find_map(|word| misspelt(word)) {
        return Err(Failure::misuse(
            format!("`{wrong}` in `{text}` is unknown"),
            format!("write {right}: '{}'", text.replace(&wrong, right)),
        ));
    }
    let first = words.first().map_or("", String::as_str);
    if words.len() > 1 && architecture(first, catalog).is_some() {
        return Err(Failure::misuse(
            format!("`{first}` is an architecture of Pitot and takes no options here"),
            "write a plan with `pitot init`, with the options under [servers.NAME]",
        ));
    }
    let is_path = first.contains('/') || words.len() > 1 || std::path::Path::new(first).exists();
    if is_path || is_program(first) {
        return Err(Failure::misuse(
            format!("the command `{text}` has no address to listen on"),
            format!(
                "add {{address}} (127.0.0.1:PORT) or {{port}}: '{text} {{address}}', or 'env PORT={{port}} {text}'"
            ),
        ));
    }
    let mut names: Vec<String> = catalog.targets.iter().map(|word| word.target.name.clone()).collect();
    names.extend(catalog.models.iter().map(|m| m.name.clone()));
    if let Some((model, _)) = text.split_once('+') {
        names.extend(catalog.mechanisms.iter().map(|mechanism| format!("{model}+{mechanism}")));
    }
    Err(Failure::misuse(
        format!(
            "`{text}` is not a server that Pitot can start{}",
            hint(text, names.iter().map(String::as_str))
        ),
        "name a command with {address}, a target (`pitot list targets`), or an architecture (`pitot list pairs`)",
    ))
}

/// A misspelt {address} or {port}, and the right word.
fn misspelt(word: &str) -> Option<(String, &'static str)> {
    let (_, rest) = word.split_once('{')?;
    let (name, _) = rest.split_once('}')?;
    let place = nearest(&name.to_ascii_lowercase(), ["address", "port"])?;
    Some((format!("{{{name}}}"), if place == "port" { "{port}" } else { "{address}" }))
}

/// `MODEL` or `MODEL+MECHANISM`.
fn architecture(text: &str, catalog: &Catalog) -> Option<ServerKind> {
    let (model, mechanism) = text.split_once('+').map_or((text, None), |(m, e)| (m, Some(e)));
    catalog.model(model)?;
    let known = mechanism.is_none_or(|m| catalog.mechanisms.iter().any(|known| known == m));
    known.then(|| ServerKind::Architecture {
        model: model.to_owned(),
        mechanism: mechanism.map(str::to_owned),
    })
}

/// Whether a folder of `PATH` holds the program.
fn is_program(name: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    !name.is_empty() && std::env::split_paths(&folders).any(|folder| folder.join(name).is_file())
}

/// Programs whose argument names the server better.
const RUNNERS: &[&str] = &[
    "bash", "bun", "deno", "env", "java", "node", "perl", "php", "python", "python3", "ruby", "sh", "taskset",
];

/// The interpreter of a command that runs a script.
fn runner_of(words: &[String]) -> Option<&'static str> {
    let name = std::path::Path::new(words.first()?).file_stem()?;
    RUNNERS.iter().copied().find(|runner| name == *runner && *runner != "env")
}

/// The name of a command: its program, or the script of an interpreter.
fn name_of(words: &[String]) -> String {
    let stem = |word: &str| {
        let name = std::path::Path::new(word).file_stem().unwrap_or_default().to_string_lossy();
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' }).collect()
    };
    let program: String = words.first().map(|word| stem(word)).unwrap_or_default();
    let is_script =
        |word: &&String| !word.contains(['{', '=', ' ']) && !word.starts_with('-') && word.contains('.');
    match words.iter().skip(1).find(is_script) {
        Some(script) if RUNNERS.contains(&program.as_str()) => stem(script),
        _ if program.is_empty() => "server".to_owned(),
        _ => program,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::catalog;

    #[test]
    fn servers_are_named_after_what_they_are() {
        let names = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
            named(&texts, &catalog().unwrap()).unwrap().into_iter().map(|s| s.name).collect::<Vec<_>>()
        };
        assert_eq!(
            names(&["./old/srv {address}", "./new/srv {address}", "redis-server", "fast=loop+uring", "loop"]),
            ["srv", "srv-2", "redis", "fast", "loop"]
        );
        assert_eq!(names(&["./web {address}", "node web.js {port}"]), ["web", "node-web"]);
        assert_eq!(
            names(&["python3 -u web.py {port}", "env PORT={port} node api.js", "env PORT={port} ./go"]),
            ["web", "api", "go"]
        );
    }
}
