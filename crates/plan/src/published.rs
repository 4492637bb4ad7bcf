//! Excluded combinations, and published figures.

use serde::{Deserialize, Serialize};

use super::levels::Levels;

/// Combinations that a plan leaves out.
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
    /// What was measured, on which machine; one line.
    pub title: String,
    /// The metric of the values.
    pub metric: String,
    /// If set, values are ratios to the cell with these levels and otherwise the same factors.
    pub ratio_to: Option<Levels>,
    /// The figures.
    pub values: Vec<PublishedValue>,
}

/// One published figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PublishedValue {
    /// The cells that it belongs to. Other factors were averaged over, or had another value.
    pub levels: Levels,
    /// The figure, in the unit of the metric (seconds, bytes, requests a second, percent), or a plain ratio.
    pub value: f64,
}
