//! Readers of single values.

use crate::catalog::Catalog;
use crate::server::{FileContent, PlanFile, Ready};
use crate::source::{Item, PlanError};
use pitot_stats::Statistic;

/// The name of a metric.
pub(super) fn metric(item: &Item<'_>, catalog: &Catalog) -> Result<String, PlanError> {
    let name = item.text()?;
    match catalog.renamed_metrics.iter().find(|(old, _)| *old == name) {
        Some((old, new)) => {
            Err(item.error(format!("`{old}` is now called `{new}`"), format!("write \"{new}\"")))
        }
        None => one_of(item, "a metric", &catalog.metrics),
    }
}

/// One of the words of the catalog.
pub(super) fn one_of(item: &Item<'_>, kind: &str, known: &[String]) -> Result<String, PlanError> {
    let name = item.text()?;
    if known.contains(&name) {
        return Ok(name);
    }
    Err(item.unknown_value(kind, &known.iter().map(String::as_str).collect::<Vec<_>>()))
}

pub(super) fn statistic(item: &Item<'_>) -> Result<Statistic, PlanError> {
    let text = item.text()?;
    if text == "median" {
        return Ok(Statistic::Median);
    }
    text.strip_prefix("trimmed-mean(")
        .and_then(|rest| rest.strip_suffix(')'))
        .and_then(|n| n.parse().ok())
        .map(Statistic::TrimmedMean)
        .ok_or_else(|| item.unknown_value("a statistic", &["median", "trimmed-mean(1)"]))
}

pub(super) fn cpu_list(item: &Item<'_>) -> Result<String, PlanError> {
    let text = item.text()?;
    if pitot_host::parse_cpu_list(&text).is_some_and(|cpus| !cpus.is_empty()) {
        return Ok(text);
    }
    Err(item.error(format!("`{text}` is not a list of CPUs"), "write numbers and ranges: \"0-3,8\""))
}

/// A list of CPUs, or [`ALL_CPUS`](pitot_host::ALL_CPUS).
pub(super) fn cpu_list_or_all(item: &Item<'_>) -> Result<String, PlanError> {
    match item.text()? {
        all if all == pitot_host::ALL_CPUS => Ok(all),
        _ => cpu_list(item),
    }
}

/// A command as a list of arguments, or as one text that is split at blanks.
pub(super) fn command(item: &Item<'_>) -> Result<Vec<String>, PlanError> {
    let words = match item.text() {
        Ok(text) if text.contains(['"', '\'', '\\', '|', '&', ';', '>', '<', '$']) => {
            let fix = format!("write it as a list: {} = [\"program\", \"argument\"]", item.key);
            return Err(item.error(
                "a command given as one text is split at blanks, and quotes or shell syntax do not work",
                fix,
            ));
        }
        Ok(text) => text.split_whitespace().map(str::to_owned).collect(),
        Err(_) => item.texts()?,
    };
    if words.is_empty() {
        return Err(item.error(format!("`{}` is empty", item.key), "name a program"));
    }
    Ok(words)
}

/// Names and values; numbers need no quotes.
pub(super) fn variables(item: &Item<'_>) -> Result<Vec<(String, String)>, PlanError> {
    let mut variables = Vec::new();
    for variable in item.section(format!("`{}`", item.key))?.items() {
        if variable.key.is_empty() || variable.key.contains(['=', '\0']) {
            let what = format!("`{}` is not the name of a variable", variable.key);
            return Err(variable.key_error(what, "write it as PORT = \"{port}\""));
        }
        variables.push((variable.key.clone(), variable.need_scalar()?.to_string()));
    }
    Ok(variables)
}

pub(super) fn ready(item: &Item<'_>) -> Result<Ready, PlanError> {
    if let Ok(text) = item.text() {
        return if text == "port" {
            Ok(Ready::Port)
        } else {
            Err(item.unknown_value("a readiness check", &["port"]))
        };
    }
    let section = item.section("`ready`")?;
    section.check_keys(["line", "get", "send", "expect"])?;
    if let Some(path) = section.get("get") {
        return Ok(Ready::Get(path.text()?));
    }
    if let Some(expect) = section.get("expect") {
        let send = section.get("send").map_or(Ok(String::new()), |item| item.text())?;
        return Ok(Ready::Answer { send, expect: expect.text()? });
    }
    let fix = "write ready = { line = \"text of the line\" } or { get = \"/\" }";
    Ok(Ready::Line(section.need("line", fix)?.text()?))
}

pub(super) fn files(item: &Item<'_>) -> Result<Vec<PlanFile>, PlanError> {
    let mut files = Vec::new();
    for file in item.section("`files`")?.items() {
        let path = std::path::Path::new(&file.key);
        let inside = path.components().all(|c| matches!(c, std::path::Component::Normal(_)));
        if !inside || file.key.is_empty() {
            let what = format!("`{}` is not a path below the private directory", file.key);
            return Err(file.key_error(what, "write it as \"html/index.html\""));
        }
        let content = match file.text() {
            Ok(text) => FileContent::Text(text),
            Err(_) => {
                let section = file.section(format!("the file `{}`", file.key))?;
                section.check_keys(["size", "lines", "line"])?;
                if let Some(lines) = section.get("lines") {
                    let count = pitot_meter::units::count(&lines.need_scalar()?.to_string())
                        .map_err(|e| lines.error(e.to_string(), "write 200000 or \"200k\""))?;
                    let line = section.need("line", "add the line: line = \"user{i}@d{i%10}.test\"")?;
                    FileContent::Lines { count, line: line.text()? }
                } else {
                    let fix = "write { size = \"1KiB\" }, or { lines = 1000, line = \"{i}\" }";
                    let size = section.need("size", fix)?;
                    let text = size.need_scalar()?.to_string();
                    if text == "{size}" {
                        FileContent::SizeOfLoad
                    } else {
                        let fix = "write \"512\", \"4KiB\", \"1MiB\", or \"{size}\" for the load's size";
                        let bytes = pitot_meter::units::size(&text);
                        FileContent::Size(bytes.map_err(|e| size.error(e.to_string(), fix))?)
                    }
                }
            }
        };
        files.push(PlanFile { path: file.key.clone(), content });
    }
    Ok(files)
}
