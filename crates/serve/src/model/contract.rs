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
    /// The name on the command line and in reports.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A paragraph for help and docs.
    pub doc: &'static str,
    /// What `--workers` counts, and its default.
    pub workers: &'static str,
    /// The default of `--workers` on a given number of CPUs.
    pub workers_default: fn(cpus: usize) -> usize,
    /// Checks whether it supports a mechanism; the error is the reason if not.
    pub pairs_with: fn(&Mechanism) -> Result<(), &'static str>,
    /// Starts the workers. The calling process has a single thread, and blocks the supervisor's signals.
    pub launch: Launch,
    /// Whether the workers share a listener or each has its own (SO_REUSEPORT).
    pub listens: Listens,
    /// False if there are as many workers as connections, so that `--workers` would have no effect.
    pub takes_workers: bool,
    /// Limit on the number of workers.
    pub workers_max: usize,
    /// True if its event loops accept connections themselves, so that a limit on accepts per wake-up applies to them.
    pub loops_accept: bool,
    /// True if each of its workers serves one connection at a time, so that further ones wait until one ends.
    pub connection_per_worker: bool,
    /// True if a separate process has the files and reads them with an engine.
    pub splits_files: bool,
    /// True if each of its workers can read files with a separate engine.
    pub reads_by_engine: bool,
    /// True if the whole server is one process, so that CPU time and memory are those of one process.
    pub is_one_process: bool,
    /// True if it executes a program for every connection, which reads files that the server has read.
    pub executes: bool,
    /// True if its processes connect to each other over TCP.
    pub connects: bool,
}

/// Starts the workers of a server.
pub type Launch = fn(&LaunchPlan, Arc<Server>, Listeners) -> Result<Box<dyn Workers>, Failure>;

/// How the workers of a model listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listens {
    /// On one listener, with blocking calls.
    SharedBlocking,
    /// On one listener, in a loop.
    Shared,
    /// Each on a separate listener.
    Each,
}

/// The listeners of a server, all on one port.
#[derive(Debug)]
pub struct Listeners(pub Vec<OwnedFd>);

impl Listeners {
    /// Binds the listeners of the model, all to one port. With port 0 the first one takes a free port.
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

    /// The only listener.
    pub fn only(self) -> OwnedFd {
        let mut listeners = self.0;
        listeners.truncate(1);
        listeners.pop().expect("there is at least one")
    }
}

/// The running workers of a server.
pub trait Workers {
    /// Makes all workers stop once the requests in flight are finished.
    fn stop(&mut self);
    /// Reaps workers that have ended and, unless the server is stopping, replaces them.
    ///
    /// # Errors
    /// A failure after which the server cannot continue.
    fn tend(&mut self) -> Result<(), Failure>;
    /// True if all workers have ended.
    fn done(&self) -> bool;
    /// Kills the remaining workers.
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
