//! A run as a report sees it: servers against load levels, with figures, comparisons and verdicts.
//!
//! Everything that a format shows is computed here once; the formats only arrange it.

mod cell;
mod factor;
mod load_axis;
mod run;
mod series;

pub use cell::{Cell, Standing};
pub(crate) use cell::{samples, values};
pub(crate) use factor::{factor_title, levels_words};
pub use load_axis::LoadAxis;
pub use run::Analysis;
pub(crate) use run::headline;
pub use series::Series;
