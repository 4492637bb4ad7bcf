//! The events of a run or a soak, for the terminal, for `--events`, and for commands that run plans.

use std::path::{Path, PathBuf};

use pitot_record::file::Moment;
use pitot_record::soak::{Load, Subject};
use pitot_record::{CellRecord, Repetition, RunState};

use super::soak_status::SoakStatus;

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Number of the current step, from 1.
    pub number: usize,
    /// Number of steps, estimated.
    pub total: usize,
    /// What it measures.
    pub label: &'a str,
    /// Seconds until the end of the run, estimated.
    pub left_s: f64,
}

/// An event of a run or a soak. Measured or recorded data is in the file before its event.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The smoke test of a cell begins; these steps are cells.
    Trying(Step<'a>),
    /// A cell failed the smoke test and will not be measured.
    GivenUp {
        /// The cell.
        step: Step<'a>,
        /// The result.
        tried: &'a Repetition,
    },
    /// The file has been created or opened, and measurement begins.
    Started {
        /// The file.
        file: &'a Path,
        /// The run's identity.
        run: &'a str,
        /// Its cells with their recorded repetitions; controls at the end.
        cells: &'a [CellRecord],
    },
    /// A repetition or generation begins.
    Begun(Step<'a>),
    /// A repetition or a generation has ended.
    Measured {
        /// Which.
        step: Step<'a>,
        /// Its repetitions, each with the number of its cell.
        repetitions: &'a [(usize, Repetition)],
    },
    /// The servers of a soak are ready, and their loads begin.
    SoakBegun {
        /// The file.
        file: &'a Path,
        /// The soak's identity.
        run: &'a str,
        /// Its servers.
        subjects: &'a [Subject],
        /// Their loads.
        loads: &'a [Load],
    },
    /// An event of a soak.
    Recorded(&'a Moment),
    /// The status of a soak, once a second and after events. It is not recorded.
    Status(&'a SoakStatus),
    /// A warning for the reader of the report.
    Warning(&'a str),
    /// The run has ended and the file is closed.
    Finished(&'a Outcome),
}

/// The outcome of a run or a soak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its file.
    pub path: PathBuf,
    /// How it ended.
    pub state: RunState,
    /// Repetitions that failed; 0 for a soak.
    pub failed: usize,
}
