//! Makes a server of a plan from a target.

use pitot_target::{FILES, OnDemand, PAGES, Stop, TargetFile, TargetSetting};

use super::server::{External, FileContent, PlanFile, Program, Ready, ServerSpec, TargetUse};
use super::skip::NoCell;
use super::value::{Settings, Value};
use crate::catalog::{Catalog, TargetWord};

/// The setting that is on if the target is requested over TLS.
const TLS: &str = "tls";

/// The default folder that servers serve.
const ROOT: &str = "{dir}/html";

/// A target as a server of a plan, with these settings in place of the defaults.
pub(super) fn server(name: &str, word: &TargetWord, settings: &Settings, catalog: &Catalog) -> ServerSpec {
    let target = &word.target;
    // Resolved at once, so that the plan records what was run.
    let found = |text: &String| {
        let home = word.home.as_deref().unwrap_or_default();
        text.replace("{program}", &word.program).replace("{home}", home)
    };
    let all = |texts: &[String]| texts.iter().map(found).collect::<Vec<_>>();
    let (stop, stop_command) = match &target.stop {
        Stop::Signal(signal) => (signal.clone(), Vec::new()),
        Stop::Command(command) => ("TERM".to_owned(), all(command)),
    };
    let with = |setting: &TargetSetting| {
        let default = settings.get(&setting.name).map_or_else(|| setting.default.clone(), spelled);
        TargetSetting { default, ..setting.clone() }
    };
    let external = External {
        command: all(&target.command),
        cwd: None,
        env: target.env.iter().map(|(name, value)| (name.clone(), found(value))).collect(),
        ready: match &target.ready {
            pitot_target::Ready::Get(path) => Ready::Get(path.clone()),
            pitot_target::Ready::Answer { send, expect } => {
                Ready::Answer { send: send.clone(), expect: expect.clone() }
            }
        },
        failed: target.failed.clone(),
        stop,
        stop_command,
        url: target.url.clone(),
        version: all(&target.version),
        ready_timeout_s: Some(target.ready_timeout.as_secs_f64()),
        stop_timeout_s: target.stop_timeout.map(|timeout| timeout.as_secs_f64()),
        foreign: None,
        target: Some(Box::new(TargetUse {
            name: target.name.clone(),
            protocol: target.protocol.clone(),
            settings: target.settings.iter().map(with).collect(),
            cannot: target.cannot.clone(),
            on_demand: target.on_demand.iter().map(|one| with_found(one, found)).collect(),
            unavailable: word.unavailable.clone(),
            start_s: target.start.as_secs_f64(),
            settles_within_s: target.settles_within.map(|within| within.as_secs_f64()),
        })),
    };
    let text = |file: &TargetFile| PlanFile {
        path: file.path.clone(),
        content: FileContent::Text(found(&file.text)),
    };
    let serves_files = catalog.protocol(&target.protocol).is_some_and(|protocol| protocol.files);
    let pages = PAGES.iter().filter(|_| serves_files).filter_map(|page| {
        let content = FileContent::Size(page.file_bytes?);
        Some(PlanFile { path: format!("{FILES}/{}", page.name), content })
    });
    let files = target.files.iter().map(text).chain(pages).collect();
    ServerSpec {
        name: name.to_owned(),
        summary: target.summary.clone(),
        files,
        program: Program::External(Box::new(external)),
    }
}

/// Configuration for one page, with the paths of this machine.
fn with_found(one: &OnDemand, found: impl Fn(&String) -> String) -> OnDemand {
    let file = |file: &TargetFile| TargetFile { path: file.path.clone(), text: found(&file.text) };
    OnDemand {
        texts: one.texts.iter().map(|(name, text)| (name.clone(), found(text))).collect(),
        files: one.files.iter().map(file).collect(),
        ..one.clone()
    }
}

/// A value as a setting spells it: switches are `on` and `off`.
pub(super) fn spelled(value: &Value) -> String {
    match value {
        Value::Flag(true) => "on".into(),
        Value::Flag(false) => "off".into(),
        other => other.to_string(),
    }
}

