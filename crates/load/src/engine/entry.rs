use std::fmt;
use std::io;

use pitot_sys::Unavailable;

use super::route::Route;
use crate::connections::Connections;
use crate::tally::Tally;

/// Runs connections to the end of the run. The callback is called once, when all connections that are opened before the
/// start have been tried.
pub(crate) type RunEngine =
    fn(Connections, Route, &mut dyn FnMut(&Connections)) -> Result<Tally, EngineError>;

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
    pub(crate) run: RunEngine,
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
