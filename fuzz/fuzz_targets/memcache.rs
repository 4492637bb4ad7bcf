//! `memcache`, the server: whatever arrives, and however it is cut, the same answers leave, and the cache keeps to its
//! memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pitot_proto::memcache::{Memcache, MemcacheOptions};
use pitot_proto_harness as harness;
use pitot_proto_harness::{Files, Pump};

/// A cache so small that it evicts.
const OPTIONS: MemcacheOptions =
    MemcacheOptions { memory_bytes: 80 * 1024, value_bytes_max: 3000, shards: None, hash_seed: 1 };

fuzz_target!(|data: &[u8]| {
    let Some((&cut, input)) = data.split_first() else { return };
    let files = Files::new();
    let whole = harness::exchange(&Memcache::new(&OPTIONS).expect("sound options"), &files, [input]);
    let cache = Memcache::new(&OPTIONS).expect("sound options");
    let mut pump = Pump::new(&cache, &files);
    for piece in input.chunks(usize::from(cut) + 1) {
        pump.feed(piece);
    }
    assert_eq!(pump.outcome(), whole);

    let mut other = Pump::new(&cache, &files);
    other.feed(b"stats\r\n");
    let stats = String::from_utf8_lossy(&other.sent);
    let bytes = stats.lines().find_map(|line| line.strip_prefix("STAT bytes ")?.parse::<u64>().ok());
    assert!(bytes.is_some_and(|bytes| bytes <= OPTIONS.memory_bytes), "{stats}");
});
