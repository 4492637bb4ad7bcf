//! Threads that store for a loop, which must not wait for the disk.
//!
//! A worker with one connection (`thread`, `fork`, `pool`) stores by itself and holds up nobody else, and so does the pool
//! of `hybrid`; `tokio` has threads of its own for what blocks. All other loops, and the data process of `relay`, hand
//! every step to these threads and hear of its outcome through a descriptor.
//!
//! They are several because synchronisations that wait at the same time may share one commit of the file system's
//! journal. A thread is started when a step finds all of them at work, up to [`THREADS_MAX`].
//!
//! What they hold is bounded by the connections: each has one step under way.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use pitot_proto::{DeliverError, Delivery};
use pitot_sys::Waker;

use crate::depot::{Depot, Stored};

/// Threads of one loop at most.
const THREADS_MAX: usize = 16;

/// The threads, as their loop sees them. `K` is what it calls the source of a step by.
#[derive(Debug)]
pub struct Storing<K> {
    shared: Arc<Shared<K>>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared<K> {
    depot: Depot,
    jobs: Mutex<Jobs<K>>,
    more: Condvar,
    outcomes: Mutex<Vec<Outcome<K>>>,
    waker: Waker,
}

#[derive(Debug)]
struct Jobs<K> {
    queue: VecDeque<Job<K>>,
    /// Threads that wait for a job.
    idle: usize,
    closing: bool,
}

#[derive(Debug)]
struct Job<K> {
    of: K,
    path: Box<[u8]>,
    delivery: Delivery,
}

/// What has become of a step.
#[derive(Debug)]
pub struct Outcome<K> {
    /// Whose it was.
    pub of: K,
    /// What it came to. To drop it is to throw away what is not finished.
    pub result: Result<Stored, DeliverError>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Send + 'static> Storing<K> {
    /// Threads that store in this place; none is started yet.
    ///
    /// # Errors
    /// As [`Waker::new`].
    pub fn new(depot: Depot) -> io::Result<Storing<K>> {
        let shared = Shared {
            depot,
            jobs: Mutex::new(Jobs { queue: VecDeque::new(), idle: 0, closing: false }),
            more: Condvar::new(),
            outcomes: Mutex::default(),
            waker: Waker::new()?,
        };
        Ok(Storing { shared: Arc::new(shared), threads: Vec::new() })
    }

    /// Has a step done, the first of which names the path of a file. An outcome follows.
    pub fn step(&mut self, of: K, path: Box<[u8]>, delivery: Delivery) {
        let mut jobs = lock(&self.shared.jobs);
        jobs.queue.push_back(Job { of, path, delivery });
        let all_at_work = jobs.queue.len() > jobs.idle;
        drop(jobs);
        self.shared.more.notify_one();
        if all_at_work && self.threads.len() < THREADS_MAX {
            self.start_thread();
        }
    }

    /// The outcomes since the last call.
    pub fn take(&self) -> Vec<Outcome<K>> {
        self.shared.waker.reset();
        std::mem::take(&mut *lock(&self.shared.outcomes))
    }

    fn start_thread(&mut self) {
        let shared = Arc::clone(&self.shared);
        match thread::Builder::new().name("store".into()).spawn(move || work(&shared)) {
            Ok(thread) => self.threads.push(thread),
            // The others do it later.
            Err(_) if !self.threads.is_empty() => {}
            Err(_) => {
                for Job { of, .. } in std::mem::take(&mut lock(&self.shared.jobs).queue) {
                    self.shared.tell(Outcome { of, result: Err(DeliverError::Failed) });
                }
            }
        }
    }
}

impl<K> Shared<K> {
    fn tell(&self, outcome: Outcome<K>) {
        let mut outcomes = lock(&self.outcomes);
        let is_first = outcomes.is_empty();
        outcomes.push(outcome);
        drop(outcomes);
        if is_first {
            self.waker.wake();
        }
    }
}

impl<K> AsFd for Storing<K> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.waker.as_fd()
    }
}

impl<K> Drop for Storing<K> {
    /// Throws away what waits, lets the threads finish what they are at, and ends them.
    fn drop(&mut self) {
        let mut jobs = lock(&self.shared.jobs);
        jobs.closing = true;
        jobs.queue.clear();
        drop(jobs);
        self.shared.more.notify_all();
        for thread in self.threads.drain(..) {
            // One that has panicked has been reported by the panic itself.
            let _ = thread.join();
        }
    }
}

fn work<K>(shared: &Shared<K>) {
    let mut jobs = lock(&shared.jobs);
    loop {
        if let Some(Job { of, path, mut delivery }) = jobs.queue.pop_front() {
            drop(jobs);
            let result = shared.depot.store(&path, &mut delivery);
            shared.tell(Outcome { of, result });
            jobs = lock(&shared.jobs);
        } else if jobs.closing {
            return;
        } else {
            jobs.idle += 1;
            jobs = shared.more.wait(jobs).unwrap_or_else(PoisonError::into_inner);
            jobs.idle -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;
    use crate::maildir::Maildir;

    fn storing(dir: &Path) -> Storing<usize> {
        Storing::new(Depot::Maildir(Maildir::open(dir).unwrap())).unwrap()
    }

    /// Waits as a loop does, by the descriptor, for this many outcomes.
    fn outcomes(storing: &Storing<usize>, count: usize) -> BTreeMap<usize, Result<Stored, DeliverError>> {
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
            storing.step(of, Box::default(), Delivery { bytes: b"begun ".to_vec(), ..Delivery::default() });
        }
        for (of, result) in outcomes(&storing, 200) {
            let Ok(Stored::Going(parcel)) = result else { panic!("step {of}: {result:?}") };
            let delivery = Delivery { parcel: Some(parcel), bytes: b"and ended".to_vec(), is_last: true };
            storing.step(of, Box::default(), delivery);
        }
        assert!(outcomes(&storing, 200).values().all(|result| matches!(result, Ok(Stored::Done(_)))));
        assert!((1..=THREADS_MAX).contains(&storing.threads.len()), "{} threads", storing.threads.len());
        assert_eq!((names(&dir.path().join("tmp")), names(&dir.path().join("new"))), (0, 200));
    }

    #[test]
    fn nothing_is_left_of_what_was_not_finished() {
        let dir = tempfile::tempdir().unwrap();
        let mut storing = storing(dir.path());
        for of in 0..50 {
            storing.step(of, Box::default(), Delivery { bytes: b"half".to_vec(), ..Delivery::default() });
        }
        drop(storing);
        assert_eq!((names(&dir.path().join("tmp")), names(&dir.path().join("new"))), (0, 0));
    }
}
