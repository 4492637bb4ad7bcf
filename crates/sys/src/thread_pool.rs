//! A pool of threads with one queue.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Threads, started one by one, that share a queue of jobs `J` and take them in order. The pool reports no results: that
/// is left to what the threads do with a job.
#[derive(Debug)]
pub struct ThreadPool<J> {
    shared: Arc<Shared<J>>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared<J> {
    queue: Mutex<Queue<J>>,
    more: Condvar,
}

#[derive(Debug)]
struct Queue<J> {
    jobs: VecDeque<J>,
    /// Threads that wait for a job.
    idle: usize,
    closing: bool,
}

impl<J> Shared<J> {
    fn queue(&self) -> MutexGuard<'_, Queue<J>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J> Default for ThreadPool<J> {
    /// A pool that has no threads yet.
    fn default() -> ThreadPool<J> {
        let queue = Queue { jobs: VecDeque::new(), idle: 0, closing: false };
        ThreadPool {
            shared: Arc::new(Shared { queue: Mutex::new(queue), more: Condvar::new() }),
            threads: Vec::new(),
        }
    }
}

impl<J> ThreadPool<J> {
    /// Adds a thread that calls `work` with every job it takes.
    ///
    /// # Errors
    /// EAGAIN, ENOMEM.
    pub fn start(&mut self, name: &str, work: impl FnMut(J) + Send + 'static) -> io::Result<()>
    where
        J: Send + 'static,
    {
        let shared = Arc::clone(&self.shared);
        self.threads.push(thread::Builder::new().name(name.into()).spawn(move || run(&shared, work))?);
        Ok(())
    }

    /// How many threads were started.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Queues jobs, and wakes as many threads as they need. Returns how many queued jobs exceed the idle threads.
    pub fn push(&self, jobs: impl IntoIterator<Item = J>) -> usize {
        let mut queue = self.shared.queue();
        let before = queue.jobs.len();
        queue.jobs.extend(jobs);
        let (queued, idle) = (queue.jobs.len(), queue.idle);
        drop(queue);
        (0..idle.min(queued - before)).for_each(|_| self.shared.more.notify_one());
        queued.saturating_sub(idle)
    }

    /// Removes and returns the jobs that no thread has taken.
    pub fn take_back(&self) -> VecDeque<J> {
        std::mem::take(&mut self.shared.queue().jobs)
    }
}

impl<J> Drop for ThreadPool<J> {
    /// Drops the queued jobs, lets the threads finish theirs, and joins them.
    fn drop(&mut self) {
        let mut queue = self.shared.queue();
        queue.closing = true;
        queue.jobs.clear();
        drop(queue);
        self.shared.more.notify_all();
        for thread in self.threads.drain(..) {
            // One that has panicked has been reported by the panic itself.
            let _ = thread.join();
        }
    }
}

fn run<J>(shared: &Shared<J>, mut work: impl FnMut(J)) {
    let mut queue = shared.queue();
    loop {
        if let Some(job) = queue.jobs.pop_front() {
            drop(queue);
            work(job);
            queue = shared.queue();
        } else if queue.closing {
            return;
        } else {
            queue.idle += 1;
            queue = shared.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn every_job_is_done_once_and_the_waiting_are_counted() {
        let mut pool = ThreadPool::default();
        assert_eq!(pool.push([0, 1]), 2);
        let (done, results) = mpsc::channel();
        for _ in 0..3 {
            let done = done.clone();
            pool.start("pool", move |job: u32| done.send(job).unwrap()).unwrap();
        }
        pool.push(2..100);
        let mut all: Vec<_> = results.iter().take(100).collect();
        all.sort_unstable();
        assert_eq!((all, pool.threads()), ((0..100).collect(), 3));
    }

    #[test]
    fn what_waits_may_be_taken_back_and_is_dropped_at_the_end() {
        let pool = ThreadPool::default();
        let job = Arc::new(());
        pool.push([Arc::clone(&job)]);
        assert_eq!(pool.take_back().len(), 1);
        assert_eq!(pool.push([Arc::clone(&job), Arc::clone(&job)]), 2);
        drop(pool);
        assert_eq!(Arc::strong_count(&job), 1);
    }

    #[test]
    fn a_job_under_way_is_finished_at_the_end() {
        let mut pool = ThreadPool::default();
        let (begun, begins) = mpsc::channel();
        let (done, ends) = mpsc::channel();
        let work = move |()| {
            begun.send(()).unwrap();
            thread::yield_now();
            done.send(()).unwrap();
        };
        pool.start("pool", work).unwrap();
        pool.push([()]);
        begins.recv().unwrap();
        drop(pool);
        ends.try_recv().unwrap();
    }
}
