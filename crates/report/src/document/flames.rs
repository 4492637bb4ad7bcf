//! Stacks as a tree of functions, each as wide as its share of the time: a flame graph.

/// A function below its callers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flame {
    /// Its name.
    pub name: String,
    /// Its CPU time per request with what it calls, nanoseconds.
    pub ns: f64,
    /// The same in what it is compared with, if it is compared.
    pub baseline_ns: Option<f64>,
    /// Its share of all time.
    pub share: f64,
    /// The larger of this share and the one in what it is compared with. Callers have no less than what they call.
    pub weight: f64,
    /// What it calls, the largest first.
    pub calls: Vec<Flame>,
}

impl Flame {
    /// In lines of text, functions of less weight are left out.
    pub const LINE_SHARE_MIN: f64 = 0.01;

    /// By how much its time differs from what it is compared with, nanoseconds.
    pub fn change_ns(&self) -> Option<f64> {
        self.baseline_ns.map(|baseline_ns| self.ns - baseline_ns)
    }
}
