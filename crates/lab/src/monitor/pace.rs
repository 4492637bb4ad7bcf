//! The pace of the server's CPUs: how long a fixed piece of work takes there.
//!
//! The same code takes twice the CPU time while another machine uses the other thread of the same core, and longer while the clock of the
//! core is low. A third more it takes while the host runs the CPU of the load on a core that shares no cache with the server's. None of it
//! is steal, and within a guest no counter shows it. So a thread on each of the server's CPUs works for some microseconds in each
//! millisecond, with messages that another one has just written on a CPU of the load, and measures what it takes. What it did is taken
//! out of ratios (`pitot_stats::Undisturbed`), so that it must not depend on the server that runs beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pitot_meter::{FixedWork, Messages};

/// Time between two pieces of work, and between two writings of messages.
const INTERVAL: Duration = Duration::from_millis(1);
/// How long after messages are due a piece begins: long enough to wake the thread that writes them, and too short for them to leave its
/// cache.
const READ_AFTER: Duration = Duration::from_micros(100);
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
    /// Starts one thread for each CPU of the server, and one that sends it messages from a CPU of the load.
    pub(crate) fn start(server: &[usize], load: &[usize]) -> Pacer {
        let worked = Arc::new(Worked::default());
        let pair = |(&server, &load): (&usize, &usize)| {
            let messages = Arc::new(Messages::default());
            let (written, until) = (Arc::clone(&messages), Arc::clone(&worked));
            let worked = Arc::clone(&worked);
            [spawn(load, move || write(&written, &until)), spawn(server, move || work(&messages, &worked))]
        };
        let threads = server.iter().zip(load.iter().cycle()).flat_map(pair).flatten().collect();
        Pacer { threads, worked }
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

/// Starts a thread on a CPU, which ends at once where it may not run there.
fn spawn(cpu: usize, body: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    let pinned = move || pitot_sys::affinity::pin(&[cpu]).map_or((), |()| body());
    thread::Builder::new().name("pace".into()).spawn(pinned).ok()
}

/// Sleeps until so much of the next interval is over. All threads count intervals from the same moment.
fn sleep_until(part: Duration) {
    let interval = INTERVAL.as_nanos() as u64;
    let over = (pitot_meter::now().0 + interval - part.as_nanos() as u64) % interval;
    thread::sleep(Duration::from_nanos(interval - over));
}

/// Writes messages until the end.
fn write(messages: &Messages, worked: &Worked) {
    while !worked.ends.load(Ordering::Relaxed) {
        messages.write();
        sleep_until(Duration::ZERO);
    }
}

/// Works until the end.
fn work(messages: &Messages, worked: &Worked) {
    let mut fixed = FixedWork::default();
    let mut shortest_ns = u64::MAX;
    while !worked.ends.load(Ordering::Relaxed) {
        if let Some(piece) = fixed.piece(messages) {
            let piece_ns = piece.0.max(1);
            shortest_ns = shortest_ns.min(piece_ns);
            worked.took_ns.fetch_add(piece_ns.min(shortest_ns * TIMES_MAX), Ordering::Release);
            worked.pieces.fetch_add(1, Ordering::Release);
        }
        sleep_until(READ_AFTER);
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
        let pacer = Pacer::start(&cpus, &cpus);
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
