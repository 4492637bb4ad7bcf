//! What a run file holds, as plain data: written by the runner, read by reports.

mod cell;
mod host;
pub mod kept;
mod repetition;
mod resources;
mod run;
mod sample;
mod slice;
mod verdict;

pub use cell::CellRecord;
pub use host::HostRecord;
pub use repetition::Repetition;
pub use repetition::looks_like_error;
pub use resources::{Lifetime, Resources};
pub use run::{Run, RunInfo, RunState};
pub use sample::{CpuSample, Sample, TreeSample};
pub use slice::Slice;
pub use verdict::Verdict;
pub use verdict::{NEITHER_BUSY, NOT_TRIED};
