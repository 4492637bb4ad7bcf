//! The concurrency models, as data: who owns a connection.
//!
//! A model is one file with one entry in [`MODELS`]. It starts workers, gives each its source of connections, and
//! tends them until they are to stop.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use pitot_results::Failure;
use pitot_sys::socket;

use crate::mechanism::{Kind, Mechanism};
use crate::plan::ServePlan;
use crate::server::Server;

mod fork;
mod handoff;
mod hybrid;
mod r#loop;
mod loops;
mod pool;
mod prefork;
mod preloop;
mod processes;
mod relay;
mod spawn;
mod thread;
mod threads;
mod tokio;

pub use spawn::serve_standard_input;

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
}

/// Starts the workers of a server.
pub type Launch = fn(&ServePlan, Arc<Server>, Listeners) -> Result<Box<dyn Fleet>, Failure>;

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
pub struct Listeners(Vec<OwnedFd>);

impl Listeners {
    /// Binds what the plan's model needs.
    ///
    /// # Errors
    /// As [`socket::listen`].
    pub fn bind(plan: &ServePlan) -> io::Result<Listeners> {
        let count = if plan.model.listens == Listens::Each { plan.workers() } else { 1 };
        let how = socket::Listen {
            backlog: plan.backlog,
            reuse_port: plan.model.listens == Listens::Each,
            nonblocking: plan.model.listens != Listens::SharedBlocking,
            congestion: plan.congestion.as_deref(),
        };
        let addr = if how.reuse_port { socket::free_addr(plan.listen)? } else { plan.listen };
        let first = socket::listen(addr, how)?;
        // With port 0 the first chooses.
        let addr = socket::local_addr(&first)?;
        let mut listeners = vec![first];
        for _ in 1..count {
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
    fn only(self) -> OwnedFd {
        let mut listeners = self.0;
        listeners.truncate(1);
        listeners.pop().expect("there is at least one")
    }
}

/// The running workers of a server.
pub trait Fleet {
    /// Tells all workers to stop, once the requests in flight are done.
    fn stop(&mut self);
    /// Takes note of workers that have ended; unless it was told to stop, it replaces them.
    ///
    /// # Errors
    /// The server cannot go on.
    fn tend(&mut self) -> Result<(), Failure>;
    /// All workers have ended.
    fn done(&self) -> bool;
    /// Ends what has not ended.
    fn kill(&mut self);
}

/// All models, from a process per connection to the event loop and beyond.
pub static MODELS: &[&Model] = &[
    &fork::FORK,
    &spawn::SPAWN,
    &prefork::PREFORK,
    &thread::THREAD,
    &pool::POOL,
    &r#loop::LOOP,
    &loops::LOOPS,
    &handoff::HANDOFF,
    &preloop::PRELOOP,
    &hybrid::HYBRID,
    &relay::RELAY,
    &tokio::TOKIO,
];

/// The model of that name.
pub fn find(name: &str) -> Option<&'static Model> {
    MODELS.iter().copied().find(|m| m.name == name)
}

/// For models whose worker serves one connection at a time.
fn only_blocking(mechanism: &Mechanism) -> Result<(), &'static str> {
    match mechanism.kind {
        Kind::Blocking => Ok(()),
        _ => Err("its worker serves one connection at a time and has nothing else to wait for"),
    }
}

/// For models whose worker is an event loop.
fn only_loops(mechanism: &Mechanism) -> Result<(), &'static str> {
    match mechanism.kind {
        Kind::Blocking => Err("a loop that waits for one connection would serve no other"),
        _ => Ok(()),
    }
}
