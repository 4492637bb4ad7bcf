//! What is run: servers with their loads.

use std::path::PathBuf;

use pitot_lab::StandingServer;
use pitot_lab::fault::Schedule;

/// A server of a soak.
pub enum Server<'a> {
    /// One that the soak starts.
    Standing(Box<StandingServer<'a>>),
    /// One that is running already, with its first process if that is known, and its port.
    Running {
        /// The process.
        pid: Option<u32>,
        /// The port on which it listens.
        port: Option<u16>,
    },
}

/// How a load is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadOrder {
    /// As the server's cell says.
    OfCell,
    /// By this command line, in which `{address}` is the server's.
    Command(Vec<String>),
}

/// A server with its loads.
pub struct SubjectOrder<'a> {
    /// What it is called.
    pub name: String,
    /// The server.
    pub server: Server<'a>,
    /// The loads, with their names.
    pub loads: Vec<(String, LoadOrder)>,
    /// The faults of its plan that are to be made, in seconds under load.
    pub faults: Schedule,
}

impl Server<'_> {
    /// The command line that starts it; empty if it was running already.
    pub(super) fn command(&self) -> String {
        match self {
            Server::Standing(server) => server.argv().join(" "),
            Server::Running { .. } => String::new(),
        }
    }

    /// The command line of a load of it.
    pub(super) fn load_argv(&self, order: &LoadOrder) -> Vec<String> {
        match (order, self) {
            (LoadOrder::OfCell, Server::Standing(server)) => {
                let mut argv = server.load_argv();
                argv.extend(["--intervals".to_owned(), "1s".to_owned()]);
                argv
            }
            (LoadOrder::OfCell, Server::Running { .. }) => Vec::new(),
            (LoadOrder::Command(words), Server::Standing(server)) => {
                let words = words.iter().map(|word| word.replace("{address}", server.load_address()));
                words.chain(server.load_options_for_faults()).collect()
            }
            (LoadOrder::Command(words), Server::Running { .. }) => words.clone(),
        }
    }

    /// Its first process.
    pub(super) fn pid(&mut self) -> Option<u32> {
        match self {
            Server::Standing(server) => server.pid(),
            Server::Running { pid, .. } => *pid,
        }
    }

    /// Where it keeps what it acknowledges, if that is known.
    pub(super) fn kept_dir(&self) -> Option<PathBuf> {
        match self {
            Server::Standing(server) => server.kept_dir(),
            Server::Running { .. } => None,
        }
    }

    pub(super) fn port(&self) -> Option<u16> {
        match self {
            Server::Standing(server) => server.address().rsplit_once(':')?.1.parse().ok(),
            Server::Running { port, .. } => *port,
        }
    }

    /// CPU time since it was started, nanoseconds, if its starter counts it.
    pub(super) fn cpu_ns(&mut self) -> Option<u64> {
        match self {
            Server::Standing(server) => server.cpu_time().map(|time| time.0),
            Server::Running { .. } => None,
        }
    }
}
