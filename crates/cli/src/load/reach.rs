//! Options for how the target is reached.

use std::path::PathBuf;

use clap::Args;
use pitot_load::ReachOptions;

#[derive(Debug, Args)]
pub(super) struct Reach {
    /// Connect to ADDRESS for this name and port, HOST:PORT:ADDRESS, and send the name all the same; may be given several
    /// times.
    #[arg(long, value_name = "HOST:PORT:ADDRESS", help_heading = "Connections")]
    resolve: Vec<String>,
    /// Connect to this socket of the file system (unix(7)); the URL still says what is asked for.
    #[arg(long, value_name = "SOCKET", help_heading = "Connections")]
    unix: Option<PathBuf>,
}

impl Reach {
    pub(super) fn options(&self) -> ReachOptions {
        ReachOptions { resolve: self.resolve.clone(), unix: self.unix.clone() }
    }
}
