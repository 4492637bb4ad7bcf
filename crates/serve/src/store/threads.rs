//! Threads that store for a loop, which must not block on the disk.
//!
//! A worker with one connection (`thread`, `fork`, `pool`) stores in its own thread and delays no others, as do the
//! threads of `hybrid`; `tokio` has its own threads for blocking work. All other loops, and the data process of `relay`,
//! pass every step to these threads and are notified of its outcome through a descriptor.
//!
//! There are several because concurrent synchronisations may share one commit of the file system's journal. A thread
//! is started when a step finds all of them busy, up to [`THREADS_MAX`].
//!
//! The queue is bounded by the number of connections: each has at most one step under way.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pitot_proto::{StoreError, StoreStep};
use pitot_sys::{ThreadPool, Waker};

use super::destination::Store;
use super::stored::Stored;

/// Limit on the threads of one loop.
const THREADS_MAX: usize = 16;

/// The loop's interface to the threads. `K` identifies the source of a step.
#[derive(Debug)]
pub struct StoreThreads<K> {
    pool: ThreadPool<Job<K>>,
    shared: Arc<Shared<K>>,
}

#[derive(Debug)]
struct Shared<K> {
    store: Store,
    outcomes: Mutex<Vec<Outcome<K>>>,
    waker: Waker,
}

#[derive(Debug)]
struct Job<K> {
    of: K,
    path: Box<[u8]>,
    step: StoreStep,
}

/// The outcome of a step.
#[derive(Debug)]
pub struct Outcome<K> {
    /// The source of the step.
    pub of: K,
    /// The result. Dropping it discards an unfinished upload.
    pub result: Result<Stored, StoreError>,
}

impl<K: Send + 'static> StoreThreads<K> {
    /// Threads that store to `store`; none is started yet.
    ///
    /// # Errors
    /// As [`Waker::new`].
    pub fn new(store: Store) -> io::Result<StoreThreads<K>> {
        let shared = Shared { store, outcomes: Mutex::default(), waker: Waker::new()? };
        Ok(StoreThreads { pool: ThreadPool::default(), shared: Arc::new(shared) })
    }

    /// Queues a step; the first one of a file names its path. An outcome follows.
    pub fn step(&mut self, of: K, path: Box<[u8]>, step: StoreStep) {
        let waiting = self.pool.push([Job { of, path, step }]);
        if waiting > 0 && self.pool.threads() < THREADS_MAX {
            let shared = Arc::clone(&self.shared);
            let started = self.pool.start("store", move |job| shared.store(job));
            // Threads that exist already will take it later.
            if started.is_err() && self.pool.threads() == 0 {
                for Job { of, .. } in self.pool.take_back() {
                    self.shared.report(Outcome { of, result: Err(StoreError::Failed) });
                }
            }
        }
    }

    /// The outcomes since the last call.
    pub fn take(&self) -> Vec<Outcome<K>> {
        self.shared.waker.reset();
        std::mem::take(&mut *self.shared.outcomes())
    }
}

impl<K> Shared<K> {
    fn store(&self, Job { of, path, mut step }: Job<K>) {
        let result = self.store.store(&path, &mut step);
        self.report(Outcome { of, result });
    }

    fn report(&self, outcome: Outcome<K>) {
        let mut outcomes = self.outcomes();
        let is_first = outcomes.is_empty();
        outcomes.push(outcome);
        drop(outcomes);
        if is_first {
            self.waker.wake();
        }
    }

    fn outcomes(&self) -> MutexGuard<'_, Vec<Outcome<K>>> {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> AsFd for StoreThreads<K> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.waker.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;
    use crate::store::{Acknowledged, Maildir};

    fn storing(dir: &Path) -> StoreThreads<usize> {
        StoreThreads::new(Store::Maildir(Maildir::open(dir, Acknowledged::OnDisk).unwrap())).unwrap()
    }

    /// Waits as a loop does, by the descriptor, for this many outcomes.
    fn outcomes(storing: &StoreThreads<usize>, count: usize) -> BTreeMap<usize, Result<Stored, StoreError>> {
        let end = Instant::now() + Duration::from_secs(60);
        let mut outcomes = BTreeMap::new();
        while outcomes.len() < count {
            let second = Timespec { tv_sec: 1, tv_nsec: 0 };
            poll(&mut [PollFd::new(storing, PollFlags::IN)], Some(&second)).unwrap();
            outcomes.extend(storing.take().into_iter().map(|outcome| (outcome.of, outcome.result)));
            assert!(Instant::now() < end, "{} of {count} outcomes", outcomes.len());
        }
        outcomes
    }

    fn names(dir: &Path) -> usize {
        std::fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn every_step_has_its_outcome_and_no_more_threads_do_them_than_may() {
        let dir = tempfile::tempdir().unwrap();
        let mut storing = storing(dir.path());
        for of in 0..200 {
            storing.step(of, Box::default(), StoreStep { bytes: b"begun ".to_vec(), ..StoreStep::default() });
        }
        for (of, result) in outcomes(&storing, 200) {
            let Ok(Stored::Begun(upload)) = result else { panic!("step {of}: {result:?}") };
            let step = StoreStep { upload: Some(upload), bytes: b"and ended".to_vec(), is_last: true };
            storing.step(of, Box::default(), step);
        }
        assert!(outcomes(&storing, 200).values().all(|result| matches!(result, Ok(Stored::Done(_)))));
        assert!((1..=THREADS_MAX).contains(&storing.pool.threads()), "{} threads", storing.pool.threads());
        assert_eq!((names(&dir.path().join("tmp")), names(&dir.path().join("new"))), (0, 200));
    }

    #[test]
    fn nothing_is_left_of_what_was_not_finished() {
        let dir = tempfile::tempdir().unwrap();
        let mut storing = storing(dir.path());
        for of in 0..50 {
            storing.step(of, Box::default(), StoreStep { bytes: b"half".to_vec(), ..StoreStep::default() });
        }
        drop(storing);
        assert_eq!((names(&dir.path().join("tmp")), names(&dir.path().join("new"))), (0, 0));
    }
}
