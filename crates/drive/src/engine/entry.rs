use std::fmt;
use std::io;

use pitot_sys::Unavailable;

use super::route::Route;
use crate::connections::Connections;
use crate::tally::Tally;

/// A loop with its sockets, for the connections of one thread. The thread that opened it is the one that uses it.
pub trait Engine {
    /// Carries out what the connections want until they say that it is over for now: the end of a run, or of one step of
    /// a held load. The callback is called when all connections that are opened before the start have been tried.
    ///
    /// # Errors
    /// A wait that should not fail has failed, and the loop cannot go on.
    fn drive(
        &mut self,
        connections: &mut Connections,
        ready: &mut dyn FnMut(&Connections),
    ) -> Result<(), EngineError>;

    /// Closes all connections and hands out what they recorded.
    fn finish(&mut self, connections: Connections) -> Tally;
}

/// Opens a loop with room for these connections, which go to and come from where the route says.
pub type OpenEngine = fn(&Connections, Route) -> Result<Box<dyn Engine>, EngineError>;

/// One engine of the registry.
pub struct EngineEntry {
    /// The name in options and results.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A paragraph for help and docs.
    pub doc: &'static str,
    /// Whether this kernel has what it needs.
    pub available: fn() -> Result<(), Unavailable>,
    /// Whether it can look the target's name up for each connection.
    pub resolves: bool,
    /// Opens the loop of a thread.
    pub open: OpenEngine,
}

impl fmt::Debug for EngineEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Why an engine cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The kernel does not offer what it needs.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// A system call that should not fail.
    #[error("the engine's wait failed: {0}")]
    Wait(#[from] io::Error),
}
