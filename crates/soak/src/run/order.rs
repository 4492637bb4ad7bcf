//! The servers and loads to run.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::PathBuf;

use pitot_fault::Schedule;
use pitot_lab::LongRunningServer;
use pitot_sys::control_group;
use pitot_sys::processes::Process;

/// A server of a soak.
pub enum Server<'a> {
    /// A server that the soak starts.
    LongRunning(Box<LongRunningServer<'a>>),
    /// A server that is running already.
    Running {
        /// Its processes, if known.
        watch: Option<Watch>,
        /// Its address; every one with its port if it has a name.
        address: Option<SocketAddr>,
        /// How its faults are made, if it has any.
        faulted: Option<Faulted<'a>>,
    },
}

/// How faults of a running server are made.
pub struct Faulted<'a> {
    /// What makes them.
    pub server: Box<LongRunningServer<'a>>,
    /// The server's address.
    pub address: SocketAddr,
    /// Its host and port, as its loads name them.
    pub name: String,
}

impl Faulted<'_> {
    /// Begins, before any load does.
    pub(super) fn begin(&mut self) -> Result<(), String> {
        self.server.take_running(self.address)
    }

    /// A load's command line, with the options that faults need.
    fn load_argv(&self, words: &[String]) -> Vec<String> {
        let mut argv = words.to_vec();
        argv.extend(self.server.load_options_for_faults(words));
        if self.server.load_address() != self.server.address() {
            argv.extend(["--resolve".to_owned(), format!("{}:{}", self.name, self.server.load_address())]);
        }
        argv
    }
}

/// A process that the soak did not start, by its id and start time, since ids are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its number.
    pub pid: u32,
    started: u64,
}

impl From<&Process> for Watched {
    fn from(process: &Process) -> Watched {
        Watched { pid: process.pid, started: process.stat.started }
    }
}

impl Watched {
    /// The process with that id; none if it does not exist or is a zombie.
    pub fn of(pid: u32) -> Option<Watched> {
        Process::read(pid).as_ref().map(Watched::from)
    }

    /// Whether it is running.
    pub fn is_alive(self) -> bool {
        Watched::of(self.pid) == Some(self)
    }
}

/// The processes of a server that the soak did not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// One, until it ends, with its descendants and its session.
    Process(Watched),
    /// The members of a control group.
    Group(WatchedGroup),
}

/// A control group, and its first process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedGroup {
    dir: PathBuf,
    first: Option<Watched>,
}

impl Watch {
    /// The processes of a control group, whose directory this is; none if it has none.
    pub fn group(dir: PathBuf) -> Option<Watch> {
        let first = first_of(&control_group::members(&dir))?;
        Some(Watch::Group(WatchedGroup { dir, first: Some(first) }))
    }

    /// The first process, if it has ended since the last look.
    pub(super) fn take_gone(&mut self) -> Option<u32> {
        match self {
            Watch::Process(process) => (!process.is_alive()).then_some(process.pid),
            Watch::Group(group) => group.first.take_if(|first| !first.is_alive()).map(|first| first.pid),
        }
    }

    /// The first process of a group that was empty. A single process has no successor.
    pub(super) fn take_back(&mut self) -> Option<u32> {
        match self {
            Watch::Group(group) if group.first.is_none() => {
                group.first = first_of(&control_group::members(&group.dir));
                group.first.map(|first| first.pid)
            }
            _ => None,
        }
    }

    /// The first process now, if there is one.
    pub fn first(&self) -> Option<u32> {
        match self {
            Watch::Process(process) => process.is_alive().then_some(process.pid),
            Watch::Group(group) => group.first.filter(|first| first.is_alive()).map(|first| first.pid),
        }
    }

    /// The first processes. Descendants and sessions of each are its own.
    pub fn pids(&self) -> Vec<u32> {
        match self {
            Watch::Process(process) => vec![process.pid],
            Watch::Group(group) => {
                let members = control_group::members(&group.dir).into_iter().map(|process| process.pid);
                let mut pids: Vec<u32> = members.collect();
                pids.sort_by_key(|pid| group.first.is_none_or(|first| first.pid != *pid));
                pids
            }
        }
    }
}

/// The oldest process whose parent is none of them.
fn first_of(members: &[Process]) -> Option<Watched> {
    let pids: HashSet<u32> = members.iter().map(|process| process.pid).collect();
    let roots = members.iter().filter(|process| !pids.contains(&process.stat.parent));
    let first = roots.min_by_key(|process| (process.stat.started, process.pid))?;
    Some(first.into())
}

/// How a load is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadOrder {
    /// As the server's cell says.
    OfCell,
    /// With this command line, which may have the placeholders of the server's plan.
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
    /// The faults of its plan, in seconds under load.
    pub faults: Schedule,
}

impl<'a> Server<'a> {
    /// The command line that starts it; empty if it was running already.
    pub(super) fn command(&self) -> String {
        match self {
            Server::LongRunning(server) => server.argv().join(" "),
            Server::Running { .. } => String::new(),
        }
    }

    /// What makes its faults, if it has any.
    pub(super) fn faulted(&mut self) -> Option<&mut LongRunningServer<'a>> {
        match self {
            Server::LongRunning(server) => Some(server),
            Server::Running { watch, faulted, .. } => {
                let server = &mut faulted.as_mut()?.server;
                let first = watch.as_ref().and_then(Watch::first);
                server.aim(first, matches!(watch, Some(Watch::Group(_))));
                Some(server)
            }
        }
    }

    /// The command line of a load of it.
    pub(super) fn load_argv(&self, order: &LoadOrder) -> Vec<String> {
        match (order, self) {
            (LoadOrder::OfCell, Server::LongRunning(server)) => {
                let mut argv = server.load_argv();
                argv.extend(["--intervals".to_owned(), "1s".to_owned()]);
                argv
            }
            (LoadOrder::OfCell, Server::Running { .. }) => Vec::new(),
            (LoadOrder::Command(words), Server::LongRunning(server)) => {
                let mut argv: Vec<String> = words.iter().map(|word| server.fill_load(word)).collect();
                argv.extend(server.load_options_for_faults(words));
                argv
            }
            (LoadOrder::Command(words), Server::Running { faulted: Some(faulted), .. }) => {
                faulted.load_argv(words)
            }
            (LoadOrder::Command(words), Server::Running { faulted: None, .. }) => words.clone(),
        }
    }

    /// Its first processes, if known.
    pub(super) fn pids(&mut self) -> Vec<u32> {
        match self {
            Server::LongRunning(server) => server.pid().into_iter().collect(),
            Server::Running { watch, .. } => watch.as_ref().map_or_else(Vec::new, Watch::pids),
        }
    }

    /// The directory for the durability check, if known.
    pub(super) fn kept_dir(&self) -> Option<PathBuf> {
        match self {
            Server::LongRunning(server) => server.kept_dir(),
            Server::Running { .. } => None,
        }
    }

    pub(super) fn address(&self) -> Option<SocketAddr> {
        match self {
            Server::LongRunning(server) => server.address().parse().ok(),
            Server::Running { address, .. } => *address,
        }
    }

    /// CPU time since it was started, nanoseconds, if counted.
    pub(super) fn cpu_ns(&mut self) -> Option<u64> {
        match self {
            Server::LongRunning(server) => server.cpu_time().map(|time| time.0),
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
