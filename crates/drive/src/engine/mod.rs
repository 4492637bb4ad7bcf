//! The loops that carry out what [`Connections`](crate::connections::Connections) want done with their sockets.
//!
//! All behave alike to their connections. `epoll` makes two system calls for a request, a send and a receive, and one
//! more for a batch of them. `uring` makes one for a batch: receives are armed once for the life of a connection and
//! sends are submitted together with the wait.

mod entry;
mod epoll;
mod lookups;
mod route;
mod uring;

pub use entry::Engine;
pub use entry::EngineEntry;
pub use route::{Owners, Route, Sources};

/// All engines; the first is the default.
pub static ENGINES: &[EngineEntry] = &[epoll::ENTRY, uring::ENTRY];

/// The engine of that name.
pub fn find(name: &str) -> Option<&'static EngineEntry> {
    ENGINES.iter().find(|e| e.name == name)
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
}
