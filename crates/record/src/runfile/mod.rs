//! The run file: one SQLite database per run, `NAME.pitot`.
//!
//! **Reading** (all that a report needs): [`Run::open`](crate::Run::open) gives the whole run as plain data.
//!
//! ```no_run
//! use pitot_record::{Run, metric};
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
//! # Ok::<(), pitot_record::RunFileError>(())
//! ```
//!
//! **Writing** ([`RunWriter`]) is the runner's: the plan, the cells and the fingerprint in one transaction, each
//! repetition in one of its own. The journal is a write-ahead log with `synchronous=FULL`, so that a killed process
//! or a power cut costs the repetition in flight and nothing else; a finished file is one plain file again.
//!
//! The layout is documented in `docs/run-file.md` and in `schema.sql`, and is versioned by `PRAGMA user_version`;
//! readers open every older layout, and say so where a file is newer than they are.

mod carried;
mod error;
mod hosts;
mod read;
mod schema;
mod write;

pub use error::RunFileError;
pub use write::{NewCell, NewRun, RunWriter};

#[cfg(test)]
mod tests;
