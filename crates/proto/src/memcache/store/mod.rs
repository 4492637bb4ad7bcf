//! The items of the cache, in separately locked shards.
//!
//! A key's hash is computed once and determines the shard, the bucket and (nearly always) the item. The hash function is
//! foldhash with a seed from the options.
//!
//! Each shard has its share of the memory limit and evicts its own items. The price: with few large items per shard, the
//! random distribution is uneven, and the cache as a whole is full a little early.

mod item;
mod shard;

use std::hash::{BuildHasher, Hasher};
use std::sync::{Mutex, MutexGuard};

use foldhash::quality::FixedState;

pub(super) use shard::{Counts, Entry, Marks, New, Shard, Slot};

/// Least memory of a shard, so that a new item never has to evict itself: two of the largest items and some room for
/// the tables.
pub(super) const fn room_min(value_bytes_max: u64) -> u64 {
    2 * (value_bytes_max + 1024) + 64 * 1024
}

/// The whole cache.
#[derive(Debug)]
pub(super) struct Store {
    shards: Box<[Padded]>,
    hasher: FixedState,
}

/// A shard in separate cache lines, to avoid false sharing.
#[derive(Debug)]
#[repr(align(128))]
struct Padded(Mutex<Shard>);

impl Store {
    /// An empty cache; the number of shards must be a power of two.
    pub(super) fn new(shards: usize, memory_bytes: u64, seed: u64) -> Store {
        assert!(shards.is_power_of_two());
        let room = memory_bytes / shards as u64;
        Store {
            shards: (0..shards).map(|_| Padded(Mutex::new(Shard::new(room)))).collect(),
            hasher: FixedState::with_seed(seed),
        }
    }

    /// The hash of a key.
    #[inline]
    pub(super) fn hash(&self, key: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(key);
        hasher.finish()
    }

    /// Locks the shard of a key's hash.
    #[inline]
    pub(super) fn shard(&self, hash: u64, now_s: u32) -> MutexGuard<'_, Shard> {
        // The hash table of the shard uses the bits at both ends of the hash.
        let at = (hash >> 40) as usize & (self.shards.len() - 1);
        let mut shard = lock(&self.shards[at]);
        shard.flush_if_due(now_s);
        shard
    }

    /// The number of shards.
    pub(super) fn shard_count(&self) -> usize {
        self.shards.len()
    }

    /// All shards, each locked while it is visited.
    pub(super) fn for_each(&self, now_s: u32, mut f: impl FnMut(&mut Shard)) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            shard.flush_if_due(now_s);
            f(&mut shard);
        }
    }
}

fn lock(shard: &Padded) -> MutexGuard<'_, Shard> {
    shard.0.lock().expect("no code panics under the lock")
}
