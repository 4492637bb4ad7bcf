//! What is recorded: a run as plain data, its file, and the metrics that are read from it.
//!
//! For reports, start at [`Run::open`] and [`METRICS`].
#![forbid(unsafe_code)]

pub mod database;
mod figures;
pub mod metric;
mod run;
pub mod runfile;
pub mod secrets_file;

pub use metric::{Better, METRICS, Metric, Unit};
pub use run::{
    CellRecord, CpuSample, HostRecord, Lifetime, NEITHER_BUSY, NOT_TRIED, Repetition, Resources, Run,
    RunInfo, RunState, Sample, Slice, TreeSample, Verdict, kept, looks_like_error,
};
pub use runfile::{RunFileError, RunWriter};
