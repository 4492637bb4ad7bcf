//! Settings of `pitot soak` in a plan; `pitot run` ignores them.

use serde::{Deserialize, Serialize};

/// How `pitot soak` runs the plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct SoakPlan {
    /// Time under load, seconds, unless the command line says otherwise.
    pub for_s: Option<f64>,
    /// A server that dies is restarted.
    pub restart: bool,
    /// A server that hangs ends the soak.
    pub ends_on_hang: bool,
    /// Only the first cell that can be run here is measured.
    pub first: bool,
    /// Additional loads, as options of `pitot load`.
    pub loads: Vec<String>,
}
