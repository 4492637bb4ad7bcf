use std::sync::atomic::AtomicU64;

use super::options::MemcacheOptions;
use super::store::Store;

/// The server's state that connections need.
#[derive(Debug)]
pub(super) struct Cache {
    pub(super) store: Store,
    pub(super) options: MemcacheOptions,
    /// Connections so far, and how many of them are closed.
    pub(super) opened: AtomicU64,
    pub(super) closed: AtomicU64,
    /// Commands `flush_all`.
    pub(super) flushes: AtomicU64,
    /// Time of the first connection, in Unix seconds; zero before it.
    pub(super) since_s: AtomicU64,
}
