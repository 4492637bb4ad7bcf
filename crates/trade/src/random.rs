//! Numbers by chance.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// 128 bits for the name of a session, from the system's generator (getrandom(2)): nobody may guess it, whatever numbers
/// were seen before.
///
/// # Errors
/// The system has none, as a kernel before Linux 3.17 or a sandbox that refuses the call.
pub(crate) fn secret() -> Result<[u64; 2], getrandom::Error> {
    Ok([getrandom::u64()?, getrandom::u64()?])
}

/// 64 bits for what is no secret: SipHash of a counter under the process's key.
pub(crate) fn bits() -> u64 {
    static KEY: std::sync::LazyLock<RandomState> = std::sync::LazyLock::new(RandomState::new);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    KEY.hash_one(COUNT.fetch_add(1, Ordering::Relaxed))
}
