//! Hosts other than the lab's own, and what of a run is there.

use std::net::IpAddr;

use pitot_host::{ALL_CPUS, parse_cpu_list};
use serde::{Deserialize, Deserializer, Serialize};

/// CPUs of different hosts are told apart by this: those of the first load host are numbered from it, those of the next
/// from twice as much.
pub const CPUS_APART: usize = 1 << 20;

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

impl Host {
    /// Pitot as a shell there calls it: by what starts its agent, where that tells it.
    pub fn pitot(&self) -> &str {
        match &self.agent[..] {
            [.., program, agent] if agent == "agent" => program,
            _ => "pitot",
        }
    }

    /// The CPUs of what is started there: those that the plan names for the side, or else those that it names for the host, which
    /// are all that it has.
    pub fn cpus_named(&self, of_side: Option<&str>) -> Vec<usize> {
        let named = of_side.filter(|list| *list != ALL_CPUS);
        parse_cpu_list(named.unwrap_or(&self.cpus)).unwrap_or_default()
    }
}

/// Reads a list of names, or one name, or none.
pub(super) fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        Many(Vec<String>),
        One(Option<String>),
    }
    Ok(match Names::deserialize(deserializer)? {
        Names::Many(names) => names,
        Names::One(name) => name.into_iter().collect(),
    })
}
