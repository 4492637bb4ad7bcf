//! Records: runs and soaks as plain data, their file, and their metrics.
//!
//! For reports, start at [`Run::open`] and [`METRICS`].
#![forbid(unsafe_code)]

pub mod database;
mod figures;
pub mod file;
pub mod metric;
mod run;
pub mod secrets_file;
pub mod soak;

pub use figures::Side;
pub use file::{RecordError, RunWriter, SoakWriter};
pub use metric::{Better, METRICS, Metric, Unit};
pub use run::{
    CellRecord, CpuSample, HostRecord, Lifetime, NEITHER_BUSY, NOT_TRIED, Profile, ProfileEntry, Repetition,
    Resources, Run, RunInfo, RunState, Sample, Slice, TreeSample, Verdict, looks_like_error,
};
pub use soak::Soak;
