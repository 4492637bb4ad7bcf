//! The addresses of the list and of the journal that have been seen.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use pitot_results::mail::Outcome;

/// Addresses that have been seen, identified by a keyed 64-bit hash: eight bytes each, whatever their length. Two of ten
/// million addresses share one with a probability of three in a million.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    random: RandomState,
    /// In the list, in this run.
    listed: HashSet<u64, BuildHasherDefault<Hashed>>,
    /// In the journal, and not yet in the list.
    settled: HashSet<u64, BuildHasherDefault<Hashed>>,
    /// Those of them that were refused or given up.
    failed: HashSet<u64, BuildHasherDefault<Hashed>>,
}

/// The state of an address in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occurrence {
    /// It was not seen before.
    New,
    /// It occurred in the list before.
    Duplicate,
    /// An earlier run has sent to it.
    Settled,
    /// It was refused or given up in an earlier run.
    Failed,
}

impl Seen {
    fn hash(&self, local: &str, domain: &str) -> u64 {
        self.random.hash_one((local, domain))
    }

    /// Notes that the journal has an outcome for the address.
    pub(crate) fn add_settled(&mut self, address: &str, outcome: Outcome) {
        if let Some((local, domain)) = address.rsplit_once('@') {
            let hash = self.hash(local, domain);
            self.settled.insert(hash);
            if matches!(outcome, Outcome::Refused | Outcome::GaveUp) {
                self.failed.insert(hash);
            }
        }
    }

    /// Notes that the list has the address. The domain is in lower case.
    pub(crate) fn add_listed(&mut self, local: &str, domain: &str) -> Occurrence {
        let hash = self.hash(local, domain);
        if !self.listed.insert(hash) {
            Occurrence::Duplicate
        } else if self.settled.remove(&hash) {
            if self.failed.remove(&hash) { Occurrence::Failed } else { Occurrence::Settled }
        } else {
            Occurrence::New
        }
    }
}

/// A hasher for values that are hashes already.
#[derive(Debug, Default)]
pub(crate) struct Hashed(u64);

impl Hasher for Hashed {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_new_once_and_settled_ones_never() {
        let mut seen = Seen::default();
        seen.add_settled("a@x", Outcome::Sent);
        seen.add_settled("c@x", Outcome::GaveUp);
        assert_eq!(seen.add_listed("a", "x"), Occurrence::Settled);
        assert_eq!(seen.add_listed("c", "x"), Occurrence::Failed);
        assert_eq!(seen.add_listed("a", "x"), Occurrence::Duplicate);
        assert_eq!(seen.add_listed("b", "x"), Occurrence::New);
        assert_eq!(seen.add_listed("b", "x"), Occurrence::Duplicate);
        assert_eq!(seen.add_listed("B", "x"), Occurrence::New);
    }
}
