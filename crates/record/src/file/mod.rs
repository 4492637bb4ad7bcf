//! The file of a run or a soak: one SQLite database, `NAME.pitot`.
//!
//! **Reading**: [`Run::open`](crate::Run::open) and [`Soak::open`](crate::soak::Soak::open) return the whole file as plain
//! data.
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
//! # Ok::<(), pitot_record::RecordError>(())
//! ```
//!
//! **Writing** ([`RunWriter`], [`SoakWriter`]): one transaction for all that is known before the measurement, then one for
//! each repetition, or each interval of a soak. The journal is a write-ahead log with `synchronous=FULL`, so that a kill
//! or a power cut loses only the current transaction; a finished file is one plain file again.
//!
//! A soak stays small: after an hour intervals are merged into minutes, after a day into ten minutes ([`LEVELS`]).
//! Histograms are merged, so percentiles stay right, and counters of a load stay exact. Fourteen days of a load are about
//! 3,800 histograms of a few kilobytes.
//!
//! The layout is documented in `docs/run-file.md` and in `schema.sql`, and is versioned by `PRAGMA user_version`.

mod age;
mod error;
mod hosts;
mod layout;
mod open;
mod profiles;
mod run_read;
mod run_write;
mod soak_read;
mod soak_write;
mod writer;

pub use age::LEVELS;
pub use error::RecordError;
pub use layout::Kind;
pub use open::{is_running, kind};
pub use run_write::{NewCell, NewRun, RunWriter};
pub use soak_write::{Moment, SoakWriter};

#[cfg(test)]
mod run_tests;
#[cfg(test)]
mod soak_tests;
