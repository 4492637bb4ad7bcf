//! The compressed files that do not exist for a file.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::coding::Coding;

/// When a compressed file was last found missing, for each coding: the second plus one; 0 for never.
#[derive(Debug, Default)]
pub(super) struct Absent([AtomicU64; Coding::ALL.len()]);

impl Absent {
    pub(super) fn note(&self, coding: Coding, now_s: u64) {
        self.0[coding as usize].store(now_s + 1, Relaxed);
    }

    /// True if it was found missing less than `for_s` seconds ago.
    pub(super) fn is_known(&self, coding: Coding, now_s: u64, for_s: u64) -> bool {
        let seen = self.0[coding as usize].load(Relaxed);
        seen > 0 && (now_s + 1).checked_sub(seen).is_some_and(|age| age < for_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absence_is_remembered_for_seconds_of_the_clock() {
        let absent = Absent::default();
        assert!(!absent.is_known(Coding::Gzip, 0, 1));
        absent.note(Coding::Gzip, 100);
        assert!(!absent.is_known(Coding::Gzip, 100, 0));
        assert!(absent.is_known(Coding::Gzip, 100, 1) && !absent.is_known(Coding::Gzip, 101, 1));
        assert!(absent.is_known(Coding::Gzip, 104, 5) && !absent.is_known(Coding::Gzip, 105, 5));
        assert!(!absent.is_known(Coding::Brotli, 100, 5));
        // A clock that was set back.
        assert!(!absent.is_known(Coding::Gzip, 99, 5));
    }
}
