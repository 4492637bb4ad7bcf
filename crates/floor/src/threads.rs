//! Many threads of which few are alive at a time.

use std::collections::VecDeque;
use std::io;
use std::thread::JoinHandle;

use pitot_meter::{Nanos, now};

/// The published test: 100,000 threads, at most 50 alive, in 2.3 seconds on two CPUs of 450 MHz (Drepper and Molnar, "The
/// Native POSIX Thread Library for Linux", 2003).
pub const PUBLISHED_CROWD: Crowd = Crowd { threads: 100_000, alive: 50, took: Nanos::from_millis(2300) };

/// Threads that were created and have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// How many.
    pub threads: u32,
    /// How many at most were alive.
    pub alive: u32,
    /// How long it took from the first creation to the last end.
    pub took: Nanos,
}

/// Creates so many threads that do nothing, with at most `alive` of them at a time: before one more is created, the oldest
/// is waited for.
///
/// # Errors
/// EAGAIN: the limit on threads (RLIMIT_NPROC, the pids control group).
pub fn crowd(threads: u32, alive: u32) -> io::Result<Crowd> {
    let begin = now();
    let mut living: VecDeque<JoinHandle<()>> = VecDeque::new();
    for _ in 0..threads {
        if living.len() >= alive.max(1) as usize
            && let Some(oldest) = living.pop_front()
        {
            let _ = oldest.join();
        }
        living.push_back(std::thread::Builder::new().spawn(|| {})?);
    }
    for thread in living {
        let _ = thread.join();
    }
    Ok(Crowd { threads, alive, took: now() - begin })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_come_and_go() {
        let crowd = crowd(200, 50).unwrap();
        assert_eq!((crowd.threads, crowd.alive), (200, 50));
        assert!(crowd.took > Nanos::ZERO);
    }
}
