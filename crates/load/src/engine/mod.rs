//! The loops that carry out what a fleet wants.
//!
//! Both do the same for the same fleet. `epoll` makes two system calls for a request, a send and a receive, and one
//! more for a batch of them. `uring` makes one for a batch: receives are armed once for the life of a connection and
//! sends are handed over with the wait.

mod epoll;
mod uring;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use pitot_meter::Nanos;
use pitot_sys::Unavailable;

use crate::fleet::Fleet;
use crate::tally::Tally;

/// Runs a fleet to its end.
pub(crate) type RunFleet = fn(Fleet, Route, &mut dyn FnMut(&Fleet)) -> Result<Tally, EngineError>;

/// One engine of the registry.
pub struct EngineEntry {
    /// The word that users type.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A paragraph for help and docs.
    pub doc: &'static str,
    /// Whether this kernel has what it needs.
    pub available: fn() -> Result<(), Unavailable>,
    /// Runs a fleet to its end; `ready` is called once, when all connections that are opened before the start are tried.
    pub(crate) run: RunFleet,
}

impl fmt::Debug for EngineEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// All engines; the first is the default.
pub static ENGINES: &[EngineEntry] = &[epoll::ENTRY, uring::ENTRY];

/// The engine of that name.
pub fn find(name: &str) -> Option<&'static EngineEntry> {
    ENGINES.iter().find(|e| e.name == name)
}

/// Why an engine cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The kernel does not offer what it needs.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// A system call that does not fail in a sound program.
    #[error("the engine's wait failed: {0}")]
    Wait(#[from] io::Error),
}

/// Where connections go to and come from.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) target: SocketAddr,
    pub(crate) sources: Option<Sources>,
}

/// Local addresses that connections come from, in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sources {
    pub(crate) first: Ipv4Addr,
    pub(crate) count: u32,
    /// Which comes next.
    pub(crate) next: u32,
}

impl Sources {
    /// The next address.
    fn take(&mut self) -> IpAddr {
        let address = u32::from(self.first).wrapping_add(self.next % self.count);
        self.next = self.next.wrapping_add(1);
        IpAddr::V4(Ipv4Addr::from(address))
    }
}

impl Route {
    /// The address from which the next connection comes, if that is not left to the kernel.
    fn source(&mut self) -> Option<IpAddr> {
        self.sources.as_mut().map(Sources::take)
    }
}

/// How long to wait from `now` until `at`.
fn span(now: Nanos, at: Nanos) -> std::time::Duration {
    at.since(now).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_named_once_and_documented() {
        for (i, e) in ENGINES.iter().enumerate() {
            assert!(ENGINES[..i].iter().all(|f| f.name != e.name), "{} stands twice", e.name);
            assert!(!e.summary.is_empty() && e.doc.len() > e.summary.len(), "{} lacks its docs", e.name);
        }
    }

    #[test]
    fn sources_take_turns() {
        let mut sources = Sources { first: Ipv4Addr::new(127, 0, 0, 255), count: 2, next: 0 };
        let taken: Vec<String> = (0..3).map(|_| sources.take().to_string()).collect();
        assert_eq!(taken, ["127.0.0.255", "127.0.1.0", "127.0.0.255"]);
    }
}
