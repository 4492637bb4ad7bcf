//! Factors, their levels, and selections of levels.

use serde::{Deserialize, Serialize};

use super::value::Value;

/// The factor whose levels are whole servers.
pub const SERVER_FACTOR: &str = "server";

/// The factor that changes nothing: its levels repeat the experiment, for A/A comparisons. Replicates run one after the
/// other, each with its own blocks.
pub const REPLICATE_FACTOR: &str = "replicate";

/// The factor whose levels are kernels of guests, in which server and load both run.
pub const KERNEL_FACTOR: &str = "kernel";

/// A factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// `server` for whole servers, else an option: `server.mechanism`, `load.connections`.
    pub name: String,
    /// Its levels, in the order of the plan.
    pub levels: Vec<Value>,
}

/// Levels of some factors; other factors may have any level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Levels(pub Vec<(String, Vec<String>)>);

impl Levels {
    /// Whether `factors` has one of these levels for each of these factors.
    pub fn matches(&self, factors: &[FactorLevel]) -> bool {
        self.0
            .iter()
            .all(|(name, wanted)| factors.iter().any(|f| f.name == *name && wanted.contains(&f.level)))
    }
}

/// A factor's level in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FactorLevel {
    /// The factor: `server`, `load.connections`.
    pub name: String,
    /// The level as the plan spells it.
    pub level: String,
    /// The level as a number, for an axis: counts (`10k`), sizes (`4KiB`, bytes), durations (`2ms`, seconds). None
    /// for words.
    pub number: Option<f64>,
}

impl FactorLevel {
    /// A level, with its number if it has one.
    pub fn new(name: &str, level: &str) -> FactorLevel {
        // Versions are not numbers: 6.12 is later than 6.2.
        let number = if name == KERNEL_FACTOR { None } else { crate::number::number(level) };
        FactorLevel { name: name.into(), level: level.into(), number }
    }
}

/// The levels joined.
pub fn label(factors: &[FactorLevel]) -> String {
    factors.iter().map(|f| f.level.as_str()).collect::<Vec<_>>().join(", ")
}
