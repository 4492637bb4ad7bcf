//! The event mechanisms, as data: how one worker waits.
//!
//! A mechanism is one file with one entry in [`MECHANISMS`]. The entry chooses a worker loop and nothing else asks
//! which mechanism is in use.

use std::io;

use pitot_sys::Unavailable;

use crate::relay::DataWorker;
use crate::worker::LoopWorker;

mod blocking;
mod epoll_et;
mod epoll_lt;
mod poll;
mod select;
mod sigio;
mod uring;

/// One event mechanism.
#[derive(Debug)]
pub struct Mechanism {
    /// The word that users type.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A paragraph for help and docs.
    pub doc: &'static str,
    /// How it tells of events.
    pub kind: Kind,
    /// Whether the running kernel offers it.
    pub probe: fn() -> Result<(), Unavailable>,
}

/// How a mechanism tells of events.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// It does not: each call waits for its own socket.
    Blocking,
    /// It tells which sockets are ready.
    Readiness {
        /// Runs an event loop over it.
        run_loop: Run,
        /// Runs the data process of `relay` over it.
        run_data: fn(DataWorker) -> io::Result<()>,
    },
    /// It tells which operations are done.
    Completion {
        /// Runs an event loop over it.
        run_loop: Run,
    },
}

/// Runs a worker loop on the calling thread until it is stopped.
pub type Run = fn(LoopWorker) -> io::Result<()>;

impl Mechanism {
    /// The event loop over this mechanism, if it has one.
    pub fn run_loop(&self) -> Option<Run> {
        match self.kind {
            Kind::Blocking => None,
            Kind::Readiness { run_loop, .. } | Kind::Completion { run_loop } => Some(run_loop),
        }
    }
}

/// All mechanisms, in the order in which they came into use.
pub static MECHANISMS: &[&Mechanism] = &[
    &blocking::BLOCKING,
    &select::SELECT,
    &poll::POLL,
    &sigio::SIGIO,
    &epoll_lt::EPOLL_LT,
    &epoll_et::EPOLL_ET,
    &uring::URING,
];

/// The mechanism of that name.
pub fn find(name: &str) -> Option<&'static Mechanism> {
    MECHANISMS.iter().copied().find(|m| m.name == name)
}

/// For what every kernel has.
fn always() -> Result<(), Unavailable> {
    Ok(())
}
