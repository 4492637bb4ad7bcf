//! What a run or a soak tells while it goes on: the same events for the terminal, for whoever follows it by machine, and for commands that
//! run plans of their own.

use std::path::{Path, PathBuf};

use pitot_record::file::Moment;
use pitot_record::soak::{Load, Subject};
use pitot_record::{CellRecord, Repetition, RunState};

use super::soak_status::SoakStatus;

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

/// What happens in a run or a soak. Whatever is said to be measured or recorded is in the file already.
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
    /// The servers of a soak stand, and their loads begin.
    Standing {
        /// The file.
        file: &'a Path,
        /// The soak's identity.
        run: &'a str,
        /// Its servers.
        subjects: &'a [Subject],
        /// Their loads.
        loads: &'a [Load],
    },
    /// What has come about in a soak.
    Recorded(&'a Moment),
    /// How a soak goes, once a second and when something has happened. It is not recorded.
    Status(&'a SoakStatus),
    /// Something that the reader of the report has to know.
    Warning(&'a str),
    /// The file is closed.
    Finished(&'a Outcome),
}

/// How a run or a soak went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its file.
    pub path: PathBuf,
    /// How it ended.
    pub state: RunState,
    /// Repetitions that failed; 0 of a soak.
    pub failed: usize,
}
