//! The options of `pitot agent` on a bus.

use clap::Args;

use crate::bus::BusOptions;

#[derive(Debug, Args)]
pub(crate) struct OnBus {
    #[command(flatten)]
    pub(crate) options: BusOptions,
    /// Accept only jobs signed by this key; may be repeated. `pitot bus-key` prints the key.
    #[arg(long, value_name = "KEY", requires = "bus")]
    pub(crate) trust: Vec<String>,
    /// The name of this host on the bus: letters, digits, - and _. [default: its host name]
    #[arg(long, value_name = "NAME", requires = "bus")]
    pub(crate) name: Option<String>,
    /// Do not wait while another run of Pitot is in progress on this machine. By default a job waits, since two runs disturb each
    /// other.
    #[arg(long, requires = "bus")]
    pub(crate) no_wait: bool,
}
