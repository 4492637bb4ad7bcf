//! The file of a soak: an SQLite database that is written interval by interval, and stays small.
//!
//! Intervals of the last hour are kept as they were, those before it as minutes, and those of more than a day ago as ten
//! minutes ([`LEVELS`]): histograms are merged, so that their percentiles stay true, and counters of a load are exact for
//! ever. So fourteen days of a load are about 3,800 histograms of a few kilobytes.

mod age;
mod error;
mod read;
mod write;

pub use age::LEVELS;
pub use error::SoakError;
pub use read::is_soak;
pub use write::{Moment, SoakFile};

/// `PRAGMA application_id`: "PitS".
const APPLICATION_ID: i64 = 0x5069_7453;
/// `PRAGMA user_version`: the layout that this version writes.
const LAYOUT: u32 = 1;

#[cfg(test)]
mod tests;
