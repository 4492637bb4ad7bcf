//! Reads and checks the file of a [`Target`].

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use serde::Deserialize;

use crate::definition::{OnDemand, Ready, Recipe, Stop, Target, TargetFile, TargetSetting};
use crate::error::TargetError;
use crate::pages::PAGES;
use crate::placeholders;

const READY_TIMEOUT: &str = "10s";
const START: &str = "80ms";
const SIGNALS: [&str; 3] = ["TERM", "INT", "QUIT"];

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Raw {
    summary: String,
    protocol: String,
    program: OneOrMore,
    home: Option<String>,
    command: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    version: Vec<String>,
    ready: RawReady,
    #[serde(default)]
    failed: OneOrMore,
    ready_timeout: Option<String>,
    start: Option<String>,
    stop: OneOrMore,
    stop_timeout: Option<String>,
    settles_within: Option<String>,
    url: Option<String>,
    #[serde(default)]
    cannot: BTreeMap<String, String>,
    #[serde(default)]
    on_demand: BTreeMap<String, RawOnDemand>,
    #[serde(default)]
    settings: BTreeMap<String, RawSetting>,
    #[serde(default)]
    files: BTreeMap<String, RawFile>,
    #[serde(default)]
    install: RawInstall,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl Default for OneOrMore {
    fn default() -> OneOrMore {
        OneOrMore::More(Vec::new())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOnDemand {
    #[serde(default)]
    module: OneOrMore,
    #[serde(default)]
    texts: BTreeMap<String, String>,
    #[serde(default)]
    files: BTreeMap<String, RawFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReady {
    get: Option<String>,
    #[serde(default)]
    send: String,
    expect: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSetting {
    default: Scalar,
    doc: String,
    #[serde(default)]
    values: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Number(i64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawFile {
    Text(String),
    Source { source: String },
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawInstall {
    #[serde(default)]
    debian: Vec<String>,
    maven: Option<RawMaven>,
    build: Option<Build>,
    #[serde(default)]
    pypi: Vec<String>,
    #[serde(default)]
    npm: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMaven {
    artifact: String,
    sha256: String,
}

/// How to build the folder of the target.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Build {
    Maven,
    Go,
    Cargo,
}

/// Reads a target. `file` is named in errors; `sources` are the files of its folder: paths and texts.
///
/// # Errors
/// The first mistake.
pub fn read(
    name: &str,
    file: &str,
    text: &str,
    sources: Vec<(String, String)>,
) -> Result<Target, TargetError> {
    let raw: Raw = toml::from_str(text).map_err(|e| of_toml(file, text, &e))?;
    let reader = Reader { file, text };
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(is_name) {
        let what = format!("`{name}` is not a name for a target");
        return Err(reader.error(&(0..0), what, "name the file in small letters, digits and dashes"));
    }
    let duration = |key: &str, value: Option<&str>, default: &str| -> Result<Duration, TargetError> {
        let value = value.unwrap_or(default);
        pitot_meter::units::duration(value).map(|nanos| Duration::from_nanos(nanos.0)).map_err(|e| {
            reader.near(key, e.to_string(), "write a number with its unit: \"500ms\", \"2s\", \"5m\"")
        })
    };
    let optional =
        |key: &str, value: Option<&str>| value.map(|text| duration(key, Some(text), "")).transpose();
    let mut target = Target {
        name: name.to_owned(),
        summary: raw.summary,
        protocol: raw.protocol,
        programs: raw.program.into_list(),
        home: raw.home,
        command: raw.command,
        env: raw.env.into_iter().collect(),
        version: raw.version,
        ready: reader.ready(raw.ready)?,
        failed: raw.failed.into_list(),
        ready_timeout: duration("ready-timeout", raw.ready_timeout.as_deref(), READY_TIMEOUT)?,
        start: duration("start", raw.start.as_deref(), START)?,
        stop: reader.stop(raw.stop)?,
        stop_timeout: optional("stop-timeout", raw.stop_timeout.as_deref())?,
        settles_within: optional("settles-within", raw.settles_within.as_deref())?,
        url: raw.url,
        cannot: raw.cannot.into_iter().collect(),
        on_demand: Vec::new(),
        settings: raw.settings.into_iter().map(setting).collect(),
        files: Vec::new(),
        install: recipes(raw.install),
        sources,
    };
    target.files = reader.files(raw.files, &target.sources)?;
    for (page, raw) in raw.on_demand {
        let files = reader.files(raw.files, &target.sources)?;
        let (modules, texts) = (raw.module.into_list(), raw.texts.into_iter().collect());
        target.on_demand.push(OnDemand { page, modules, texts, files });
    }
    reader.check(&target)?;
    Ok(target)
}

impl OneOrMore {
    fn into_list(self) -> Vec<String> {
        match self {
            OneOrMore::One(one) => vec![one],
            OneOrMore::More(all) => all,
        }
    }
}

fn setting((name, raw): (String, RawSetting)) -> TargetSetting {
    let default = match raw.default {
        Scalar::Number(n) => n.to_string(),
        Scalar::Text(text) => text,
    };
    TargetSetting { name, default, doc: raw.doc, values: raw.values.into_iter().collect() }
}

fn recipes(raw: RawInstall) -> Vec<Recipe> {
    let mut recipes = Vec::new();
    if !raw.debian.is_empty() {
        recipes.push(Recipe::Debian(raw.debian));
    }
    recipes.extend(raw.maven.map(|m| Recipe::Maven { artifact: m.artifact, sha256: m.sha256 }));
    recipes.extend(raw.build.map(|build| match build {
        Build::Maven => Recipe::MavenProject,
        Build::Go => Recipe::Go,
        Build::Cargo => Recipe::Cargo,
    }));
    if !raw.pypi.is_empty() {
        recipes.push(Recipe::Pypi(raw.pypi));
    }
    if !raw.npm.is_empty() {
        recipes.push(Recipe::Npm(raw.npm));
    }
    recipes
}

fn of_toml(file: &str, text: &str, error: &toml::de::Error) -> TargetError {
    let what = error.message().lines().next().unwrap_or("it is not TOML").to_owned();
    let fix = "docs/targets.md describes the keys of a target";
    TargetError::at(file, text, &error.span().unwrap_or(0..0), what, fix)
}

/// A text, for positions in errors.
#[derive(Clone, Copy)]
struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn error(&self, at: &Range<usize>, what: impl Into<String>, fix: impl Into<String>) -> TargetError {
        TargetError::at(self.file, self.text, at, what, fix)
    }

    /// An error at the first line that begins with `key`, or else contains it.
    fn near(&self, key: &str, what: impl Into<String>, fix: impl Into<String>) -> TargetError {
        let mut start = 0;
        let mut found = None;
        for line in self.text.split_inclusive('\n') {
            if line.trim_start().starts_with(key) {
                found = Some(start + line.len() - line.trim_start().len());
                break;
            }
            start += line.len();
        }
        let at = found.or_else(|| self.text.find(key)).unwrap_or(0);
        self.error(&(at..at), what, fix)
    }

    fn ready(&self, raw: RawReady) -> Result<Ready, TargetError> {
        let fix = "write { get = \"/1k\" }, or { send = \"PING\\r\\n\", expect = \"+PONG\" }";
        match (raw.get, raw.expect) {
            (Some(path), None) if path.starts_with('/') && raw.send.is_empty() => Ok(Ready::Get(path)),
            (None, Some(expect)) if !expect.is_empty() => Ok(Ready::Answer { send: raw.send, expect }),
            _ => Err(self.near("ready", "`ready` needs `get` or `expect`", fix)),
        }
    }

    fn stop(&self, raw: OneOrMore) -> Result<Stop, TargetError> {
        match raw {
            OneOrMore::One(signal) if SIGNALS.contains(&signal.as_str()) => Ok(Stop::Signal(signal)),
            OneOrMore::One(other) => Err(self.near(
                "stop",
                format!("`{other}` is not a signal to stop a server"),
                format!("known: {}; write a command as a list", SIGNALS.join(", ")),
            )),
            OneOrMore::More(command) if !command.is_empty() => Ok(Stop::Command(command)),
            OneOrMore::More(_) => Err(self.near("stop", "the command is empty", "name a program")),
        }
    }

    fn files(
        &self,
        raw: BTreeMap<String, RawFile>,
        sources: &[(String, String)],
    ) -> Result<Vec<TargetFile>, TargetError> {
        let mut files = Vec::new();
        for (path, raw) in raw {
            let inside = std::path::Path::new(&path)
                .components()
                .all(|c| matches!(c, std::path::Component::Normal(_)));
            if !inside || path.is_empty() {
                let what = format!("`{path}` is not a path below the private directory");
                return Err(self.near(&path, what, "write it as \"conf/server.xml\""));
            }
            let text = match raw {
                RawFile::Text(text) => text,
                RawFile::Source { source } => {
                    let found = sources.iter().find(|(name, _)| *name == source);
                    let missing = || {
                        let what = format!("the folder of the target has no file `{source}`");
                        self.near(
                            &source,
                            what,
                            "add it to the folder with the target's name, beside the file",
                        )
                    };
                    found.map(|(_, text)| text.clone()).ok_or_else(missing)?
                }
            };
            files.push(TargetFile { path, text });
        }
        Ok(files)
    }

    /// Checks that involve several keys.
    fn check(&self, target: &Target) -> Result<(), TargetError> {
        for (key, list) in [("command", &target.command), ("program", &target.programs)] {
            if list.first().is_none_or(String::is_empty) {
                return Err(self.near(key, format!("`{key}` is empty"), "name a program"));
            }
        }
        let pages = target.cannot.iter().map(|(page, _)| page);
        for page in pages.chain(target.on_demand.iter().map(|one| &one.page)) {
            if PAGES.iter().all(|known| known.name != page) {
                let names: Vec<&str> = PAGES.iter().map(|page| page.name).collect();
                let what = format!("`{page}` is not a page that targets serve");
                return Err(self.near(page, what, format!("known: {}", names.join(", "))));
            }
        }
        if target.failed.iter().any(String::is_empty) {
            let what = "an empty text matches every line";
            return Err(self.near("failed", what, "write a text that only the error has"));
        }
        let stop: &[String] = match &target.stop {
            Stop::Command(command) => command,
            Stop::Signal(_) => &[],
        };
        let env = || target.env.iter().map(|(_, value)| value);
        let commands = || target.command.iter().chain(&target.version).chain(stop).chain(env());
        let of_pages = || target.on_demand.iter().flat_map(|one| &one.texts);
        let names = target.settings.iter().map(|s| s.name.as_str());
        let known = placeholders::known(names.chain(of_pages().map(|(name, _)| name.as_str())));
        for word in commands().flat_map(|text| placeholders::words(text)) {
            if !known.contains(&word) {
                let what = format!("`{{{word}}}` is neither a setting nor a known placeholder");
                let fix = format!("known: {{{}}}", known.join("}, {"));
                return Err(self.near(&format!("{{{word}}}"), what, fix));
            }
        }
        let is_used = |place: &str| {
            let texts = commands().chain(target.files.iter().map(|file| &file.text)).chain(&target.url);
            texts.into_iter().any(|text| text.contains(place))
        };
        for (name, _) in of_pages() {
            let place = format!("{{{name}}}");
            if placeholders::is_reserved(name) || target.settings.iter().any(|s| s.name == *name) {
                let what = format!("`{place}` is a placeholder already");
                return Err(self.near(name, what, "choose another name"));
            }
            if !is_used(&place) {
                let what = format!("the text `{name}` is not used");
                return Err(self.near(name, what, format!("write {place} where it belongs")));
            }
        }
        for setting in &target.settings {
            let name = &setting.name;
            let at = format!("[settings.{name}]");
            if placeholders::is_reserved(name) {
                let what = format!("`{{{name}}}` is a placeholder already");
                return Err(self.near(&at, what, "choose another name"));
            }
            let place = format!("{{{name}}}");
            if !is_used(&place) {
                let what = format!("the setting `{name}` is not used");
                return Err(self.near(&at, what, format!("write {place} where it belongs")));
            }
            if setting.text(&setting.default).is_none() {
                let values: Vec<&str> = setting.values.iter().map(|(value, _)| value.as_str()).collect();
                let what = format!("the default of `{name}` is not one of its values");
                return Err(self.near(&at, what, format!("known: {}", values.join(", "))));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &str = r#"
summary = "one"
protocol = "http"
program = "one"
command = ["{program}", "-c", "one.conf", "{workers}"]
ready = { get = "/1k" }
stop = "TERM"

[settings.workers]
default = "{cpu-count}"
doc = "Worker processes."

[settings.log]
default = "off"
doc = "An access log."
values = { off = "no-log", on = "log {dir}/log" }

[files]
"one.conf" = "listen {address} {log}"
"#;

    fn refusal(from: &str, to: &str) -> String {
        assert!(SOUND.contains(from), "{from}");
        let text = SOUND.replacen(from, to, 1);
        let error = read("one", "one.toml", &text, Vec::new()).unwrap_err();
        format!("{error}; {}", error.fix)
    }

    #[test]
    fn a_sound_file_is_read() {
        let target = read("one", "one.toml", SOUND, Vec::new()).unwrap();
        assert_eq!(target.ready_timeout, Duration::from_secs(10));
        assert_eq!(target.settings[0].text("on"), Some("log {dir}/log"));
        assert_eq!(target.settings[0].text("maybe"), None);
        assert_eq!(target.settings[1].text("7"), Some("7"));
        assert_eq!(target.ready, Ready::Get("/1k".into()));
    }

    #[test]
    fn what_a_page_alone_needs_is_read() {
        let text = SOUND.replace("{log}\"", "{log} {echo}\"")
            + "[on-demand.echo]\nmodule = \"/m.so\"\ntexts = { echo = \"load {module}\" }\nfiles = { \"x\" = \"y\" }\n";
        let target = read("one", "one.toml", &text, Vec::new()).unwrap();
        let [echo] = &target.on_demand[..] else { panic!("{:?}", target.on_demand) };
        assert_eq!((echo.page.as_str(), &echo.modules[..]), ("echo", &["/m.so".to_owned()][..]));
        assert_eq!(echo.texts, [("echo".to_owned(), "load {module}".to_owned())]);
        assert_eq!(echo.files, [TargetFile { path: "x".into(), text: "y".into() }]);
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        for (from, to, wanted) in [
            ("summary = ", "sumary = ", "one.toml:2:1: unknown field `sumary`"),
            ("protocol = \"http\"\n", "", "missing field `protocol`"),
            ("stop = \"TERM\"", "stop = \"KILL\"", "one.toml:7:1: `KILL` is not a signal"),
            ("{ get = \"/1k\" }", "{ get = \"1k\" }", "one.toml:6:1: `ready` needs `get`"),
            (
                "\"{workers}\"]",
                "\"{worker}\"]",
                "one.toml:5:44: `{worker}` is neither a setting nor a known placeholder",
            ),
            ("{log}", "", "one.toml:13:1: the setting `log` is not used"),
            ("default = \"off\"", "default = \"none\"", "the default of `log` is not one of its values"),
            ("\"one.conf\" =", "\"../one.conf\" =", "is not a path below the private directory"),
            ("\"listen {address} {log}\"", "{ source = \"x\" }", "has no file `x`"),
            ("stop = \"TERM\"", "stop = \"TERM\"\nstart = \"1 fortnight\"", "one.toml:8:1:"),
            ("stop = \"TERM\"", "stop = \"TERM\"\nstop-timeout = \"soon\"", "one.toml:8:1:"),
            ("stop = \"TERM\"", "stop = \"TERM\"\ncannot = { ech = \"no\" }", "`ech` is not a page"),
            ("stop = \"TERM\"", "stop = \"TERM\"\non-demand = { ech = {} }", "`ech` is not a page"),
            ("stop = \"TERM\"", "stop = \"TERM\"\nfailed = \"\"", "one.toml:8:1: an empty text"),
            (
                "stop = \"TERM\"",
                "stop = \"TERM\"\non-demand = { echo = { texts = { more = \"\" } } }",
                "the text `more` is not used",
            ),
            (
                "stop = \"TERM\"",
                "stop = \"TERM\"\non-demand = { echo = { texts = { workers = \"\" } } }",
                "`{workers}` is a placeholder already",
            ),
        ] {
            let told = refusal(from, to);
            assert!(told.contains(wanted), "{wanted}: {told}");
        }
    }
}
