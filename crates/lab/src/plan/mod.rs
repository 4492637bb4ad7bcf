//! Plans: what a run is to find out, as data.
//!
//! A plan crosses the levels of its factors; each combination is a cell, a server command and a load command that a
//! user could type. Reading one ([`Plan::parse`]) checks every word against a [`Catalog`](crate::Catalog), so a
//! mistake is told with its line before anything runs; [`expand`] is pure. A plan that went through the run file
//! ([`crate::runfile`]) is trusted and read by serde.

mod command;
mod expand;
mod keys;
mod options;
mod read;
mod schema;
mod source;
#[cfg(test)]
mod tests;
mod words;

use serde::{Deserialize, Serialize};

pub use command::Placement;
pub(crate) use command::{Part, line_template};
pub use expand::{Cell, CellServer, HostLimits, Takes, expand};
pub use schema::plan_schema;
pub use source::PlanError;

use crate::FactorLevel;

/// The word for the factor whose levels are whole servers rather than one option's settings.
pub const SERVER_FACTOR: &str = "server";

/// The factor that changes nothing: its levels are the same experiment again, as an A/A comparison wants. Replicates
/// run one after the other, each with blocks of its own.
pub const REPLICATE_FACTOR: &str = "replicate";

/// A plan, checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Plan {
    /// A short name: the suite's, or the file's stem.
    pub name: String,
    /// The headline of the report.
    pub title: String,
    /// The question that the run is to answer, in a sentence or two; the report opens with it.
    pub question: String,
    /// What a reader should know of the method: what differs from the published experiment, and why.
    pub notes: Vec<String>,
    /// How often each cell is repeated, each time with a fresh server process.
    pub repetitions: u32,
    /// Seconds of load before the measurement.
    pub warmup_s: f64,
    /// Seconds of measurement.
    pub duration_s: f64,
    /// In which order repetitions run.
    pub order: Order,
    /// The seed of the order; drawn anew where the plan names none, and recorded either way.
    pub seed: Option<u64>,
    /// How the repetitions of a cell become one figure.
    pub statistic: Statistic,
    /// Differences up to this share (0.02 is 2%) do not count, however significant.
    pub tolerance: f64,
    /// The figure that answers the question: a name in [`METRICS`](crate::METRICS).
    pub metric: String,
    /// The cell or cells that others are compared with: levels of some factors. Cells that agree in all other
    /// factors are compared with each other. None: no cell is special.
    pub baseline: Option<Levels>,
    /// The charts wanted, in order; empty leaves the choice to the report.
    pub charts: Vec<String>,
    /// The factors, in the order of the file; the last one varies fastest.
    pub factors: Vec<Factor>,
    /// Options of `pitot serve` that all cells share.
    pub server: Settings,
    /// Options of `pitot load` that all cells share.
    pub load: Settings,
    /// The subcommand that runs in the place of `pitot load`.
    pub program: Option<String>,
    /// Helpers of the load that are started before it, on its side: `pitot serve` by name.
    pub beside: Vec<Beside>,
    /// Servers described in the plan, by the names that levels use.
    pub servers: Vec<ServerSpec>,
    /// Files written to each server's private directory before it starts.
    pub files: Vec<PlanFile>,
    /// Combinations that are left out on purpose.
    pub exclude: Vec<Exclusion>,
    /// Figures published by others, to be set beside those of this run.
    pub published: Vec<Published>,
    /// Seconds that a server may take until it is ready.
    pub ready_timeout_s: f64,
    /// Seconds that a server may take to stop.
    pub stop_timeout_s: f64,
    /// CPUs of the servers as a list (`0-3,8`); one half of the cores if none.
    pub server_cpus: Option<String>,
    /// CPUs of the load generator; the other half if none.
    pub load_cpus: Option<String>,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            name: String::new(),
            title: String::new(),
            question: String::new(),
            notes: Vec::new(),
            repetitions: 8,
            warmup_s: 0.5,
            duration_s: 3.0,
            order: Order::Interleaved,
            seed: None,
            statistic: Statistic::Median,
            tolerance: 0.02,
            metric: "throughput".into(),
            baseline: None,
            charts: Vec::new(),
            factors: Vec::new(),
            server: Settings::default(),
            load: Settings::default(),
            program: None,
            beside: Vec::new(),
            servers: Vec::new(),
            files: Vec::new(),
            exclude: Vec::new(),
            published: Vec::new(),
            ready_timeout_s: 10.0,
            stop_timeout_s: 10.0,
            server_cpus: None,
            load_cpus: None,
        }
    }
}

