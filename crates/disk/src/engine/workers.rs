//! A bounded pool of threads that carry requests out.
//!
//! The caller stages requests and hands them over at `commit` under one lock; workers put what is done on a list and
//! ring the bell when the list was empty, so a burst of completions costs one ring. Both hand-overs are what such a
//! pool costs over a plain pread, and they are meant to be measured, not hidden.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use pitot_sys::Unavailable;
use pitot_sys::disk::Wait;

use super::bell::Bell;
use crate::{Completion, DiskOp, EngineOptions, Queued};

/// A request and how many of its bytes somebody else has moved already.
struct Job {
    operation: DiskOp,
    done: usize,
}

/// How a worker carries a request out, of which the given number of bytes are moved already.
pub(super) type Execute = fn(&mut DiskOp, usize) -> io::Result<usize>;

struct Shared {
    execute: Execute,
    queue: Mutex<Queue>,
    work: Condvar,
    done: Mutex<Vec<Completion>>,
    bell: Bell,
}

struct Queue {
    jobs: VecDeque<Job>,
    /// Workers that wait for a job.
    idle: usize,
    closing: bool,
}

/// The threads and what they share with their one user.
pub(super) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    staged: Vec<Job>,
    in_flight: usize,
    depth: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Workers {
    pub(super) fn new(options: &EngineOptions, execute: Execute) -> Result<Workers, Unavailable> {
        let depth = options.depth as usize;
        let shared = Arc::new(Shared {
            execute,
            queue: Mutex::new(Queue { jobs: VecDeque::with_capacity(depth), idle: 0, closing: false }),
            work: Condvar::new(),
            done: Mutex::new(Vec::with_capacity(depth)),
            bell: Bell::new(options.told)?,
        });
        let mut workers = Workers {
            shared,
            threads: Vec::with_capacity(options.threads as usize),
            staged: Vec::with_capacity(depth),
            in_flight: 0,
            depth,
        };
        for _ in 0..options.threads {
            let shared = Arc::clone(&workers.shared);
            let thread = std::thread::Builder::new().name("disk".into()).spawn(move || work(&shared));
            workers.threads.push(thread.map_err(|e| Unavailable {
                what: format!("a pool of {} threads", options.threads),
                cause: format!("a thread could not be started: {e}"),
                cure: "ask for fewer threads, or raise the limit: ulimit -u".into(),
            })?);
        }
        Ok(workers)
    }

    pub(super) fn queue(&mut self, operation: DiskOp, done: usize) -> Queued {
        if self.in_flight == self.depth {
            return Queued::Full(operation);
        }
        self.in_flight += 1;
        self.staged.push(Job { operation, done });
        Queued::InFlight
    }

    pub(super) fn commit(&mut self) {
        if self.staged.is_empty() {
            return;
        }
        let mut queue = lock(&self.shared.queue);
        let wake = queue.idle.min(self.staged.len());
        queue.jobs.extend(self.staged.drain(..));
        assert!(queue.jobs.len() <= self.depth, "the queue is bounded by the depth");
        drop(queue);
        for _ in 0..wake {
            self.shared.work.notify_one();
        }
    }

    pub(super) fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.commit();
        loop {
            let mut finished = lock(&self.shared.done);
            if !finished.is_empty() {
                self.in_flight -= finished.len();
                done.append(&mut finished);
                // Under the lock, so that a ring for what comes next is not silenced with this one.
                self.shared.bell.silence();
                return Ok(());
            }
            drop(finished);
            if wait == Wait::No || self.in_flight == 0 {
                return Ok(());
            }
            self.shared.bell.wait()?;
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn completion_fd(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }
}

fn work(shared: &Shared) {
    let mut queue = lock(&shared.queue);
    loop {
        if let Some(Job { mut operation, done }) = queue.jobs.pop_front() {
            drop(queue);
            let result = (shared.execute)(&mut operation, done);
            let mut finished = lock(&shared.done);
            let first = finished.is_empty();
            finished.push(Completion { operation, result });
            if first {
                shared.bell.ring();
            }
            drop(finished);
            queue = lock(&shared.queue);
        } else if queue.closing {
            return;
        } else {
            queue.idle += 1;
            queue = shared.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }
}

impl Drop for Workers {
    /// Drops what waits, lets the workers finish what they are at, and ends them.
    fn drop(&mut self) {
        let mut queue = lock(&self.shared.queue);
        queue.closing = true;
        queue.jobs.clear();
        drop(queue);
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A worker that has panicked has been reported by the panic itself.
            let _ = thread.join();
        }
    }
}
