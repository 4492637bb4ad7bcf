//! The queues between an event loop and a pool of threads.
//!
//! The cost of the model `hybrid` is that of its hand-overs, so only sleeping threads are woken: the loop hands over all
//! connections of one wait at once and wakes as many threads as they need; a thread notifies the loop only if the loop
//! has something to do for the connection, and only once until the loop has taken the returned connections.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pitot_sys::{Token, Waker};

use crate::socket::{SocketConnection, Turn};

/// The two queues. Both are bounded by the number of connections.
#[derive(Debug)]
pub struct WorkQueue {
    jobs: Mutex<Jobs>,
    more: Condvar,
    back: Mutex<Back>,
    /// Notified when all connections are back, for a loop that waits for that.
    all_back: Condvar,
    returned: Waker,
}

#[derive(Debug, Default)]
struct Jobs {
    queue: VecDeque<Job>,
    /// Sleeping threads that have not been woken.
    asleep: usize,
    stopping: bool,
    closed: bool,
}

#[derive(Debug, Default)]
struct Back {
    done: Vec<Done>,
    /// Connections that threads have.
    away: usize,
    /// True if the loop waits until all connections are back.
    awaited: bool,
    /// Connections of threads that the loop waits for, since their sockets have reported events.
    wanted: Vec<Token>,
    /// True if the loop has been notified and has not yet taken the returned connections.
    notified: bool,
}

/// A connection that needs a turn.
#[derive(Debug)]
pub struct Job {
    /// Its name in the loop.
    pub token: Token,
    /// The connection.
    pub connection: SocketConnection,
    /// True if the mechanism watches it, so that the loop has nothing to do if it waits for input again.
    pub is_watched: bool,
}

/// A connection that had a turn.
#[derive(Debug)]
pub struct Done {
    /// Its name in the loop.
    pub token: Token,
    /// The connection.
    pub connection: SocketConnection,
    /// What it waits for.
    pub turn: Turn,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WorkQueue {
    /// Two empty queues.
    ///
    /// # Errors
    /// As [`Waker::new`].
    pub fn new() -> io::Result<WorkQueue> {
        Ok(WorkQueue {
            jobs: Mutex::default(),
            more: Condvar::new(),
            back: Mutex::default(),
            all_back: Condvar::new(),
            returned: Waker::new()?,
        })
    }

    /// Hands connections to the threads.
    pub fn give(&self, batch: &mut Vec<Job>) {
        if batch.is_empty() {
            return;
        }
        lock(&self.back).away += batch.len();
        let mut jobs = lock(&self.jobs);
        let wake = jobs.asleep.min(batch.len());
        jobs.asleep -= wake;
        jobs.queue.extend(batch.drain(..));
        drop(jobs);
        (0..wake).for_each(|_| self.more.notify_one());
    }

    /// The next job and whether the server is stopping, or `None` if there will be no more.
    pub fn take(&self) -> Option<(Job, bool)> {
        let mut jobs = lock(&self.jobs);
        loop {
            if let Some(job) = jobs.queue.pop_front() {
                return Some((job, jobs.stopping));
            }
            if jobs.closed {
                return None;
            }
            jobs.asleep += 1;
            jobs = self.more.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns a connection. `needs_loop` is true if the loop has to do something for it.
    pub fn give_back(&self, done: Done, needs_loop: bool) {
        let mut back = lock(&self.back);
        let index = back.wanted.iter().position(|token| *token == done.token);
        let wanted = index.map(|index| back.wanted.swap_remove(index)).is_some();
        back.done.push(done);
        back.away -= 1;
        if back.awaited {
            if back.away == 0 {
                self.all_back.notify_one();
            }
        } else if (needs_loop || wanted) && !back.notified {
            back.notified = true;
            self.returned.wake();
        }
    }

    /// Takes the returned connections. `notified` is true if the loop was woken for them.
    pub fn take_back(&self, notified: bool) -> Vec<Done> {
        let mut back = lock(&self.back);
        if notified {
            self.returned.reset();
            back.notified = false;
        }
        std::mem::take(&mut back.done)
    }

    /// True if a thread has a connection, or has returned one that the loop has not taken yet.
    pub fn has_connections(&self) -> bool {
        let back = lock(&self.back);
        back.away > 0 || !back.done.is_empty()
    }

    /// Makes a thread notify the loop when it returns this connection. False if it has been returned already.
    pub fn want(&self, token: Token) -> bool {
        let mut back = lock(&self.back);
        if back.done.iter().any(|done| done.token == token) {
            return false;
        }
        if !back.wanted.contains(&token) {
            back.wanted.push(token);
        }
        true
    }

    /// Waits a moment until all connections are back.
    pub fn await_all(&self, at_most: Duration) {
        let mut back = lock(&self.back);
        back.awaited = back.away > 0;
        if back.awaited {
            let waited = self.all_back.wait_timeout_while(back, at_most, |back| back.away > 0);
            back = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        back.awaited = false;
    }

    /// Notes that the server is stopping, which the threads see with their next job.
    pub fn stop(&self) {
        lock(&self.jobs).stopping = true;
    }

    /// Ends the threads once the queue is empty.
    pub fn close(&self) {
        lock(&self.jobs).closed = true;
        self.more.notify_all();
    }
}

impl AsFd for WorkQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.returned.as_fd()
    }
}
