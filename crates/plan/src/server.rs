//! What a plan says of servers, of the load's helpers, and of the files that they find.

use std::ops::RangeInclusive;

use super::foreign::Foreign;
use serde::{Deserialize, Deserializer, Serialize};

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

/// A server that belongs to the load's side, such as the DNS responder that a mailing asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Helper {
    /// `{NAME}` stands for its address in options of the load.
    pub name: String,
    /// The protocol that `pitot serve` is to serve.
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
    #[serde(deserialize_with = "Ready::recorded")]
    pub ready: Ready,
    /// What a line that it prints contains if it will never be ready, although it goes on.
    #[serde(default)]
    pub failed: Vec<String>,
    /// The signal that stops it: `TERM`, `INT` or `QUIT`.
    pub stop: String,
    /// A command that stops it, in place of the signal.
    #[serde(default)]
    pub stop_command: Vec<String>,
    /// What the load generator requests; the plan's `load.url` if none.
    pub url: Option<String>,
    /// A command that prints the program's version.
    pub version: Vec<String>,
    /// Seconds that it may take until it is ready; what the plan says if none.
    #[serde(default)]
    pub ready_timeout_s: Option<f64>,
    /// Seconds that it may take to stop; what the plan says if none, or if that is more.
    #[serde(default)]
    pub stop_timeout_s: Option<f64>,
    /// Where it is, if that is a system without an agent.
    #[serde(default)]
    pub foreign: Option<Foreign>,
    /// What is known of it besides, if it is a target.
    #[serde(default)]
    pub target: Option<Box<TargetUse>>,
}

/// What is known of a server that is a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TargetUse {
    /// The target.
    pub name: String,
    /// The protocol that it speaks, as a scheme of URLs.
    pub protocol: String,
    /// Its settings. They are put in when a plan is expanded.
    pub settings: Vec<TargetSetting>,
    /// What it cannot serve: names of pages, and why.
    pub cannot: Vec<(String, String)>,
    /// What its configuration has for a page only where that is asked for. It is put in when a plan is expanded.
    #[serde(default)]
    pub on_demand: Vec<OnDemand>,
    /// Why it cannot be started here, and what mends that; none if it can.
    pub unavailable: Option<String>,
    /// Seconds that it usually takes until it is ready.
    pub start_s: f64,
    /// It is loaded until its rate has settled, for at most so many seconds.
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
    /// A connection to its port that sends this receives an answer that contains that. What sends nothing waits for a
    /// banner.
    Answer {
        /// What is sent.
        send: String,
        /// What the answer contains.
        expect: String,
    },
    /// It answers a request for this path over TLS with status 200.
    Https(String),
}

impl Ready {
    /// The same of a server that speaks TLS: a probe in plain text would only see that it is refused.
    pub(super) fn over_tls(&self) -> Ready {
        match self {
            Ready::Get(path) => Ready::Https(path.clone()),
            _ => Ready::Port,
        }
    }

    /// Reads it from a run file. In those of before, a request for a path was the text that was sent.
    fn recorded<'de, D: Deserializer<'de>>(from: D) -> Result<Ready, D::Error> {
        let ready = Ready::deserialize(from)?;
        let path = match &ready {
            Ready::Answer { send, expect } if expect == " 200 " => {
                send.strip_prefix("GET ").and_then(|rest| {
                    rest.strip_suffix(" HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
                })
            }
            _ => None,
        };
        Ok(path.map(|path| Ready::Get(path.to_owned())).unwrap_or(ready))
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
    /// What is before the range in its path, the range, and what is behind it; none if it is one file.
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
        /// The line. `{i}` is its number, from 0, and `{i%N}` what is left of it after division by N.
        line: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(ready: &str) -> Ready {
        let text =
            format!(r#"{{"command": ["x"], "ready": {ready}, "stop": "TERM", "url": null, "version": []}}"#);
        serde_json::from_str::<External>(&text).unwrap().ready
    }

    #[test]
    fn what_older_run_files_say_of_a_path_is_read_as_that_path() {
        let old = r#"{"answer": {"send": "GET /1k HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n", "expect": " 200 "}}"#;
        assert_eq!(read(old), Ready::Get("/1k".into()));
        let own = r#"{"answer": {"send": "GET /1k HTTP/1.0\r\n\r\n", "expect": " 200 "}}"#;
        let Ready::Answer { send, .. } = read(own) else { panic!("it is what its author wrote") };
        assert_eq!(send, "GET /1k HTTP/1.0\r\n\r\n");
        for ready in
            [Ready::Port, Ready::Get("/x".into()), Ready::Https("/".into()), Ready::Line("up".into())]
        {
            assert_eq!(read(&serde_json::to_string(&ready).unwrap()), ready);
        }
    }
}
