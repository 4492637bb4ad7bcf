//! Numbers by chance: names of sessions, which nobody may guess.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// 64 bits that nobody can tell before. SipHash of a counter under a key of the kernel (`RandomState`).
pub(crate) fn bits() -> u64 {
    static KEY: std::sync::LazyLock<RandomState> = std::sync::LazyLock::new(RandomState::new);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    KEY.hash_one(COUNT.fetch_add(1, Ordering::Relaxed))
}
