//! The run file: one SQLite database per run, `NAME.pitot`.
//!
//! **Reading** (all that a report needs): [`Run::open`] gives the whole run as plain data.
//!
//! ```no_run
//! use pitot_lab::{Run, metric};
//!
//! let run = Run::open("quick.pitot".as_ref())?;
//! let throughput = metric::find(&run.plan.metric).expect("plans are checked");
//! for cell in &run.cells {
//!     let figures = cell.figures(throughput); // (block, figure) of each repetition that did not fail
//!     let against = run.baseline_of(cell);    // the cell to compare with, paired by block
//!     println!("{} {:?} {:?}", cell.label(), cell.verdict(), (figures, against.map(|c| c.label())));
//!     for repetition in &cell.repetitions {
//!         let _latency = repetition.load.as_ref().map(|l| (l.latency_ns.response.p99, &l.histograms));
//!         let _timeline = &repetition.samples;
//!     }
//! }
//! # Ok::<(), pitot_lab::RunFileError>(())
//! ```
//!
//! **Writing** ([`RunWriter`]) is the runner's: the plan, the cells and the fingerprint in one transaction, each
//! repetition in one of its own. The journal is a write-ahead log with `synchronous=FULL`, so that a killed process
//! or a power cut costs the repetition in flight and nothing else; a finished file is one plain file again.
//!
//! The layout is documented in `docs/run-file.md` and in `schema.sql`, and is versioned by `PRAGMA user_version`;
//! readers open every older layout, and say so where a file is newer than they are.

mod read;
mod record;
mod schema;
mod write;

use std::path::PathBuf;

pub(crate) use record::label;
pub use record::{
    CellRecord, CpuSample, FactorLevel, Repetition, Resources, Run, RunInfo, RunState, Sample, SkipRecord,
    TreeSample, Verdict, VerdictKind,
};
pub use write::{NewCell, NewRun, RunWriter};

/// What can be wrong with a run file.
#[derive(Debug, thiserror::Error)]
pub enum RunFileError {
    /// It is not there or may not be read.
    #[error("cannot open {}: {reason}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// It is there already.
    #[error("{} exists\nname another file with -o, or continue it with --resume {}", .0.display(), .0.display())]
    Exists(PathBuf),
    /// Another process is writing it.
    #[error("{} is in use by a run that is still going on\nwait for it to end, or stop it", .0.display())]
    Locked(PathBuf),
    /// It is something else.
    #[error("{} is not a run file\nrun files are written by `pitot run`", .0.display())]
    Foreign(PathBuf),
    /// A newer Pitot wrote it.
    #[error(
        "{} has layout {found}, this pitot reads up to {known}\nread it with the version that wrote it, or a newer one",
        path.display()
    )]
    Newer {
        /// Which file.
        path: PathBuf,
        /// Its layout.
        found: u32,
        /// The newest layout that is known here.
        known: u32,
    },
    /// A value in it cannot be read.
    #[error("the run file is damaged: {0}")]
    Damaged(String),
    /// The database failed.
    #[error("the run file could not be read or written")]
    Database(#[from] rusqlite::Error),
}

#[cfg(test)]
mod tests;
