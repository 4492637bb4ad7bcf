//! Hosts other than this machine.

use std::net::IpAddr;

use pitot_host::{ALL_CPUS, parse_cpu_list};
use serde::{Deserialize, Serialize};

/// Offset that distinguishes CPUs of different hosts: those of the first load host are numbered from it, those of the next
/// from twice as much.
pub const CPUS_APART: usize = 1 << 20;

/// A host that a plan names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Host {
    /// The name that `server.host` and `load.host` use.
    pub name: String,
    /// The command that starts its agent: `["ssh", "b", "pitot", "agent"]`.
    pub agent: Vec<String>,
    /// Its address in the measured network.
    pub address: IpAddr,
    /// The CPUs of its server or load, as a list.
    pub cpus: String,
}

impl Host {
    /// The path of Pitot there, if the agent's command has it.
    pub fn pitot(&self) -> &str {
        match &self.agent[..] {
            [.., program, agent] if agent == "agent" => program,
            _ => "pitot",
        }
    }

    /// The CPUs of a side there: the side's own list if it is one, else the host's.
    pub fn cpus_named(&self, of_side: Option<&str>) -> Vec<usize> {
        let named = of_side.filter(|list| *list != ALL_CPUS);
        parse_cpu_list(named.unwrap_or(&self.cpus)).unwrap_or_default()
    }
}
