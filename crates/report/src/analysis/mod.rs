//! A run as a report sees it: servers against load levels, with figures, comparisons and verdicts.
//!
//! Everything that a format shows is computed here, once.

mod cell;
mod claimed;
mod comparisons;
mod factor;
mod groups;
mod load_axis;
mod outcomes;
mod parts;
mod replies;
mod run;
mod samples;
mod series;

pub(crate) use cell::{Cell, Standing, Unlike};
pub(crate) use claimed::{Pair, Terms};
pub(crate) use factor::{factor_title, levels_words};
pub(crate) use groups::{Groups, groups};
pub use parts::{SubRun, parts};
pub(crate) use replies::are_unlike;
pub use run::Analysis;
pub(crate) use samples::{between_runs, ratios, ratios_of_control, values, within_run};
