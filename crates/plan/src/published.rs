//! Combinations that a plan leaves out, and figures of others that it shows with its own.

use serde::{Deserialize, Serialize};

use super::levels::Levels;

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
    /// The figure's name in `METRICS` of the record.
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
