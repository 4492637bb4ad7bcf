//! The options of `pitot serve memcache`.

use std::hash::{BuildHasher, RandomState};

use clap::Args;
use pitot_meter::units;
use pitot_proto::memcache::MemcacheOptions;

/// The cache of `memcache`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of memcache")]
pub(crate) struct MemcacheArgs {
    /// Memory limit of the cache, overhead included; the least recently used items are evicted for new ones.
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "64MiB")]
    memcache_memory: u64,
    /// The largest value.
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "1MiB")]
    memcache_value_max: u64,
    /// Number of separately locked shards, a power of two. [default: up to 64, as memory allows]
    #[arg(long, value_name = "N")]
    memcache_shards: Option<usize>,
}

impl MemcacheArgs {
    pub(crate) fn options(&self) -> MemcacheOptions {
        MemcacheOptions {
            memory_bytes: self.memcache_memory,
            value_bytes_max: self.memcache_value_max,
            shards: self.memcache_shards,
            // The standard library draws one from the kernel for each process.
            hash_seed: RandomState::new().hash_one(0),
        }
    }
}
