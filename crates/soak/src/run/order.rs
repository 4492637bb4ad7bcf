//! What is run: servers with their loads.

use std::path::PathBuf;

use pitot_lab::StandingServer;
use pitot_lab::fault::Schedule;
use pitot_sys::processes::Process;

/// A server of a soak.
pub enum Server<'a> {
    /// One that the soak starts.
    Standing(Box<StandingServer<'a>>),
    /// One that is running already, with its first process if that is known, and its port.
    Running {
        /// The process.
        process: Option<Watched>,
        /// The port on which it listens.
        port: Option<u16>,
    },
}

/// A process that is not the soak's own, by its number and its start: numbers are given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its number.
    pub pid: u32,
    started: u64,
}

impl Watched {
    /// The process that has that number now; none if there is none, or it has ended and was not waited for.
    pub fn of(pid: u32) -> Option<Watched> {
        Process::read(pid).map(|process| Watched { pid, started: process.stat.started })
    }

    /// Whether it goes on.
    pub fn is_alive(self) -> bool {
        Watched::of(self.pid) == Some(self)
    }
}

/// How a load is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadOrder {
    /// As the server's cell says.
    OfCell,
    /// By this command line, in which `{address}` and the other words in braces are those of the server's plan.
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
                let words = words.iter().map(|word| server.fill_load(word));
                words.chain(server.load_options_for_faults()).collect()
            }
            (LoadOrder::Command(words), Server::Running { .. }) => words.clone(),
        }
    }

    /// Its first process.
    pub(super) fn pid(&mut self) -> Option<u32> {
        match self {
            Server::Standing(server) => server.pid(),
            Server::Running { process, .. } => process.map(|process| process.pid),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_ended_or_has_the_number_of_another_is_not_alive() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let watched = Watched::of(child.id()).unwrap();
        assert!(watched.is_alive());
        assert!(!Watched { started: watched.started + 1, ..watched }.is_alive());
        child.kill().unwrap();
        // Nobody has waited for it.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while watched.is_alive() {
            assert!(std::time::Instant::now() < deadline, "a zombie is taken for alive");
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(Watched::of(u32::MAX), None);
    }
}
