//! A target, as plain data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::placeholders::MODULE;

/// A known server of other projects.
///
/// Placeholders in texts: `{address}`, `{port}`, `{dir}` (its private directory), `{cpus}`, `{cpu-count}` and `{root}`
/// (the folder that it serves) are set by the lab, `{program}` and `{home}` are the installed program and folder, and the
/// name of a setting is its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Its name: the file's, without its ending.
    pub name: String,
    /// A description in one line.
    pub summary: String,
    /// The protocol that it speaks, as a scheme of `pitot load`.
    pub protocol: String,
    /// The possible names of its program; the first that is found is used.
    pub programs: Vec<String>,
    /// A file in the folder `{home}` by which it is recognised; none if there is only the program.
    pub home: Option<String>,
    /// The program and its arguments; it stays in the foreground.
    pub command: Vec<String>,
    /// Variables of its environment, besides those of the lab.
    pub env: Vec<(String, String)>,
    /// A command that prints its version.
    pub version: Vec<String>,
    /// How it shows that it is ready.
    pub ready: Ready,
    /// Texts in its output that show that it will never become ready.
    pub failed: Vec<String>,
    /// Timeout until it is ready.
    pub ready_timeout: Duration,
    /// Usual time until it is ready, for estimates.
    pub start: Duration,
    /// How it is stopped.
    pub stop: Stop,
    /// Timeout until it has stopped; the plan's if none.
    pub stop_timeout: Option<Duration>,
    /// Maximum warm-up, until its rate has settled, for servers that compile at run time.
    pub settles_within: Option<Duration>,
    /// Its URL, if it differs from the protocol's default.
    pub url: Option<String>,
    /// What it cannot serve of [`PAGES`](crate::PAGES), by name, and why.
    pub cannot: Vec<(String, String)>,
    /// Configuration for single pages, used only if they are requested.
    pub on_demand: Vec<OnDemand>,
    /// Its settings.
    pub settings: Vec<TargetSetting>,
    /// Files written to its private directory before it starts.
    pub files: Vec<TargetFile>,
    /// How it is installed.
    pub install: Vec<Recipe>,
    /// Files of its folder: paths and texts.
    pub sources: Vec<(String, String)>,
}

impl Target {
    /// Whether its program is not a part of it, for instance a runtime.
    pub fn runs_on(&self, program: &str) -> bool {
        let is_of_java = |recipe: &Recipe| matches!(recipe, Recipe::Maven { .. } | Recipe::MavenProject);
        program == "java" && self.install.iter().any(is_of_java)
    }
}

/// How a target shows that it is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ready {
    /// It replies to a request for this path with status 200.
    Get(String),
    /// Its reply, or its banner if nothing is sent, contains a text.
    Answer {
        /// What it is sent; empty if it speaks first.
        send: String,
        /// A text in its reply or banner.
        expect: String,
    },
}

/// Configuration for one page, used only if the page is requested, so that others are not slowed down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct OnDemand {
    /// The page, by name.
    pub page: String,
    /// Possible paths of a required file; `{module}` is the one that was found. Empty if none is needed.
    pub modules: Vec<String>,
    /// Placeholders and their texts; empty if the page is not requested.
    pub texts: Vec<(String, String)>,
    /// Additional files of the private directory.
    pub files: Vec<TargetFile>,
}

impl OnDemand {
    /// What stands for its module is this one.
    pub(crate) fn put_in(&mut self, module: &str) {
        let place = format!("{{{MODULE}}}");
        let texts = self.texts.iter_mut().map(|(_, text)| text);
        for text in texts.chain(self.files.iter_mut().map(|file| &mut file.text)) {
            *text = text.replace(&place, module);
        }
        self.modules = vec![module.to_owned()];
    }

    /// Its places in the configuration stay, with nothing in them.
    pub(crate) fn leave_empty(&mut self) {
        self.texts.iter_mut().for_each(|(_, text)| text.clear());
        (self.modules, self.files) = (Vec::new(), Vec::new());
    }
}

/// How a target is stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// By a signal: `TERM`, `INT` or `QUIT`.
    Signal(String),
    /// By a command.
    Command(Vec<String>),
}

/// A setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetSetting {
    /// Its name, in plans `target.NAME`.
    pub name: String,
    /// Its default.
    pub default: String,
    /// What it means.
    pub doc: String,
    /// Its values, each with its text in the configuration. If empty, any value, unchanged.
    pub values: Vec<(String, String)>,
}

impl TargetSetting {
    /// The text of a value in the configuration; none if it is not a value of this setting.
    pub fn text<'a>(&'a self, value: &'a str) -> Option<&'a str> {
        match &self.values[..] {
            [] => Some(value),
            values => values.iter().find(|(name, _)| name == value).map(|(_, text)| text.as_str()),
        }
    }
}

/// A file of a target's private directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetFile {
    /// Its path below the directory.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// A way to install something; a target may need several, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recipe {
    /// Packages of Debian, by apt-get.
    Debian(Vec<String>),
    /// An archive, `GROUP:NAME:VERSION:zip`, fetched by Maven, checked and unpacked.
    Maven {
        /// What is fetched.
        artifact: String,
        /// The SHA-256 of the archive, in hexadecimal digits.
        sha256: String,
    },
    /// The folder of the target, a project that Maven builds and whose jars it collects in `lib`.
    MavenProject,
    /// The folder of the target, a module that Go builds.
    Go,
    /// The folder of the target, a package that Cargo builds by its lock file.
    Cargo,
    /// Packages with versions, `NAME==VERSION`, by pip into a virtual environment.
    Pypi(Vec<String>),
    /// Packages with versions, `NAME@VERSION`, by npm.
    Npm(Vec<String>),
}
