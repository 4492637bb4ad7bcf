//! What follows from the figures of a run, and with what certainty.
//!
//! Pure functions over numbers; nothing here knows a plan or a file. The choices, and their price:
//!
//! - **A cell's figure** is a median with its order-statistic interval, or a trimmed mean with a percentile bootstrap
//!   interval ([`Statistic`], [`Estimate`]). Fewer than [`MEDIAN_REPETITIONS_MIN`] repetitions give no 95% interval.
//! - **A comparison** is a ratio paired by block: the Hodges-Lehmann estimate of the log ratios, with the interval
//!   and the p-value of Wilcoxon's signed-rank test ([`judge`]). In a randomised block two equal servers can be
//!   swapped, so the test's level holds whatever the noise looks like; a bootstrap of so few pairs would claim
//!   more certainty than it has. Two runs share no blocks: they are compared by Mann and Whitney's test, and by how far
//!   what is equal lay apart in them ([`BetweenRuns`]).
//! - **A sliced measurement** gives one log ratio per generation of servers ([`generation_log_ratio`]), from rounds
//!   whose order cancels drift, position and carry-over ([`round_order`]), without what slowed the CPUs ([`Undisturbed`]).
//!   Generations are its sample. A run that goes on until it has decided ([`Samples::UntilDecided`]) looks after each of them;
//!   it is judged by an e-process, whose error rate and intervals hold at any stop, and by one more look when its time is over
//!   ([`Samples::TimeOver`]). [`judge_control`] judges the baseline's twin.
//! - **A history of runs** changes its level where random orders of its values rarely differ as much ([`level_changes`]).
//! - **A difference is declared** only if the test rejects, at 5% and after Holm's correction over all comparisons
//!   of the family, that the true ratio lies within the tolerance. For one comparison that is to say: the whole 95%
//!   interval lies beyond the tolerance. The price is a need for more repetitions; the gain is that an A/A comparison
//!   raises a false alarm in far fewer than one of twenty runs, as long as the tolerance is not small compared with the noise.
//!
//! # How many repetitions a plan needs
//!
//! | to ... | repetitions |
//! |---|---|
//! | have a figure with a 95% interval | 6 |
//! | declare large differences (architectures) in a family of up to 6 comparisons | 5 |
//! | ... of up to 23 comparisons | 6 |
//! | ... of up to 85 comparisons | 7 |
//! | find 5% CPU per request in 19 of 20 runs: tolerance 1%, repetitions that differ by 2.5% within a block | 20 |
//! | ... with repetitions that differ by 7.5%, as on a busy virtual machine | 150 |
//!
//! [`repetitions_needed`] computes the middle rows: the smallest p-value that a rank test of so few values can give
//! has to survive the correction. The last rows are simulated by the test `false_alarms_and_power`, where a run without
//! a difference raises an alarm one time in two hundred. Many short repetitions beat few long ones, since most of the
//! variance lies between server processes and in the machine's drift.
#![forbid(unsafe_code)]

mod between;
mod comparison;
mod components;
mod control;
pub mod drift;
mod false_discovery;
mod forecast;
mod generation;
mod history;
mod holm;
mod interval;
mod location;
mod mann_whitney;
mod noise;
mod order;
mod ranks;
mod samples;
mod sequential;
mod signed_rank;
mod student;

pub use between::{BetweenRuns, ReferenceChange};
pub use comparison::{
    ALPHA, Comparison, Decision, Test, generations_needed, judge, judge_between, repetitions_needed,
};
pub use components::Components;
pub use control::{CONTROL_ALPHA, control_generations_needed, judge_control};
pub use false_discovery::false_discovery;
pub use forecast::{POWER, difference_shown, more_generations};
pub use generation::{
    Undisturbed, apart_log_ratio, disturbed_share, generation_log_ratio, robust_deviation, round_log_ratios,
};
pub use history::{LevelChange, level_changes};
pub use holm::holm;
pub use interval::{
    Estimate, Interval, LEVEL, MEDIAN_REPETITIONS_MIN, bootstrap_interval, order_statistic_interval,
};
pub use location::{Statistic, median, median_absolute_deviation, quantile, trimmed_mean};
pub use mann_whitney::{mann_whitney, shift, shift_interval};
pub use noise::{STEADY_MAX, Spread};
pub use order::{lead_in, round_order};
pub use pitot_meter::Random;
pub use samples::Samples;
pub use signed_rank::{Tails, hodges_lehmann, signed_rank, signed_rank_interval};
pub use student::{Mean, mean};
