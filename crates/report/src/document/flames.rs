//! Stacks as a tree of functions, each as wide as its share of the time: a flame graph.

/// A function below its callers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flame {
    /// Its name.
    pub name: String,
    /// Its share of all time, with what it calls.
    pub share: f64,
    /// What is said of it: its time, and by how much that differs.
    pub note: String,
    /// By how much it differs from what it is compared with, as a share of all time.
    pub change: f64,
    /// What it calls, the largest first.
    pub calls: Vec<Flame>,
}
