//! `memcache`: the ASCII protocol of memcached 1.6 (its `protocol.txt`), the server's side, with a cache of its own.
//!
//! Classic commands: `get gets gat gats set add replace append prepend cas incr decr delete touch flush_all stats
//! verbosity version quit`; meta commands: `mn mg ms md ma me`.
//!
//! How it is built, and at what price:
//! - **A reply is one copy.** An item is stored as the very bytes that answer a `get`, line and data, in one
//!   allocation. A small one is copied into the outbox under its shard's lock; a large one is pointed at, so that its
//!   memory may outlive its eviction until it is sent. The price is a dozen bytes for each item.
//! - **A connection is 32 bytes between commands.** A data block that has not arrived in full is collected beside the
//!   line that announced it, in memory that grows with what has arrived; nothing is copied twice but into its item.
//! - **The answer does not depend on how the input is cut.** A line is judged whole. Only a `get` may be longer than
//!   [`LINE_BYTES_MAX`]; its keys are answered as they come.
//! - **Time is whole seconds**, as in memcached: an item that expires in n seconds lives for n - 1 to n.
//!
//! Where it differs from memcached on purpose: the data block of a command whose key is too long is skipped rather than
//! run as a command; a decremented number loses its length rather than being padded with blanks; a value may have the
//! whole of its limit, since the overhead of an item is not counted against it; numbers are digits, without a sign in
//! front or a remainder modulo 2^32.
//!
//! A server of several processes (the models `prefork`, `preloop` and the like) has a cache in each of them.

mod classic;
mod conn;
mod decimal;
mod errors;
mod meta;
mod stats;
mod store;
mod words;
mod write;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{Protocol, ProtocolEntry, ProtocolOptions, ServerConn};
use conn::Conn;
pub(crate) use decimal::{Digits, unsigned};
use store::Store;

/// The longest key.
pub const KEY_BYTES_MAX: usize = 250;
/// The longest command line, with its line end. Only `get` and its kin may be longer.
pub const LINE_BYTES_MAX: usize = 2048;
/// The memory of the cache, if nothing is said: memcached's own default.
pub const MEMORY_BYTES: u64 = 64 << 20;
/// The longest value, if nothing is said.
pub const VALUE_BYTES: u64 = 1 << 20;
/// The largest limit on values: lengths of items are kept in 32 bits.
const VALUE_BYTES_LIMIT: u64 = 1 << 30;
/// The most shards.
const SHARDS_MAX: usize = 64;
/// Unless the number of shards is said, each has room for this many of the longest values.
const VALUES_PER_SHARD: u64 = 8;

/// What a user may set for the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemcacheOptions {
    /// Bytes of all items with their overhead. What does not fit evicts what was not used for longest.
    pub memory_bytes: u64,
    /// Bytes of the longest value.
    pub value_bytes_max: u64,
    /// Parts of the cache that are locked each by itself, a power of two; without it as many as the memory allows.
    pub shards: Option<usize>,
    /// What the distribution of keys depends on. It should be secret where clients are not trusted.
    pub hash_seed: u64,
}

impl Default for MemcacheOptions {
    fn default() -> MemcacheOptions {
        MemcacheOptions {
            memory_bytes: MEMORY_BYTES,
            value_bytes_max: VALUE_BYTES,
            shards: None,
            hash_seed: 0,
        }
    }
}

impl MemcacheOptions {
    /// The number of shards.
    ///
    /// # Errors
    /// One line on options that leave a shard without room.
    fn shard_count(&self) -> Result<usize, String> {
        if !(1..=VALUE_BYTES_LIMIT).contains(&self.value_bytes_max) {
            return Err(format!("the limit on values is from 1 byte to {VALUE_BYTES_LIMIT} bytes"));
        }
        let room = |shards: usize| self.memory_bytes / shards as u64;
        if let Some(shards) = self.shards {
            if !shards.is_power_of_two() || shards > SHARDS_MAX {
                return Err(format!("{shards} shards: it must be a power of two up to {SHARDS_MAX}"));
            }
            if room(shards) < store::room_min(self.value_bytes_max) {
                return Err(format!(
                    "{} bytes in {shards} shards leave no room for two values of {} bytes in each",
                    self.memory_bytes, self.value_bytes_max
                ));
            }
            return Ok(shards);
        }
        if room(1) < store::room_min(self.value_bytes_max) {
            return Err(format!(
                "{} bytes of memory have no room for two values of {} bytes",
                self.memory_bytes, self.value_bytes_max
            ));
        }
        let mut shards = SHARDS_MAX;
        while shards > 1 && room(shards) < store::room_min(self.value_bytes_max * VALUES_PER_SHARD / 2) {
            shards /= 2;
        }
        Ok(shards)
    }
}

