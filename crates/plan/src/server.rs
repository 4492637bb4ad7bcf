//! Servers, helpers and files of a plan.

use std::ops::RangeInclusive;

use super::foreign::Foreign;
use serde::{Deserialize, Serialize};

use pitot_target::{OnDemand, TargetSetting};

use super::value::Settings;

/// A server that the plan describes itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerSpec {
    /// The name that levels use.
    pub name: String,
    /// One line for readers.
    pub summary: String,
    /// Its files, besides those of the plan.
    pub files: Vec<PlanFile>,
    /// What is started.
    pub program: Program,
}

/// What is started as a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// `pitot serve` with these options, and `url`: what the load generator requests, in place of the plan's `load.url`.
    Pitot(Settings),
    /// Any other program.
    External(Box<External>),
}

/// A server on the load's side, such as a DNS responder for mail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Helper {
    /// `{NAME}` stands for its address in options of the load.
    pub name: String,
    /// The protocol that it serves.
    pub protocol: String,
    /// Its options.
    pub options: Settings,
}

/// Another program as a server. In all texts `{port}`, `{address}`, `{cpus}` and `{dir}` (its private directory)
/// stand for what the lab has chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct External {
    /// The program and its arguments; it must stay in the foreground.
    pub command: Vec<String>,
    /// The folder in which it is started; its private directory if none.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Variables of its environment, besides those of the lab: names and values.
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// How it shows that it is ready.
    pub ready: Ready,
    /// Texts in its output that show that it will never become ready.
    #[serde(default)]
    pub failed: Vec<String>,
    /// The signal that stops it: `TERM`, `INT` or `QUIT`.
    pub stop: String,
    /// A command that stops it instead of the signal.
    #[serde(default)]
    pub stop_command: Vec<String>,
    /// What the load generator requests; the plan's `load.url` if none.
    pub url: Option<String>,
    /// A command that prints the program's version.
    pub version: Vec<String>,
    /// Timeout until it is ready, seconds; the plan's if none.
    #[serde(default)]
    pub ready_timeout_s: Option<f64>,
    /// Timeout until it has stopped, seconds; the plan's if none, or if that is longer.
    #[serde(default)]
    pub stop_timeout_s: Option<f64>,
    /// Its address, if it is on a system without an agent.
    #[serde(default)]
    pub foreign: Option<Foreign>,
    /// Its target, if it is one.
    #[serde(default)]
    pub target: Option<Box<TargetUse>>,
}

/// A target in use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TargetUse {
    /// The target.
    pub name: String,
    /// The protocol that it speaks, as a scheme of URLs.
    pub protocol: String,
    /// Its settings, which expansion fills in.
    pub settings: Vec<TargetSetting>,
    /// What it cannot serve: names of pages, and why.
    pub cannot: Vec<(String, String)>,
    /// Configuration for single pages, which expansion fills in if the page is requested.
    #[serde(default)]
    pub on_demand: Vec<OnDemand>,
    /// Why it cannot be started here, and how to fix that; none if it can.
    pub unavailable: Option<String>,
    /// Seconds that it usually takes until it is ready.
    pub start_s: f64,
    /// Its warm-up lasts until its rate has settled, but at most so many seconds.
    pub settles_within_s: Option<f64>,
}

/// How an external server shows that it is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ready {
    /// Its port accepts a connection.
    Port,
    /// It prints a line, on stdout or stderr, that contains this text.
    Line(String),
    /// It answers a request for this path with status 200.
    Get(String),
    /// A connection that sends `send` receives a reply that contains `expect`. An empty `send` waits for a banner.
    Answer {
        /// What is sent.
        send: String,
        /// What the reply contains.
        expect: String,
    },
    /// It answers a request for this path over TLS with status 200.
    Https(String),
}

impl Ready {
    /// The same check for a server that speaks TLS, which would refuse plain text.
    pub(super) fn over_tls(&self) -> Ready {
        match self {
            Ready::Get(path) => Ready::Https(path.clone()),
            _ => Ready::Port,
        }
    }
}

/// A file that a server finds in its private directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlanFile {
    /// Its path below the directory. A range, `{0..15}`, makes it a set of files.
    pub path: String,
    /// What is in it.
    pub content: FileContent,
}

impl PlanFile {
    /// The path before the range, the range, and the path after it; none if it is one file.
    pub(super) fn range(&self) -> Option<(&str, RangeInclusive<u32>, &str)> {
        let (head, rest) = self.path.split_once('{')?;
        let (inside, tail) = rest.split_once('}')?;
        let (first, last) = inside.split_once("..")?;
        Some((head, first.parse().ok()?..=last.parse().ok()?, tail))
    }

    /// How many files it is.
    pub(super) fn count(&self) -> u128 {
        match self.range() {
            None => 1,
            Some((_, range, _)) => (u128::from(*range.end()) + 1).saturating_sub(u128::from(*range.start())),
        }
    }
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileContent {
    /// A text; placeholders are replaced as in commands.
    Text(String),
    /// So many bytes of `x`.
    Size(u64),
    /// As many bytes of `x` as the cell's `load.size` says.
    SizeOfLoad,
    /// The same line so many times, with numbers in it.
    Lines {
        /// How many.
        count: u64,
        /// The line. `{i}` is its number from 0, and `{i%N}` that number modulo N.
        line: String,
    },
}
