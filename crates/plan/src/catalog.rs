//! The words that plans may use, as data.
//!
//! The lab starts servers and load generators as commands and depends on neither; what they understand comes in here,
//! made by the command line from its own registries and option tables.

use pitot_target::Target;
use serde::{Deserialize, Serialize};

/// All words that a plan may use for `pitot serve`, `pitot load`, charts and metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalog {
    /// Protocols of `pitot serve`.
    pub protocols: Vec<ProtocolWord>,
    /// Concurrency models.
    pub models: Vec<ModelWord>,
    /// Event mechanisms.
    pub mechanisms: Vec<String>,
    /// The pairs that are not possible or not available, with the reason. All others are.
    pub impossible: Vec<ImpossiblePair>,
    /// Options of `pitot serve`.
    pub serve_options: Vec<OptionWord>,
    /// Options of `pitot serve` that cannot be used here.
    pub impossible_options: Vec<ImpossibleOption>,
    /// Options of `pitot load`.
    pub load_options: Vec<OptionWord>,
    /// What may run in place of `pitot load`.
    pub programs: Vec<ProgramWord>,
    /// Servers of others that are known by name.
    pub targets: Vec<TargetWord>,
    /// Charts.
    pub charts: Vec<String>,
    /// Metrics.
    pub metrics: Vec<String>,
    /// Metrics that were renamed: the old name and the new one.
    pub renamed_metrics: Vec<(String, String)>,
}

/// A protocol of `pitot serve`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtocolWord {
    /// The word.
    pub name: String,
    /// The URL of a load where the plan names none, with placeholders.
    pub load_url: String,
    /// The scheme of URLs that load it over TLS, if `pitot load` has one.
    pub tls_scheme: Option<String>,
    /// A server with a certificate speaks TLS from the first byte, not when it is asked to.
    pub tls_at_once: bool,
    /// Its servers serve files.
    pub files: bool,
}

/// A server of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetWord {
    /// What is known of it.
    pub target: Target,
    /// Its program, as a command names it; the first of its names if it is not there.
    pub program: String,
    /// The folder in which the rest of it is, if there is one.
    pub home: Option<String>,
    /// Why it cannot be started here, and what mends that; none if it can.
    pub unavailable: Option<String>,
}

/// A subcommand that may run in place of `pitot load`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramWord {
    /// As it is typed: `disk read`.
    pub name: String,
    /// Its options.
    pub options: Vec<OptionWord>,
    /// False if it is what is measured, so that no server is started for it.
    pub needs_server: bool,
    /// True if what is measured writes files, so that kernel threads work for it.
    pub writes_files: bool,
}

/// A concurrency model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelWord {
    /// The word.
    pub name: String,
    /// The mechanism that `pitot serve` takes where none is named.
    pub default_mechanism: String,
    /// True if all its connections live in one process, and so under one limit on descriptors.
    pub one_process: bool,
}

/// A pair that cannot be run here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImpossiblePair {
    /// The model.
    pub model: String,
    /// The mechanism.
    pub mechanism: String,
    /// Why, in one line.
    pub reason: String,
}

/// An option of `pitot serve` that cannot be used here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImpossibleOption {
    /// Its name.
    pub option: String,
    /// The mechanism with which it cannot; none if it is all of them.
    pub mechanism: Option<String>,
    /// Why, in one line.
    pub reason: String,
}

/// An option of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionWord {
    /// Its long name, without dashes.
    pub name: String,
    /// False for a switch.
    pub takes_value: bool,
    /// The only words that it takes; empty if it takes others.
    pub values: Vec<String>,
    /// Its new name, if this one is refused.
    #[serde(default)]
    pub renamed_to: Option<String>,
    /// What it means to the lab.
    #[serde(default)]
    pub meaning: OptionMeaning,
}

/// What an option means to the lab, besides what its command makes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionMeaning {
    /// Only the lab sets it; this is what to write in its place.
    pub reserved: Option<String>,
    /// It opens as many connections as it says.
    pub opens_connections: bool,
    /// With it the load ends by itself, not after the plan's duration.
    pub ends_by_itself: bool,
    /// With it requests wait for something else than the reply before them, or there are none.
    pub open_loop: bool,
    /// It matters to URLs of TLS only, and is left out of the other loads.
    pub of_tls: bool,
}

impl Catalog {
    /// The protocol of that name.
    pub fn protocol(&self, name: &str) -> Option<&ProtocolWord> {
        self.protocols.iter().find(|p| p.name == name)
    }

    /// The model of that name.
    pub fn model(&self, name: &str) -> Option<&ModelWord> {
        self.models.iter().find(|m| m.name == name)
    }

    /// The target of that name.
    pub fn target(&self, name: &str) -> Option<&TargetWord> {
        self.targets.iter().find(|t| t.target.name == name)
    }

    /// The option of `pitot load` of that name.
    pub fn load_option(&self, name: &str) -> Option<&OptionWord> {
        self.load_options.iter().find(|o| o.name == name)
    }

    /// The program of that name.
    pub fn program(&self, name: &str) -> Option<&ProgramWord> {
        self.programs.iter().find(|p| p.name == name)
    }

    /// Why a pair cannot be run here, if it cannot.
    pub fn why_impossible(&self, model: &str, mechanism: &str) -> Option<&str> {
        self.impossible
            .iter()
            .find(|p| p.model == model && p.mechanism == mechanism)
            .map(|p| p.reason.as_str())
    }

    /// The same where other kernels than this one carry a plan out, which are asked themselves: what this one does not have says
    /// nothing of them.
    #[must_use]
    pub fn on_other_kernels(mut self) -> Catalog {
        self.impossible_options.retain(|o| o.mechanism.is_some());
        self
    }

    /// Why an option of `pitot serve` cannot be used here with a mechanism, if it cannot.
    pub fn why_impossible_option(&self, option: &str, mechanism: &str) -> Option<&str> {
        self.impossible_options
            .iter()
            .find(|o| o.option == option && o.mechanism.as_ref().is_none_or(|with| with == mechanism))
            .map(|o| o.reason.as_str())
    }
}
