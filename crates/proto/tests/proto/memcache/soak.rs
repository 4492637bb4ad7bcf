//! A driver with a model of the server, on a cache that is far too small for it.

use pitot_proto::memcache::{Memcache, MemcacheOptions};
use pitot_proto_harness::memcache::{Soak, SoakOptions};
use pitot_proto_harness::{Pump, UNIX_S};

use super::support::{NO_FILES, stat};

/// Lets several drivers work in turn on one cache; returns what was lost and what was evicted.
fn soak(memory_bytes: u64, rounds: usize, drivers: u32) -> (u64, u64) {
    let options = MemcacheOptions { memory_bytes, value_bytes_max: 64 * 1024, ..MemcacheOptions::default() };
    let cache = Memcache::new(&options).unwrap();
    let driver = |driver| SoakOptions { driver, keys: 2000, value_bytes_max: 1500, lag_s: 0 };
    let mut pairs: Vec<(Soak, Pump<'static>)> =
        (0..drivers).map(|n| (Soak::new(driver(n)), Pump::new(&cache, &NO_FILES))).collect();
    let mut requests = Vec::new();
    for round in 0..rounds {
        let now_s = UNIX_S + round as u64 / 100;
        for (soak, pump) in &mut pairs {
            pump.worker.unix_s = now_s;
            requests.clear();
            soak.write(20, now_s as u32, &mut requests);
            // Most arrive in one piece, some cut anywhere.
            let cut = if round % 5 == 0 { round * 7919 % requests.len() } else { 0 };
            pump.feed(&requests[..cut]).feed(&requests[cut..]);
            let used = soak.read(now_s as u32, &pump.sent).unwrap();
            assert_eq!((used, soak.outstanding()), (pump.sent.len(), 0));
            pump.sent.clear();
        }
    }
    let lost = pairs.iter().map(|(soak, _)| soak.counts().lost).sum();
    let pump = &mut pairs[0].1;
    assert!(stat(pump, "bytes") <= memory_bytes);
    (lost, stat(pump, "evictions"))
}

#[test]
fn a_model_agrees_with_every_answer_while_items_are_evicted_and_expire() {
    let (lost, evicted) = soak(1 << 20, 3000, 3);
    assert!(lost > 0 && lost <= evicted, "{lost} were lost and {evicted} evicted");
}

#[test]
fn nothing_is_lost_where_there_is_room() {
    assert_eq!(soak(256 << 20, 1000, 2), (0, 0));
}
