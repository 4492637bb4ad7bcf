//! One result of those of several load generators, each of which did a part of the same load at the same time
//! (`pitot load --share`).
//!
//! Counts are added up, histograms are merged, and percentiles are computed again from them. What is no count and has no
//! histogram is named in the documentation of [`loads`].

mod decoded;
mod load;
mod slice;

pub use load::loads;
pub use slice::slices;