/// Fills settings into the texts of a target: those that the cell varies, else those of the plan's `[target]`, else the
/// defaults. `root` is the folder that servers serve. TLS is on if the URL asks for it, and configuration for single pages is
/// included if `url` requests them.
///
/// # Errors
/// Why the cell cannot be run.
pub(super) fn configure(
    external: &mut External,
    files: &mut Vec<PlanFile>,
    shared: &Settings,
    varied: &Settings,
    root: Option<&Value>,
    url: Option<&str>,
    is_asked_by_tls: bool,
) -> Result<(), String> {
    let Some(target) = &external.target else {
        return match varied.0.first() {
            Some((name, _)) => {
                Err(format!("`target.{name}` is a setting of targets, and this server is not one"))
            }
            None => Ok(()),
        };
    };
    if let Some(reason) = &target.unavailable {
        return Err(reason.clone());
    }
    if let Some((name, _)) = varied.0.iter().find(|(name, _)| target.settings.iter().all(|s| s.name != *name))
    {
        return Err(format!("`{}` has no setting `{name}`", target.name));
    }
    let mut texts = vec![("{root}".to_owned(), root.map_or_else(|| ROOT.to_owned(), ToString::to_string))];
    for setting in &target.settings {
        let name = &setting.name;
        let given = varied.get(name).or_else(|| shared.get(name)).map(spelled);
        let by_url = || (is_asked_by_tls && name == TLS).then(|| "on".to_owned());
        let value = given.or_else(by_url).unwrap_or_else(|| setting.default.clone());
        let text = setting
            .text(&value)
            .ok_or_else(|| format!("`{name}` of `{}` cannot be `{value}`", target.name))?;
        texts.push((format!("{{{name}}}"), text.to_owned()));
    }
    let page = asked(external.url.as_deref(), url).map_or("", page);
    for one in &target.on_demand {
        let is_asked = one.page == page;
        let text = |text: &String| if is_asked { text.clone() } else { String::new() };
        texts.extend(one.texts.iter().map(|(name, own)| (format!("{{{name}}}"), text(own))));
        let own = one.files.iter().filter(|_| is_asked);
        files.extend(
            own.map(|file| PlanFile {
                path: file.path.clone(),
                content: FileContent::Text(file.text.clone()),
            }),
        );
    }
    // In reverse, since texts of pages may contain settings, and settings may contain `{root}`.
    let fill = |text: &mut String| {
        for (place, value) in texts.iter().rev() {
            if text.contains(place.as_str()) {
                *text = text.replace(place.as_str(), value);
            }
        }
    };
    if is_asked_by_tls {
        external.ready = external.ready.over_tls();
    }
    external.command.iter_mut().for_each(fill);
    external.stop_command.iter_mut().for_each(fill);
    external.env.iter_mut().map(|(_, value)| value).for_each(fill);
    external.url.iter_mut().for_each(fill);
    for file in files {
        if let FileContent::Text(text) = &mut file.content {
            fill(text);
        }
    }
    Ok(())
}

/// Whether the plan's URL requests the target over TLS.
pub(super) fn is_asked_by_tls(catalog: &Catalog, external: &External, url: Option<&Value>) -> bool {
    let protocol = external.target.as_ref().and_then(|target| catalog.protocol(&target.protocol));
    match (protocol.and_then(|p| p.tls_scheme.as_deref()), url) {
        (Some(scheme), Some(url)) => url.to_string().split("://").next() == Some(scheme),
        _ => false,
    }
}

/// The URL that is requested of a target: its own, unless the plan has one of the same scheme.
///
/// # Errors
/// Why the target cannot serve it.
pub(super) fn url(
    target: &TargetUse,
    own: Option<&str>,
    plan: Option<&str>,
    is_asked_by_tls: bool,
) -> Result<Option<String>, NoCell> {
    let name = &target.name;
    let Some(url) = asked(own, plan) else { return Ok(None) };
    let has_tls = is_asked_by_tls && target.settings.iter().any(|setting| setting.name == TLS);
    if scheme(url) != target.protocol && !has_tls {
        return Err(format!("`{name}` speaks {}, and the URL is {}", target.protocol, scheme(url)).into());
    }
    let page = page(url);
    match target.cannot.iter().find(|(cannot, _)| cannot == page) {
        Some((_, why)) => Err(NoCell::of_page(format!("it cannot serve /{page}: {why}"))),
        None => Ok(Some(url.to_owned())),
    }
}

/// The plan's URL if it has the scheme of the target's, else the target's.
fn asked<'a>(own: Option<&'a str>, plan: Option<&'a str>) -> Option<&'a str> {
    plan.filter(|plan| own.is_none_or(|own| scheme(plan) == scheme(own))).or(own)
}

fn scheme(url: &str) -> &str {
    url.split("://").next().unwrap_or_default()
}

/// The name of the page that a URL names: its path without the slash.
fn page(url: &str) -> &str {
    let path = url.split("://").nth(1).and_then(|rest| rest.split_once('/')).map_or("", |(_, path)| path);
    path.split(['?', '#']).next().unwrap_or_default()
}
