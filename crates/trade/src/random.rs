//! Random numbers.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// 128 unpredictable bits for the name of a session, from the system's generator (getrandom(2)).
///
/// # Errors
/// The system has no generator, as with kernels before Linux 3.17 or in a sandbox that forbids the call.
pub(crate) fn secret() -> Result<[u64; 2], getrandom::Error> {
    Ok([getrandom::u64()?, getrandom::u64()?])
}

/// 64 bits that need not be secret: SipHash of a counter under the process's key.
pub(crate) fn bits() -> u64 {
    static KEY: std::sync::LazyLock<RandomState> = std::sync::LazyLock::new(RandomState::new);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    KEY.hash_one(COUNT.fetch_add(1, Ordering::Relaxed))
}
