use std::io;

use pitot_sys::Unavailable;
use pitot_sys::readiness::Readiness;

use crate::relay::data::{self, DataWorker};
use crate::worker::{LoopWorker, readiness};

/// One event mechanism.
#[derive(Debug)]
pub struct Mechanism {
    /// The name on the command line and in reports.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A paragraph for help and docs.
    pub doc: &'static str,
    /// How it reports events, and the loops that run over it.
    pub kind: Kind,
    /// Whether it can watch an eventfd or a ring, not only sockets and pipes.
    pub watches_eventfd: bool,
    /// True if only the last of several workers that share a socket gets its events (F_SETOWN in fcntl(2)).
    pub signals_one_owner: bool,
    /// True if the async runtime uses it too, so that the model `tokio` supports it.
    pub is_of_runtime: bool,
    /// The default mechanism of a model is the supported one with the highest rank.
    pub default_rank: u8,
    /// Checks whether the running kernel supports it.
    pub probe: fn() -> Result<(), Unavailable>,
}

/// How a mechanism reports events.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Not at all: each call blocks on its own socket.
    Blocking,
    /// It reports which sockets are ready.
    Readiness {
        /// Runs an event loop over it.
        run_loop: Run,
        /// Runs the data process of `relay` over it.
        run_data: fn(DataWorker) -> io::Result<()>,
    },
    /// It reports which operations are complete.
    Completion {
        /// Runs an event loop over it.
        run_loop: Run,
    },
}

/// Runs a worker loop on the calling thread until it is stopped.
pub type Run = fn(LoopWorker) -> io::Result<()>;

impl Kind {
    /// The event loops for a readiness mechanism.
    pub const fn readiness<R: Readiness + 'static>() -> Kind {
        Kind::Readiness { run_loop: readiness::run::<R>, run_data: data::run::<R> }
    }
}

impl Mechanism {
    /// The event loop over this mechanism, if it has one.
    pub fn run_loop(&self) -> Option<Run> {
        match self.kind {
            Kind::Blocking => None,
            Kind::Readiness { run_loop, .. } | Kind::Completion { run_loop } => Some(run_loop),
        }
    }

    /// The probe of a mechanism that every kernel supports.
    ///
    /// # Errors
    /// Never; the signature is that of a probe.
    pub fn always() -> Result<(), Unavailable> {
        Ok(())
    }
}
