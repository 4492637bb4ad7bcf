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

/// Start, watch and stop servers and loads for a lab on another host.
///
/// `pitot run` starts it with the command in the plan's [hosts], such as ssh HOST pitot agent, and talks to it over standard input
/// and output. An agent runs any program that it is asked to run: anyone who can write to its input has the rights of its user
/// (docs/agent.md). When the input ends, the agent stops everything that it started. With --bus it takes signed jobs from a bus
/// instead, only from keys that you trust (docs/bus.md).
#[derive(Debug, Args)]
pub(crate) struct Agent {
    #[command(flatten)]
    on_bus: OnBus,
    /// Become this user first, permanently and without supplementary groups: NAME, NAME:GROUP or UID:GID. Needs root
    /// (docs/security.md).
    #[arg(long, value_name = "USER", value_parser = crate::user::parse)]
    user: Option<User>,
    /// Run in this root directory, with its libraries and programs, for example those of another distribution. /proc, /sys and /dev
    /// are those of this machine, and /run is empty. Needs root (docs/agent.md).
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
