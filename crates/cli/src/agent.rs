//! `pitot agent`.

mod on_bus;
mod root;

use std::io::{self, BufReader};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pitot_lab::{Guardian, serve_agent};
use pitot_results::Failure;
use pitot_sys::user::User;

use crate::runs::own_path;
pub(crate) use on_bus::OnBus;

/// Carry out what a lab on another host asks for: start servers and loads, watch them, end them.
///
/// `pitot run` starts it by the command that a plan gives under hosts, such as ssh HOST pitot agent, and speaks with it
/// over its standard input and output. It runs any program that it is told to, so whoever can write to its input can do
/// what its user can (docs/agent.md). When the input ends, everything ends that it has started. With --bus it takes parts of
/// runs from a bus instead, those alone that a trusted key has signed (docs/bus.md).
#[derive(Debug, Args)]
pub(crate) struct Agent {
    #[command(flatten)]
    on_bus: OnBus,
    /// Become this user before anything else, without other groups and without a way back: NAME, NAME:GROUP or UID:GID. For root
    /// (docs/security.md).
    #[arg(long, value_name = "USER", value_parser = crate::user::parse)]
    user: Option<User>,
    /// Go on in this root directory, with the libraries and programs that are there: that of another distribution, or of another
    /// version. /proc, /sys and /dev are those of this machine, and /run is empty. For root (docs/agent.md).
    #[arg(long, value_name = "DIR", conflicts_with = "bus")]
    root: Option<PathBuf>,
}

impl Agent {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        if let Some(root) = &self.root {
            match root::enter(root)? {}
        }
        crate::user::become_user(self.user)?;
        // Before anything starts a thread: a guardian is a fork of this process.
        let guardian = Guardian::start().map_err(|e| {
            Failure::run(
                format!("no private directory or process could be made: {e}"),
                format!(
                    "check that {} is a directory with free space (TMPDIR names another), and the limit on processes",
                    std::env::temp_dir().display()
                ),
            )
        })?;
        let _ = pitot_sys::limits::raise_descriptors();
        if self.on_bus.options.bus.is_some() {
            return self.on_bus.run(&guardian);
        }
        let input = BufReader::new(io::stdin());
        serve_agent(input, io::stdout().lock(), guardian, &own_path()?, env!("CARGO_PKG_VERSION"))?;
        Ok(ExitCode::SUCCESS)
    }
}