/// In which order repetitions run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Block by block: each block holds every cell once, shuffled, so that a drift of the machine hits all alike.
    #[default]
    Interleaved,
    /// Cell by cell, in the order of the plan.
    Sequential,
}

/// How the repetitions of a cell become one figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// The median.
    #[default]
    Median,
    /// The mean of what is left without the `n` largest and the `n` smallest: `trimmed-mean(1)`.
    TrimmedMean(u32),
}

impl std::fmt::Display for Statistic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Statistic::Median => f.write_str("median"),
            Statistic::TrimmedMean(n) => write!(f, "trimmed-mean({n})"),
        }
    }
}

/// One setting of an option or one level of a factor, as the plan spells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A switch: `true` gives the bare flag, `false` leaves it out.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// A word, a duration, a size ...
    Text(String),
    /// An option given several times.
    List(Vec<Value>),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Flag(b) => write!(f, "{b}"),
            Value::Integer(n) => write!(f, "{n}"),
            Value::Float(x) => write!(f, "{x}"),
            Value::Text(s) => f.write_str(s),
            Value::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "" } else { " " })?;
                }
                Ok(())
            }
        }
    }
}

/// Options and their settings, in the order of the plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings(pub Vec<(String, Value)>);

impl Settings {
    /// The setting of `option`.
    pub fn get(&self, option: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| name == option).map(|(_, value)| value)
    }

    /// Takes the setting of `option` out.
    pub fn take(&mut self, option: &str) -> Option<Value> {
        let at = self.0.iter().position(|(name, _)| name == option)?;
        Some(self.0.remove(at).1)
    }

    /// Sets `option`, in its old place if it has one.
    pub fn set(&mut self, option: &str, value: Value) {
        match self.0.iter_mut().find(|(name, _)| name == option) {
            Some((_, old)) => *old = value,
            None => self.0.push((option.to_owned(), value)),
        }
    }
}

/// What is varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// `server` for whole servers, else an option: `server.mechanism`, `load.connections`.
    pub name: String,
    /// Its levels, in the order of the plan.
    pub levels: Vec<Value>,
}

/// Some levels of some factors; what it does not name may be anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Levels(pub Vec<(String, Vec<String>)>);

impl Levels {
    /// True if `factors` has one of the wanted levels for every factor that is named here.
    pub fn matches(&self, factors: &[FactorLevel]) -> bool {
        self.0
            .iter()
            .all(|(name, wanted)| factors.iter().any(|f| f.name == *name && wanted.contains(&f.level)))
    }
}

/// A server that the plan describes itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerSpec {
    /// The name that levels use.
    pub name: String,
    /// One line for readers.
    pub summary: String,
    /// Its files, beside the plan's.
    pub files: Vec<PlanFile>,
    /// What is started.
    pub program: Program,
}

/// What is started as a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// `pitot serve` with these options.
    Pitot(Settings),
    /// Any other program.
    External(External),
}

/// A server that belongs to the load's side, such as the DNS responder that a mailing asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Beside {
    /// `{NAME}` stands for its address in options of the load.
    pub name: String,
    /// What it speaks: a protocol of `pitot serve`.
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
    /// How it shows that it is ready.
    pub ready: Ready,
    /// The signal that stops it: `TERM`, `INT` or `QUIT`.
    pub stop: String,
    /// What the load generator is to call; the plan's `load.url` if none.
    pub url: Option<String>,
    /// A command whose output tells the program's version.
    pub version: Vec<String>,
}

/// How an external server shows that it is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ready {
    /// Its port accepts a connection.
    Port,
    /// It prints a line, on stdout or stderr, that contains this text.
    Line(String),
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

/// Combinations that are left out on purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exclusion {
    /// Which.
    pub levels: Levels,
    /// Why.
    pub reason: String,
}

/// Figures that others published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Published {
    /// Who: "Lyris Technologies".
    pub source: String,
    /// When.
    pub year: i32,
    /// What was measured, on which machine: a line for the reader.
    pub title: String,
    /// The figure's name in [`METRICS`](crate::METRICS).
    pub metric: String,
    /// Published is not the figure itself but its ratio to that of the cell with these levels (the other factors
    /// being equal).
    pub ratio_to: Option<Levels>,
    /// The figures.
    pub values: Vec<PublishedValue>,
}

/// One published figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PublishedValue {
    /// The cells that it belongs to. A factor that is not named was averaged over, or held at a value of its own.
    pub levels: Levels,
    /// The figure, in the unit of the metric (seconds, bytes, requests a second, percent), or a plain ratio.
    pub value: f64,
}
