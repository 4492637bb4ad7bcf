//! A target, as plain data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::placeholders::MODULE;

/// A server that Pitot knows.
///
/// In texts `{address}`, `{port}`, `{dir}` (its private directory), `{cpus}`, `{cpu-count}` and `{root}` (the folder that
/// it serves) stand for what the lab chooses, `{program}` and `{home}` for what was found, and the name of a setting for
/// its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Its name: the file's, without its ending.
    pub name: String,
    /// One line for readers.
    pub summary: String,
    /// The protocol that it speaks, as a scheme of `pitot load`.
    pub protocol: String,
    /// The names that its program may have; the first that is found is taken.
    pub programs: Vec<String>,
    /// A file by which the folder `{home}` is recognised, relative to it; none if the program is all there is.
    pub home: Option<String>,
    /// The program and its arguments; it stays in the foreground.
    pub command: Vec<String>,
    /// Variables of its environment, besides those of the lab.
    pub env: Vec<(String, String)>,
    /// A command that prints its version.
    pub version: Vec<String>,
    /// How it shows that it is ready.
    pub ready: Ready,
    /// What a line that it prints contains if it will never be ready, although it goes on.
    pub failed: Vec<String>,
    /// How long it may take until it is ready.
    pub ready_timeout: Duration,
    /// How long it usually takes, for estimates.
    pub start: Duration,
    /// How it is stopped.
    pub stop: Stop,
    /// How long that may take; what a plan says if none.
    pub stop_timeout: Option<Duration>,
    /// Its rate rises for seconds, as that of a virtual machine that compiles: it is loaded until the rate has settled,
    /// for at most so long.
    pub settles_within: Option<Duration>,
    /// What it is asked for, if that is not the same as for others of its protocol.
    pub url: Option<String>,
    /// What it cannot serve of [`PAGES`](crate::PAGES), by name, and why.
    pub cannot: Vec<(String, String)>,
    /// What its configuration has for a page only where that is asked for.
    pub on_demand: Vec<OnDemand>,
    /// What can be set.
    pub settings: Vec<TargetSetting>,
    /// Files written to its private directory before it starts.
    pub files: Vec<TargetFile>,
    /// How it is installed.
    pub install: Vec<Recipe>,
    /// Files of its folder: paths and texts.
    pub sources: Vec<(String, String)>,
}

impl Target {
    /// Whether its program is no part of it, as a virtual machine is none.
    pub fn runs_on(&self, program: &str) -> bool {
        let is_of_java = |recipe: &Recipe| matches!(recipe, Recipe::Maven { .. } | Recipe::MavenProject);
        program == "java" && self.install.iter().any(is_of_java)
    }
}

/// How a target shows that it is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ready {
    /// It answers a request for this path with status 200.
    Get(String),
    /// It answers what it is sent, or says by itself where that is nothing, something that contains a text.
    Answer {
        /// What it is sent; empty if it speaks first.
        send: String,
        /// What its answer or its banner contains.
        expect: String,
    },
}

/// What a configuration has for one page, and only where that page is asked for, so that the others cost what they cost
/// without it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct OnDemand {
    /// The page, by name.
    pub page: String,
    /// Where the file may be without which it cannot be served; `{module}` stands for the one that was found. None if it
    /// needs none.
    pub modules: Vec<String>,
    /// Names of placeholders, and what stands for them; nothing does where the page is not asked for.
    pub texts: Vec<(String, String)>,
    /// Files of the private directory besides the others.
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

/// Something that can be set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetSetting {
    /// Its name, in plans `target.NAME`.
    pub name: String,
    /// Its value where a plan says nothing.
    pub default: String,
    /// What it means.
    pub doc: String,
    /// The values that it may have, each with the text that stands for it in the configuration. Empty: any value, which
    /// stands for itself.
    pub values: Vec<(String, String)>,
}

impl TargetSetting {
    /// The text that stands for a value in the configuration; none if it is not a value of this setting.
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

/// One way in which something is installed; a target may need several, one after the other.
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
