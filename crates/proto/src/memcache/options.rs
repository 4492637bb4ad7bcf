use super::store::room_min;

/// Default memory limit of the cache: that of memcached.
pub const MEMORY_BYTES: u64 = 64 << 20;
/// Default limit on the length of values.
pub const VALUE_BYTES: u64 = 1 << 20;
/// Upper bound of the limit on values: lengths of items have 32 bits.
const VALUE_BYTES_LIMIT: u64 = 1 << 30;
/// Limit on the number of shards.
const SHARDS_MAX: usize = 64;
/// With the default number of shards, each has room for at least this many of the longest values.
const VALUES_PER_SHARD: u64 = 8;

/// The options of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemcacheOptions {
    /// Memory limit in bytes, overhead included. Beyond it the least recently used items are evicted.
    pub memory_bytes: u64,
    /// Limit on the length of values in bytes.
    pub value_bytes_max: u64,
    /// Number of separately locked shards, a power of two; by default as many as the memory allows.
    pub shards: Option<usize>,
    /// Seed of the hash function. It should be secret if clients are not trusted.
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
    /// One line about the options that leave a shard without room.
    pub(super) fn shard_count(&self) -> Result<usize, String> {
        if !(1..=VALUE_BYTES_LIMIT).contains(&self.value_bytes_max) {
            return Err(format!("the size limit of values must be 1 to {VALUE_BYTES_LIMIT} bytes"));
        }
        let room = |shards: usize| self.memory_bytes / shards as u64;
        if let Some(shards) = self.shards {
            if !shards.is_power_of_two() || shards > SHARDS_MAX {
                return Err(format!("{shards} shards: use a power of two up to {SHARDS_MAX}"));
            }
            if room(shards) < room_min(self.value_bytes_max) {
                return Err(format!(
                    "{} bytes of memory in {shards} shards are too few: each shard must hold two values of {} bytes",
                    self.memory_bytes, self.value_bytes_max
                ));
            }
            return Ok(shards);
        }
        if room(1) < room_min(self.value_bytes_max) {
            return Err(format!(
                "{} bytes of memory are too few: they must hold two values of {} bytes",
                self.memory_bytes, self.value_bytes_max
            ));
        }
        let mut shards = SHARDS_MAX;
        while shards > 1 && room(shards) < room_min(self.value_bytes_max * VALUES_PER_SHARD / 2) {
            shards /= 2;
        }
        Ok(shards)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
