//! The options of `pitot agent` on a bus.

use clap::Args;

use crate::bus::BusOptions;

/// How an agent takes part in a bus.
#[derive(Debug, Args)]
pub(crate) struct OnBus {
    #[command(flatten)]
    pub(crate) options: BusOptions,
    /// Take jobs that this key has signed, and no others; give the option once for each key. `pitot bus-key` prints it.
    #[arg(long, value_name = "KEY", requires = "bus")]
    pub(crate) trust: Vec<String>,
    /// The name of this host on the bus: letters, digits, - and _. [default: its host name]
    #[arg(long, value_name = "NAME", requires = "bus")]
    pub(crate) name: Option<String>,
    /// Carry out jobs also while another run of Pitot is under way on this machine. Without it a job waits for that, whatever the
    /// names of the agents: two at once would disturb each other.
    #[arg(long, requires = "bus")]
    pub(crate) no_wait: bool,
}
