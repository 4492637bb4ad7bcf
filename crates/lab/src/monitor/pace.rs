//! The pace of the server's CPUs: how long a fixed piece of work takes there.
//!
//! The same code takes twice the CPU time while another machine uses the other thread of the same core, and longer while the clock of the
//! core is low. None of it is steal, and within a guest no counter shows it. So a thread on each of the server's CPUs works for some
//! microseconds in each millisecond, and measures what it takes. What servers used at different paces can then be compared as if it
//! were one (`pitot_stats::Paced`). What it measures must not depend on the server that runs beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pitot_meter::FixedWork;

/// Time between two pieces of work.
const INTERVAL: Duration = Duration::from_millis(1);
/// A piece that takes so many times the shortest so far was disturbed, and counts as so many.
const TIMES_MAX: u64 = 4;

/// Pieces of work, and what they took.
#[derive(Debug, Default)]
struct Worked {
    pieces: AtomicU64,
    took_ns: AtomicU64,
    ends: AtomicBool,
}

/// The sums at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pace {
    pieces: u64,
    took_ns: u64,
}

impl Pace {
    /// What a pacer has done so far; nothing if there is none.
    pub(crate) fn of(pacer: Option<&Pacer>) -> Pace {
        pacer.map(Pacer::now).unwrap_or_default()
    }

    /// The mean time of a piece since an earlier moment; none if there was none.
    pub(crate) fn since(self, earlier: Pace) -> Option<u64> {
        (self.took_ns - earlier.took_ns).checked_div(self.pieces - earlier.pieces)
    }
}

/// Threads that measure the pace of some CPUs for as long as it exists.
#[derive(Debug)]
pub(crate) struct Pacer {
    worked: Arc<Worked>,
    threads: Vec<JoinHandle<()>>,
}

impl Pacer {
    /// Starts one thread for each CPU.
    pub(crate) fn start(cpus: &[usize]) -> Pacer {
        let worked = Arc::new(Worked::default());
        let start = |&cpu: &usize| {
            let worked = Arc::clone(&worked);
            thread::Builder::new().name("pace".into()).spawn(move || work(cpu, &worked)).ok()
        };
        Pacer { threads: cpus.iter().filter_map(start).collect(), worked }
    }

    fn now(&self) -> Pace {
        // A piece that ends in between is in one of the two sums: an error of one piece in all of a slice.
        Pace {
            pieces: self.worked.pieces.load(Ordering::Acquire),
            took_ns: self.worked.took_ns.load(Ordering::Acquire),
        }
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.worked.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Works on a CPU until the end.
fn work(cpu: usize, worked: &Worked) {
    if pitot_sys::affinity::pin(&[cpu]).is_err() {
        return;
    }
    let mut fixed = FixedWork::default();
    let mut shortest_ns = u64::MAX;
    while !worked.ends.load(Ordering::Relaxed) {
        let piece_ns = fixed.piece().0.max(1);
        shortest_ns = shortest_ns.min(piece_ns);
        worked.took_ns.fetch_add(piece_ns.min(shortest_ns * TIMES_MAX), Ordering::Release);
        worked.pieces.fetch_add(1, Ordering::Release);
        thread::sleep(INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_the_mean_time_of_the_pieces_since_a_moment() {
        let at = |pieces, took_ns| Pace { pieces, took_ns };
        assert_eq!(at(5, 20_000).since(at(3, 12_000)), Some(4_000));
        assert_eq!(at(3, 12_000).since(at(3, 12_000)), None);
    }

    #[test]
    fn the_threads_work_on_every_cpu_until_the_end() {
        let cpus = pitot_sys::affinity::allowed().unwrap();
        let pacer = Pacer::start(&cpus);
        let begin = pacer.now();
        while pacer.now().pieces < begin.pieces + 20 {
            thread::yield_now();
        }
        let piece_ns = pacer.now().since(begin).unwrap();
        assert!((100..1_000_000).contains(&piece_ns), "{piece_ns}");
        let worked = Arc::clone(&pacer.worked);
        drop(pacer);
        assert_eq!(Arc::strong_count(&worked), 1, "a thread is left");
    }
}
