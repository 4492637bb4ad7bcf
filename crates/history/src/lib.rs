//! The files of many runs: where they are, and an index of what they say.
//!
//! A file of a run takes some milliseconds to read and analyse. The [`Index`] keeps what lists and histories need of it in the user's
//! cache, until the file changes, so that ten thousand are listed in the time of a system call for each.
#![forbid(unsafe_code)]

mod files;
mod index;
mod stamp;

pub use files::{files, is_record};
pub use index::{Index, open_run};
pub use pitot_report::history::{Digest, RunFigures};
pub use stamp::Stamp;
