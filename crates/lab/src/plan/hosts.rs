//! Hosts other than the lab's own, and what of a run is there.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// A host that a plan names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Host {
    /// The name that `server.host` and `load.host` use.
    pub name: String,
    /// The command that starts its agent and speaks with it: `["ssh", "b", "pitot", "agent"]`.
    pub agent: Vec<String>,
    /// Its address in the network that is measured.
    pub address: IpAddr,
    /// The CPUs of what is started there, as a list.
    pub cpus: String,
}
