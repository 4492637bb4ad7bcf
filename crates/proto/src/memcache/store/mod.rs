//! The items of the cache, in shards that are locked each by itself.
//!
//! A key's hash is computed once and says which shard, which bucket and (nearly always) which item. The hash function is
//! foldhash with a seed of the user's.
//!
//! Each shard has its share of the memory limit and evicts among its own items. The price: where a shard holds few large
//! items, chance gives some shards more of them than others, and the cache as a whole is then full a little early.

mod item;
mod shard;

use std::hash::{BuildHasher, Hasher};
use std::sync::{Mutex, MutexGuard};

use foldhash::quality::FixedState;

pub(super) use shard::{Counts, Entry, Marks, New, Shard, Slot};

/// The least memory of a shard, so that an item that is written never has to evict itself: two of the largest items
/// and some room for the tables.
pub(super) const fn room_min(value_bytes_max: u64) -> u64 {
    2 * (value_bytes_max + 1024) + 64 * 1024
}

/// The whole cache.
#[derive(Debug)]
pub(super) struct Store {
    shards: Box<[Padded]>,
    hasher: FixedState,
}

/// A shard by itself in its cache lines, so that loops on different shards do not disturb each other.
#[derive(Debug)]
#[repr(align(128))]
struct Padded(Mutex<Shard>);

impl Store {
    /// An empty cache of a power of two of shards.
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

    /// The shard of a key's hash, locked.
    #[inline]
    pub(super) fn shard(&self, hash: u64, now_s: u32) -> MutexGuard<'_, Shard> {
        // The table in the shard takes its bits from both ends of the hash.
        let at = (hash >> 40) as usize & (self.shards.len() - 1);
        let mut shard = lock(&self.shards[at]);
        shard.flush_if_due(now_s);
        shard
    }

    /// How many shards there are.
    pub(super) fn shard_count(&self) -> usize {
        self.shards.len()
    }

    /// All shards, each locked while it is looked at.
    pub(super) fn for_each(&self, now_s: u32, mut f: impl FnMut(&mut Shard)) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            shard.flush_if_due(now_s);
            f(&mut shard);
        }
    }
}

fn lock(shard: &Padded) -> MutexGuard<'_, Shard> {
    shard.0.lock().expect("nothing that is done under the lock panics")
}
