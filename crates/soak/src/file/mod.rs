//! The file of a soak: an SQLite database that is written interval by interval, and stays small.
//!
//! Intervals of the last hour are kept as they were, those before it as minutes, and those of more than a day ago as ten
//! minutes ([`LEVELS`]): histograms are merged, so that their percentiles stay true, and counters of a load are exact for
//! ever. So fourteen days of a load are about 3,800 histograms of a few kilobytes.

mod age;
mod error;
mod layout;
mod read;
mod write;

pub use age::LEVELS;
pub use error::SoakError;
pub use read::{is_running, is_soak};
pub use write::{Moment, SoakFile};

#[cfg(test)]
mod tests;