/// The protocol: the cache that all connections share.
#[derive(Debug)]
pub struct Memcache {
    cache: Arc<Cache>,
}

/// What a connection has to know of its server.
#[derive(Debug)]
struct Cache {
    store: Store,
    options: MemcacheOptions,
    /// Connections so far, and how many of them are closed.
    opened: AtomicU64,
    closed: AtomicU64,
    /// Commands `flush_all`.
    flushes: AtomicU64,
    /// When the first connection came, in Unix seconds; zero before it.
    since_s: AtomicU64,
}

impl Memcache {
    /// An empty cache.
    ///
    /// # Errors
    /// Limits that leave no room for two values in each shard.
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
    doc: "A cache that memcached's clients can use: get and set in all their forms, counters, expiry, a memory limit \
          with eviction of what was not used for longest (CLOCK), in shards so that many loops scale. The loops or \
          threads of one process share one cache; a model with several processes has a cache in each of them.",
    files: false,
    load_url: "memcache://{address}",
    build,
};

/// Makes the protocol with an empty cache.
///
/// # Errors
/// Limits that leave no room for two values in each shard.
fn build(options: &ProtocolOptions) -> Result<Box<dyn Protocol>, String> {
    Ok(Box::new(Memcache::new(&options.memcache)?))
}

/// The time of expiry, in Unix seconds, that a client's number names: 0 is never, a negative one is at once, up to
/// thirty days it counts from now, and beyond that it is a date (protocol.txt, "Expiration times").
fn expires_s(exptime: i64, now_s: u32) -> u32 {
    const RELATIVE_MAX: i64 = 60 * 60 * 24 * 30;
    match exptime {
        0 => store::NEVER,
        ..0 => store::AT_ONCE,
        1..=RELATIVE_MAX => now_s.saturating_add(exptime as u32).min(store::NEVER - 1),
        _ => u32::try_from(exptime).unwrap_or(store::NEVER - 1).min(store::NEVER - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_expiry() {
        let month = 60 * 60 * 24 * 30;
        for (exptime, at) in [
            (0, store::NEVER),
            (-1, store::AT_ONCE),
            (i64::MIN, store::AT_ONCE),
            (1, 1_000_000_001),
            (month, 1_000_000_000 + month as u32),
            (month + 1, month as u32 + 1),
            (2_000_000_000, 2_000_000_000),
            (i64::MAX, store::NEVER - 1),
        ] {
            assert_eq!(expires_s(exptime, 1_000_000_000), at, "{exptime}");
        }
        assert_eq!(expires_s(60, u32::MAX - 5), store::NEVER - 1);
    }

    #[test]
    fn shards_follow_from_the_memory() {
        let options = |memory_mib: u64, value_bytes_max, shards| MemcacheOptions {
            memory_bytes: memory_mib << 20,
            value_bytes_max,
            shards,
            hash_seed: 0,
        };
        assert_eq!(options(1 << 10, VALUE_BYTES, None).shard_count(), Ok(64));
        assert_eq!(options(4, VALUE_BYTES, None).shard_count(), Ok(1));
        assert_eq!(options(64, VALUE_BYTES, Some(16)).shard_count(), Ok(16));
        for (memory_mib, value, shards) in [
            (2, VALUE_BYTES, None),
            (64, 0, None),
            (64, 1, Some(3)),
            (64, 1, Some(128)),
            (16, VALUE_BYTES, Some(16)),
        ] {
            assert!(
                options(memory_mib, value, shards).shard_count().is_err(),
                "{memory_mib} {value} {shards:?}"
            );
        }
    }
}
