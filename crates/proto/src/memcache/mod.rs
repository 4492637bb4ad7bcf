//! `memcache`: the ASCII protocol of memcached 1.6 (its `protocol.txt`), the server side, with a cache.
//!
//! Classic commands: `get gets gat gats set add replace append prepend cas incr decr delete touch flush_all stats
//! verbosity version quit`; meta commands: `mn mg ms md ma me`.
//!
//! How it is built, and at what price:
//! - **A reply is one copy.** An item is stored as the bytes that answer a `get`, line and data, in one allocation. A
//!   small one is copied into the outbox under its shard's lock; a large one is shared with it, so that its memory may
//!   outlive its eviction until it is sent. The price is a dozen bytes per item.
//! - **A connection takes 32 bytes between commands.** An incomplete data block is collected together with its command
//!   line, in memory that grows with the received data, and is copied once more, into its item.
//! - **The reply does not depend on how the input is split.** Lines are parsed when they are complete. Only a `get` may
//!   be longer than [`LINE_BYTES_MAX`]; its keys are answered as they arrive.
//! - **Time is whole seconds**, as in memcached: an item that expires in n seconds lives for n - 1 to n.
//!
//! The reference is memcached 1.6.18; intentional differences are listed in `docs/memcache.md`. A test compares the two on
//! random commands.
//!
//! A server of several processes (the models `prefork`, `preloop` and the like) has a cache in each of them.

mod cache;
mod classic;
mod conn;
mod decimal;
mod errors;
mod expiry;
mod limits;
mod meta;
pub(crate) mod options;
mod stats;
mod store;
mod words;
mod write;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{Protocol, ProtocolEntry, ProtocolOptions, ServerConn};
use cache::Cache;
use conn::Conn;
pub use decimal::{Digits, unsigned};
pub use limits::{KEY_BYTES_MAX, LINE_BYTES_MAX};
pub use options::{MEMORY_BYTES, MemcacheOptions, VALUE_BYTES};
use store::Store;

/// The protocol: the cache that all connections share.
#[derive(Debug)]
pub struct Memcache {
    cache: Arc<Cache>,
}

impl Memcache {
    /// An empty cache.
    ///
    /// # Errors
    /// Limits without room for two values in each shard.
    pub fn new(options: &MemcacheOptions) -> Result<Memcache, String> {
        let shards = options.shard_count()?;
        let store = Store::new(shards, options.memory_bytes, options.hash_seed);
        Ok(Memcache {
            cache: Arc::new(Cache {
                store,
                options: *options,
                opened: AtomicU64::new(0),
                closed: AtomicU64::new(0),
                flushes: AtomicU64::new(0),
                since_s: AtomicU64::new(0),
            }),
        })
    }
}

impl Protocol for Memcache {
    fn connect(&self) -> Box<dyn ServerConn> {
        self.cache.opened.fetch_add(1, Relaxed);
        Box::new(Conn::new(Arc::clone(&self.cache)))
    }
}

/// The entry of the registry.
pub(crate) static ENTRY: ProtocolEntry = ProtocolEntry {
    name: "memcache",
    summary: "memcached's ASCII protocol over a cache in memory: classic and meta commands",
    doc: "A cache for memcached clients: all forms of get and set, counters, expiry, and a memory limit with eviction \
          of the least recently used items (CLOCK), in shards so that it scales with loops. The loops or threads of a \
          process share one cache; under a model with several processes, each process has its own. The binary protocol \
          is not supported: its clients are closed at once. docs/memcache.md lists the differences from memcached 1.6.",
    files: false,
    load_url: "memcache://{address}",
    tls: crate::TlsBegins::AtOnce { alpn: &[] },
    build,
};

/// # Errors
/// Limits without room for two values in each shard.
fn build(options: &ProtocolOptions) -> Result<Box<dyn Protocol>, String> {
    Ok(Box::new(Memcache::new(&options.memcache)?))
}
