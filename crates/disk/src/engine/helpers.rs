//! A bounded pool of helper threads that execute requests. The first thread is started with the pool, so that a limit on threads
//! is reported when the engine is opened, the others when requests find all of them busy.
//!
//! The caller stages requests and hands them over at `commit` under one lock. Helpers append completions to a list and notify if
//! the list was empty, so a burst of completions costs one notification. Both hand-overs are the cost of such a pool over a plain
//! pread, and are measured.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pitot_sys::disk::Wait;
use pitot_sys::{ThreadPool, Unavailable};

use super::notifier::Notifier;
use crate::{Completion, DiskOp, EngineOptions, Queued};

/// A request, and how many of its bytes are moved already.
struct Job {
    operation: DiskOp,
    done: usize,
}

/// Executes a request of which the given number of bytes are moved already.
pub(super) type Execute = fn(&mut DiskOp, usize) -> io::Result<usize>;

/// What the threads have completed.
struct Done {
    completions: Mutex<Vec<Completion>>,
    notifier: Notifier,
}

/// The threads and what they share with their one user.
pub(super) struct Helpers {
    pool: ThreadPool<Job>,
    threads_max: usize,
    execute: Execute,
    done: Arc<Done>,
    staged: Vec<Job>,
    in_flight: usize,
    depth: usize,
}

impl Helpers {
    pub(super) fn new(options: &EngineOptions, execute: Execute) -> Result<Helpers, Unavailable> {
        let depth = options.depth as usize;
        let done = Arc::new(Done {
            completions: Mutex::new(Vec::with_capacity(depth)),
            notifier: Notifier::new(options.notify)?,
        });
        let mut helpers = Helpers {
            pool: ThreadPool::default(),
            threads_max: options.threads as usize,
            execute,
            done,
            staged: Vec::with_capacity(depth),
            in_flight: 0,
            depth,
        };
        helpers.start_thread().map_err(|e| Unavailable {
            what: format!("a pool of {} threads", options.threads),
            cause: format!("cannot start a thread: {e}"),
            fix: "raise the limit: ulimit -u".into(),
        })?;
        Ok(helpers)
    }

    fn start_thread(&mut self) -> io::Result<()> {
        let (execute, done) = (self.execute, Arc::clone(&self.done));
        self.pool.start("disk", move |Job { mut operation, done: moved }| {
            let result = execute(&mut operation, moved);
            done.push(Completion { operation, result });
        })
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
        let waiting = self.pool.push(self.staged.drain(..));
        for _ in 0..waiting.min(self.threads_max.saturating_sub(self.pool.threads())) {
            if self.start_thread().is_err() {
                // Those that are running do it later.
                break;
            }
        }
    }

    pub(super) fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.commit();
        loop {
            let mut completions = self.done.completions();
            if !completions.is_empty() {
                self.in_flight -= completions.len();
                done.append(&mut completions);
                // Under the lock, so that the notification for what comes next is not drained with this one.
                self.done.notifier.drain();
                return Ok(());
            }
            drop(completions);
            if wait == Wait::No || self.in_flight == 0 {
                return Ok(());
            }
            self.done.notifier.wait()?;
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn completion_fd(&self) -> BorrowedFd<'_> {
        self.done.notifier.as_fd()
    }
}

impl Done {
    fn push(&self, completion: Completion) {
        let mut completions = self.completions();
        let is_first = completions.is_empty();
        completions.push(completion);
        if is_first {
            self.notifier.notify();
        }
    }

    fn completions(&self) -> MutexGuard<'_, Vec<Completion>> {
        self.completions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
