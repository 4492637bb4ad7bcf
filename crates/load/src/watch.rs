use pitot_meter::{Histogram, Nanos};

use pitot_durability::Acknowledged;
use pitot_results::load::{ErrorRow, Second, Step, Steps};

/// Observes a run, and may end it early.
pub trait Watch {
    /// The measured part has not begun yet. Told a few times a second.
    fn preparing(&mut self, stage: Preparing) {
        let _ = stage;
    }

    /// All connections have been tried. When to start, which must not be before `earliest`; `None` ends the run.
    fn start(&mut self, earliest: Nanos) -> Option<Nanos> {
        Some(earliest)
    }

    /// All connections have been tried, and the measured part will begin then.
    fn measured_from(&mut self, at: Nanos) {
        let _ = at;
    }

    /// A second is over for all threads and processes.
    fn second(&mut self, progress: &Progress<'_>) {
        let _ = progress;
    }

    /// Whether the seconds of the run are kept for its result. A run of days does without.
    fn keeps_seconds(&self) -> bool {
        true
    }

    /// A step of a search is over.
    fn step(&mut self, step: &Step) {
        let _ = step;
    }

    /// True if the user wants the run to end now. Asked a few times a second.
    fn interrupted(&mut self) -> bool {
        false
    }
}

/// What comes before the measured part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparing {
    /// Connections are opened.
    Opening {
        /// Tried so far.
        opened: u64,
        /// All that are opened before the start.
        of: u64,
    },
    /// The load runs and is not measured.
    WarmUp {
        /// Time until the measured part begins.
        left: Nanos,
    },
}

/// How far a run has come.
#[derive(Debug)]
pub struct Progress<'a> {
    /// The second that is over.
    pub second: &'a Second,
    /// The response times of that second.
    pub response: &'a Histogram,
    /// That second in its steps, where they are asked for and the seconds are not kept.
    pub steps: Option<&'a Steps>,
    /// What the server acknowledged in that second, where requests have names and the seconds are not kept.
    pub durability: Option<Acknowledged>,
    /// Errors so far, of all phases.
    pub errors: u64,
    /// The same by phase and kind.
    pub kinds: &'a [ErrorRow],
    /// Time left until the end of the measured part, where that is known.
    pub left: Option<Nanos>,
    /// The rate in requests per second that a search is trying.
    pub trying_rps: Option<f64>,
}
