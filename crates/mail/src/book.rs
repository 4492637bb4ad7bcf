//! Domains, their counts, and the recipients that wait.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use pitot_meter::Nanos;

use crate::batch::Recipient;
use crate::outcome::Outcome;

/// A domain of the list.
#[derive(Debug)]
pub(crate) struct Domain {
    pub(crate) name: Box<str>,
    /// Where its recipients wait.
    pub(crate) queue: u32,
    pub(crate) recipients: u64,
    pub(crate) outcomes: [u64; Outcome::ALL.len()],
}

/// Where the recipients of a queue are to go.
#[derive(Debug)]
pub(crate) enum Way {
    /// Nobody has asked.
    Unknown,
    /// The DNS is asked.
    Asked,
    /// To one of these, best first; known until then.
    Hosts(Vec<u32>, Nanos),
    /// Nowhere, ever.
    Refused(u16, &'static str),
}

/// Recipients that go the same way: those of a domain, or all if there is a relay.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) waiting: VecDeque<Recipient>,
    pub(crate) way: Way,
    /// Which of its hosts is tried.
    pub(crate) at: usize,
    /// It stands in a host's line.
    pub(crate) listed: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) domains: Vec<Domain>,
    pub(crate) queues: Vec<Queue>,
    by_name: HashMap<Box<str>, u32>,
    /// Every domain shares one queue.
    shared: bool,
}

impl Book {
    /// A book where all domains share one queue on a known way, or each has its own.
    pub(crate) fn new(relay: Option<Way>) -> Book {
        let shared = relay.is_some();
        let queues = relay.map(Queue::new).into_iter().collect();
        Book { shared, queues, ..Book::default() }
    }

    /// The number of a domain, in lower case.
    pub(crate) fn domain(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.by_name.get(name) {
            return id;
        }
        let id = self.domains.len() as u32;
        let queue = if self.shared {
            0
        } else {
            self.queues.push(Queue::new(Way::Unknown));
            self.queues.len() as u32 - 1
        };
        let outcomes = [0; Outcome::ALL.len()];
        self.domains.push(Domain { name: name.into(), queue, recipients: 0, outcomes });
        self.by_name.insert(name.into(), id);
        id
    }

    /// The name of a queue's domain; the queue is not shared.
    pub(crate) fn queue_name(&self, queue: u32) -> &str {
        // Queues and domains are made in pairs, so that their numbers agree.
        &self.domains[queue as usize].name
    }
}

impl Queue {
    fn new(way: Way) -> Queue {
        Queue { waiting: VecDeque::new(), way, at: 0, listed: false }
    }
}

/// Addresses that have been seen, told apart by a keyed 64-bit hash: eight bytes each, whatever their length. Two of ten
/// million addresses share one with a probability of three in a million.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    random: RandomState,
    /// In the list, in this run.
    listed: HashSet<u64, BuildHasherDefault<Hashed>>,
    /// In the journal, and not yet in the list.
    settled: HashSet<u64, BuildHasherDefault<Hashed>>,
}

/// What an address in the list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    New,
    /// It stood in the list before.
    Duplicate,
    /// It has its outcome from an earlier run.
    Settled,
}

impl Seen {
    fn hash(&self, local: &str, domain: &str) -> u64 {
        self.random.hash_one((local, domain))
    }

    /// The journal has an outcome for it.
    pub(crate) fn settle(&mut self, address: &str) {
        if let Some((local, domain)) = address.rsplit_once('@') {
            self.settled.insert(self.hash(local, domain));
        }
    }

    /// The list has it. The domain is in lower case.
    pub(crate) fn list(&mut self, local: &str, domain: &str) -> Sight {
        let hash = self.hash(local, domain);
        if !self.listed.insert(hash) {
            Sight::Duplicate
        } else if self.settled.remove(&hash) {
            Sight::Settled
        } else {
            Sight::New
        }
    }
}

/// The hash of what is one already.
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
        seen.settle("a@x");
        assert_eq!(seen.list("a", "x"), Sight::Settled);
        assert_eq!(seen.list("a", "x"), Sight::Duplicate);
        assert_eq!(seen.list("b", "x"), Sight::New);
        assert_eq!(seen.list("b", "x"), Sight::Duplicate);
        assert_eq!(seen.list("B", "x"), Sight::New);
    }

    #[test]
    fn domains_have_their_own_queue_unless_there_is_a_relay() {
        let mut book = Book::new(None);
        assert_eq!((book.domain("a"), book.domain("b"), book.domain("a")), (0, 1, 0));
        assert_eq!((book.queues.len(), book.queue_name(1)), (2, "b"));
        let mut book = Book::new(Some(Way::Hosts(vec![0], Nanos::MAX)));
        book.domain("a");
        book.domain("b");
        assert_eq!((book.queues.len(), book.domains[1].queue), (1, 0));
    }
}
