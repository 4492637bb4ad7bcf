//! The pairs to be tested, and how their cells share the machine.

use std::panic::{self, AssertUnwindSafe};
use std::process::Command;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::thread;

use serde::Deserialize;

use crate::support::PITOT;

/// A model with a mechanism.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Pair {
    pub(crate) model: String,
    pub(crate) mechanism: String,
    usable: bool,
}

impl Pair {
    /// A pair by its names, which is thought to be usable.
    pub(crate) fn named(model: &str, mechanism: &str) -> Pair {
        Pair { model: model.to_owned(), mechanism: mechanism.to_owned(), usable: true }
    }

    /// Whether each connection, or each few, has a process of its own.
    pub(crate) fn has_processes(&self) -> bool {
        matches!(self.model.as_str(), "fork" | "spawn" | "prefork" | "preloop" | "relay")
    }

    /// There are as many processes as connections.
    pub(crate) fn has_process_per_connection(&self) -> bool {
        matches!(self.model.as_str(), "fork" | "spawn")
    }

    /// A worker serves one connection at a time, so that only as many are served at once as there are workers.
    pub(crate) fn serves_one_connection_per_worker(&self) -> bool {
        matches!(self.model.as_str(), "prefork" | "pool")
    }
}

impl std::fmt::Display for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.model, self.mechanism)
    }
}

/// All pairs that the program says are usable here.
pub(crate) fn usable() -> &'static [Pair] {
    static PAIRS: OnceLock<Vec<Pair>> = OnceLock::new();
    PAIRS.get_or_init(|| {
        let list = Command::new(PITOT).args(["list", "pairs", "--format", "json"]).output();
        let list = list.expect("the program runs");
        assert!(list.status.success(), "{list:?}");
        let mut pairs: Vec<Pair> = serde_json::from_slice(&list.stdout).expect("a list in JSON");
        pairs.retain(|pair| pair.usable);
        if let Ok(wanted) = std::env::var("PITOT_PAIRS") {
            pairs.retain(|pair| wanted.split(',').any(|name| name == pair.to_string()));
        }
        assert!(!pairs.is_empty(), "there is no pair to test");
        pairs
    })
}

/// A part of the pairs in which every model and every mechanism is: the simplest loop with each mechanism, and every other model with
/// one or two. Their code is that of all pairs, for what a connection or its protocol decides above both.
const COVERING: [(&str, &str); 20] = [
    ("fork", "blocking"),
    ("spawn", "blocking"),
    ("prefork", "blocking"),
    ("thread", "blocking"),
    ("pool", "blocking"),
    ("loop", "select"),
    ("loop", "poll"),
    ("loop", "sigio"),
    ("loop", "epoll-lt"),
    ("loop", "epoll-oneshot"),
    ("loop", "epoll-et"),
    ("loop", "epoll-busy"),
    ("loop", "uring"),
    ("loops", "epoll-oneshot"),
    ("handoff", "uring"),
    ("preloop", "select"),
    ("hybrid", "poll"),
    ("hybrid", "epoll-et"),
    ("relay", "epoll-lt"),
    ("tokio", "epoll-et"),
];

/// What a cell does most of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// It keeps a CPU busy for a good part of its time.
    Works,
    /// It waits for timeouts, or for what the kernel does at its leisure where a window is small.
    Waits,
}

/// Runs `test` for every usable pair, a few at a time.
pub(crate) fn on_every_pair(cell: Cell, test: impl Fn(&Pair) + Sync) {
    on_pairs(cell, usable().iter().collect(), test);
}

/// Runs `test` for the usable ones of the covering pairs, a few at a time.
pub(crate) fn on_covering_pairs(cell: Cell, test: impl Fn(&Pair) + Sync) {
    let is_one = |pair: &&Pair| COVERING.contains(&(&pair.model, &pair.mechanism));
    on_pairs(cell, usable().iter().filter(is_one).collect(), test);
}

#[test]
fn the_covering_pairs_have_every_model_and_every_mechanism() {
    for model in pitot_serve::MODELS {
        assert!(COVERING.iter().any(|(name, _)| *name == model.name), "{}", model.name);
    }
    for mechanism in pitot_serve::MECHANISMS {
        assert!(COVERING.iter().any(|(_, name)| *name == mechanism.name), "{}", mechanism.name);
    }
}

/// Runs `test` for every usable pair of a model with processes, a few at a time.
pub(crate) fn on_every_process_model(cell: Cell, test: impl Fn(&Pair) + Sync) {
    on_pairs(cell, usable().iter().filter(|pair| pair.has_processes()).collect(), test);
}

fn on_pairs(cell: Cell, pairs: Vec<&Pair>, test: impl Fn(&Pair) + Sync) {
    on_these(cell, pairs.into_iter().map(|pair| (pair.to_string(), pair)).collect(), test);
}

/// Runs `test` for all of these, each with its name, a few at a time.
pub(crate) fn on_these<T: Send>(cell: Cell, these: Vec<(String, T)>, test: impl Fn(T) + Sync) {
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for (name, this) in these {
            let (test, failed) = (&test, &failed);
            let in_thread = name.clone();
            let run = move || {
                let _permit = semaphore(cell).take();
                if panic::catch_unwind(AssertUnwindSafe(|| test(this))).is_err() {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).push(in_thread);
                }
            };
            // A panic prints the name of its thread.
            thread::Builder::new().name(name).spawn_scoped(scope, run).expect("a thread");
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(failed.is_empty(), "{} failed: {}", failed.len(), failed.join(", "));
}

/// A semaphore that limits the cells that run at once, over all tests.
struct Semaphore {
    free: Mutex<usize>,
    more: Condvar,
}

struct Permit(&'static Semaphore);

fn semaphore(cell: Cell) -> &'static Semaphore {
    static WORKING: OnceLock<Semaphore> = OnceLock::new();
    static WAITING: OnceLock<Semaphore> = OnceLock::new();
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let (semaphore, count) = match cell {
        Cell::Works => (&WORKING, cpus * 2),
        Cell::Waits => (&WAITING, cpus * 6),
    };
    semaphore.get_or_init(|| Semaphore { free: Mutex::new(count), more: Condvar::new() })
}

impl Semaphore {
    fn take(&'static self) -> Permit {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.more.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Permit(self)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.more.notify_one();
    }
}
