//! What a run tells while it goes on: the same events for the terminal, for whoever follows it by machine, and for commands that
//! run plans of their own.

use std::path::{Path, PathBuf};

use pitot_record::{CellRecord, Repetition, RunState};

/// Where a run is.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// How many there are, as far as can be foreseen.
    pub total: usize,
    /// What it measures.
    pub label: &'a str,
    /// Seconds until the end of the run, estimated.
    pub left_s: f64,
}

/// What happens in a run. Whatever is said to be measured is in the file already.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A cell is tried for a moment before anything is measured; these steps are cells.
    Trying(Step<'a>),
    /// A cell failed its try, and nothing of it will be measured.
    GivenUp {
        /// The cell.
        step: Step<'a>,
        /// The try.
        tried: &'a Repetition,
    },
    /// The file is there, and measuring begins.
    Started {
        /// The file.
        file: &'a Path,
        /// The run's identity.
        run: &'a str,
        /// Its cells with what the file has of them, controls at the end.
        cells: &'a [CellRecord],
    },
    /// A repetition or generation begins.
    Begun(Step<'a>),
    /// A repetition or a generation is over.
    Measured {
        /// Which.
        step: Step<'a>,
        /// Its repetitions, each with the number of its cell.
        repetitions: &'a [(usize, Repetition)],
    },
    /// Something that the reader of the report has to know.
    Warning(&'a str),
    /// The file is closed.
    Finished(&'a Outcome),
}

/// How a run went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its file.
    pub path: PathBuf,
    /// How it ended.
    pub state: RunState,
    /// Repetitions that failed.
    pub failed: usize,
}
