//! The content of a run file as plain data.

mod cell;
mod host;
mod profile;
mod repetition;
mod resources;
mod sample;
mod slice;
mod verdict;
mod whole;

pub use cell::CellRecord;
pub use host::HostRecord;
pub use profile::{Profile, ProfileEntry};
pub use repetition::Repetition;
pub use repetition::looks_like_error;
pub use resources::{Lifetime, Resources};
pub use sample::{CpuSample, Sample, TreeSample};
pub use slice::Slice;
pub use verdict::Verdict;
pub use verdict::{NEITHER_BUSY, NOT_TRIED};
pub use whole::{Run, RunInfo, RunState};
