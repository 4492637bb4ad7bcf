#![forbid(unsafe_code)]
//! Does a figure of a long run drift? Pure functions of a series of (seconds since the start, value).
//!
//! [`drift`] answers for one figure, [`drifts`] for all figures of a run with Holm's correction. The way of an answer:
//!
//! 1. **Grid** (`grid`). Points may be irregular, coarser where they are old, and absent for hours. Medians of bins on
//!    one even grid of at most [`BINS`] places stand for them; a bin without a point stays empty.
//! 2. **Changes** (`change`). Steps and bends are sought one after the other; each must be more than noise
//!    around the line with the autocorrelation found would show in one of a hundred runs.
//! 3. **Slope** ([`theil_sen`]). The median of the slopes of all pairs, of what goes on at the end: of all
//!    points, less the steps, or of those after the last bend. A rise that has ended is therefore no leak.
//! 4. **Noise** (`noise`). The interval and the p-value are those of the same estimate on series that are simulated
//!    without a drift, with the autocorrelation of the residuals and the doubt about it (a sieve bootstrap).
//!
//! # Why not Mann and Kendall with a corrected variance
//! [`mann_kendall`] has the corrections of Hamed and Rao and of Yue and Wang, which are what is usual. Neither keeps its level
//! in runs of ten minutes: `cargo run --release -p pitot-drift --example levels` prints the table. They correct
//! the variance by autocorrelations that are estimated too low from short series. The sieve bootstrap (Bühlmann, "Sieve bootstrap for time
//! series", Bernoulli 3, 1997; for trends: Noguchi, Gel and Duguay, "Bootstrap-based tests for trends in hydrological
//! time series", Journal of Hydrology 410, 2011) with the bias of the coefficient removed does.
//!
//! # Units
//! Times are seconds since the start of the run, slopes are units of the figure per hour.

mod change;
mod drift;
mod grid;
mod holm;
mod linear;
mod mann_kendall;
mod noise;
mod sentence;
mod slope;

pub use change::{Change, Kind};
pub use drift::{Course, Drift, Question, Series, Tolerance, TooFew, drift, drifts};
pub use grid::BINS;
pub use holm::holm;
pub use mann_kendall::{Correction, MannKendall, mann_kendall};
pub use slope::theil_sen;
