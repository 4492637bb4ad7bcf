//! What a plan says of `pitot soak`; `pitot run` does not heed it.

use serde::{Deserialize, Serialize};

/// How a soak of the plan goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct SoakPlan {
    /// Time under load, seconds, unless the command line says otherwise.
    pub for_s: Option<f64>,
    /// A server that dies is started again.
    pub restart: bool,
    /// A server that hangs ends the soak.
    pub ends_on_hang: bool,
    /// Only the first cell that can be run here is, in place of all of them.
    pub first: bool,
    /// Loads besides that of the plan, as options of `pitot load`.
    pub loads: Vec<String>,
}
