//! Numbers by chance: names of sessions, which nobody may guess, and moves of prices.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// 64 bits that nobody can tell before. SipHash of a counter under a key of the kernel (`RandomState`).
pub(crate) fn bits() -> u64 {
    static KEY: std::sync::LazyLock<RandomState> = std::sync::LazyLock::new(RandomState::new);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    KEY.hash_one(COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The next of a sequence that a seed determines (SplitMix64; Steele, Lea and Flood, OOPSLA 2014).
pub(crate) fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
