use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use pitot_results::Failure;
use pitot_sys::socket;

use crate::launch::LaunchPlan;
use crate::mechanism::{Kind, Mechanism};
use crate::server::Server;

/// One concurrency model.
#[derive(Debug)]
pub struct Model {
    /// The word that users type.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A paragraph for help and docs.
    pub doc: &'static str,
    /// What `--workers` counts, and how many there are without it on that many CPUs.
    pub workers: &'static str,
    /// See `workers`.
    pub workers_default: fn(cpus: usize) -> usize,
    /// Whether it goes with a mechanism, and if not, why.
    pub pairs_with: fn(&Mechanism) -> Result<(), &'static str>,
    /// Starts it. The caller has one thread, and the signals of a supervisor are blocked.
    pub launch: Launch,
    /// Whether each worker has a listener of its own on the port (SO_REUSEPORT).
    pub listens: Listens,
    /// The most workers that it can have.
    pub workers_max: usize,
    /// Another process has the files, and reads them by an engine.
    pub splits_files: bool,
    /// Its workers may read files by an engine of their own.
    pub reads_by_engine: bool,
    /// It is one process whatever it serves, so that CPU time and memory are those of one process.
    pub is_one_process: bool,
}

/// Starts the workers of a server.
pub type Launch = fn(&LaunchPlan, Arc<Server>, Listeners) -> Result<Box<dyn Workers>, Failure>;

/// How the workers of a model listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listens {
    /// On one listener, in calls that wait.
    SharedBlocking,
    /// On one listener, in a loop.
    Shared,
    /// Each on a listener of its own.
    Each,
}

/// The listeners of a server, all on one port.
#[derive(Debug)]
pub struct Listeners(pub Vec<OwnedFd>);

impl Listeners {
    /// Binds as many as the model listens on, all to one port. With port 0 the first chooses.
    ///
    /// # Errors
    /// As [`socket::listen`].
    pub fn bind(
        listens: Listens,
        workers: usize,
        addr: SocketAddr,
        backlog: u32,
        congestion: Option<&str>,
    ) -> io::Result<Listeners> {
        let is_each = listens == Listens::Each;
        let how = socket::Listen {
            backlog,
            reuse_port: is_each,
            nonblocking: listens != Listens::SharedBlocking,
            congestion,
        };
        let addr = if is_each { socket::free_addr(addr)? } else { addr };
        let first = socket::listen(addr, how)?;
        let addr = socket::local_addr(&first)?;
        let mut listeners = vec![first];
        for _ in 1..if is_each { workers } else { 1 } {
            listeners.push(socket::listen(addr, how)?);
        }
        Ok(Listeners(listeners))
    }

    /// The address of all of them.
    ///
    /// # Errors
    /// As [`socket::local_addr`].
    pub fn addr(&self) -> io::Result<std::net::SocketAddr> {
        socket::local_addr(&self.0[0])
    }

    /// The only one.
    pub fn only(self) -> OwnedFd {
        let mut listeners = self.0;
        listeners.truncate(1);
        listeners.pop().expect("there is at least one")
    }
}

/// The running workers of a server.
pub trait Workers {
    /// Has all workers stop, once the requests in flight are done.
    fn stop(&mut self);
    /// Collects workers that have ended; unless the server stops, it replaces them.
    ///
    /// # Errors
    /// The server cannot go on.
    fn tend(&mut self) -> Result<(), Failure>;
    /// All workers have ended.
    fn done(&self) -> bool;
    /// Ends what has not ended.
    fn kill(&mut self);
}

/// For models whose worker serves one connection at a time.
pub fn only_blocking(mechanism: &Mechanism) -> Result<(), &'static str> {
    match mechanism.kind {
        Kind::Blocking => Ok(()),
        _ => Err("a worker of this model serves one connection at a time with blocking calls"),
    }
}

/// For models whose worker is an event loop.
pub fn only_loops(mechanism: &Mechanism) -> Result<(), &'static str> {
    match mechanism.kind {
        Kind::Blocking => Err("a loop that blocks on one connection could serve no other"),
        _ => Ok(()),
    }
}
