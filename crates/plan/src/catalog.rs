//! The names that plans may use, as data.
//!
//! The lab starts servers and load generators as commands and depends on neither. The command line fills this catalog from
//! its registries and option tables.

use pitot_target::Target;
use serde::{Deserialize, Serialize};

/// All names that a plan may use for `pitot serve`, `pitot load`, charts and metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalog {
    /// Protocols of `pitot serve`.
    pub protocols: Vec<ProtocolWord>,
    /// Concurrency models.
    pub models: Vec<ModelWord>,
    /// Event mechanisms.
    pub mechanisms: Vec<String>,
    /// Pairs of model and mechanism that cannot be run here. All others can.
    pub impossible: Vec<ImpossiblePair>,
    /// Options of `pitot serve`.
    pub serve_options: Vec<OptionWord>,
    /// Options of `pitot serve` that cannot be used here.
    pub impossible_options: Vec<ImpossibleOption>,
    /// Options of `pitot load`.
    pub load_options: Vec<OptionWord>,
    /// Subcommands that may run instead of `pitot load`.
    pub programs: Vec<ProgramWord>,
    /// Known targets.
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
    /// With a certificate, a server speaks TLS from the first byte, not only after an upgrade (STARTTLS).
    pub tls_at_once: bool,
    /// Its servers serve files.
    pub files: bool,
}

/// A target, as found on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetWord {
    /// Its description.
    pub target: Target,
    /// Its program; its first name if none is installed.
    pub program: String,
    /// The folder of its other files, if there is one.
    pub home: Option<String>,
    /// Why it cannot be started here, and how to fix that; none if it can.
    pub unavailable: Option<String>,
}

/// A subcommand that may run instead of `pitot load`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramWord {
    /// As it is typed: `disk read`.
    pub name: String,
    /// Its options.
    pub options: Vec<OptionWord>,
    /// Whether it needs a server. If not, the subcommand itself is measured.
    pub needs_server: bool,
    /// Whether it writes files, so that kernel threads work for it.
    pub writes_files: bool,
    /// Whether it executes the commands of servers again and again, instead of a load for them. It can be held.
    pub executes: bool,
}

/// A concurrency model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelWord {
    /// The word.
    pub name: String,
    /// The default mechanism of `pitot serve`.
    pub default_mechanism: String,
    /// Whether one process has all connections, and so one limit on descriptors.
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
    /// The mechanism with which it cannot be used; none for all.
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
    /// The only values that it takes; empty if it takes any.
    pub values: Vec<String>,
    /// Its new name, if this one is refused.
    #[serde(default)]
    pub renamed_to: Option<String>,
    /// What it means to the lab.
    #[serde(default)]
    pub meaning: OptionMeaning,
}

/// What an option means to the lab.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionMeaning {
    /// Only the lab sets it; this says what to write instead.
    pub reserved: Option<String>,
    /// Its value is a number of connections that are opened.
    pub opens_connections: bool,
    /// The load ends after some work, not after the plan's duration.
    pub limits_work: bool,
    /// Requests do not wait for the previous reply, or there are none.
    pub open_loop: bool,
    /// It is for TLS URLs only, and left out of other loads.
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

    /// The catalog for a plan that runs on other kernels: what this kernel lacks is not excluded, since they are probed
    /// themselves.
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
