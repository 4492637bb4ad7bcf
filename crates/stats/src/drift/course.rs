//! The question and its answer.

use std::fmt;

use pitot_meter::Random;

use super::change::{Change, Kind, Shape, shape};
use super::grid::{Grid, grid};
use super::mann_kendall::{Correction, mann_kendall};
use super::slope::TheilSen;
use crate::holm::holm;
use crate::location::median;

/// Intervals below which nothing is said.
pub const INTERVALS_MIN: usize = 12;
/// A slope is an alarm at this share of the level. Changes are sought first, at one of a hundred runs: what they find in noise
/// takes some of the level, and a slope behind a change that is none is steeper than any that is simulated (Bonferroni).
const LEFT_FOR_SLOPES: f64 = 0.8;

/// A figure and its points: seconds since the start of the run, value. In any order, with gaps.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// What it is called in sentences: `memory`, `p99`.
    pub figure: &'a str,
    /// Seconds since the start, and the value then.
    pub points: &'a [(f64, f64)],
}

/// Slopes that are worth no alarm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Up to this many units of the figure per hour.
    PerHour(f64),
    /// Up to this share of the figure's median per hour.
    SharePerHour(f64),
}

/// What is asked of series.
#[derive(Clone, Debug)]
pub struct Question {
    /// The chance of a false alarm; intervals have one less it.
    pub level: f64,
    /// Slopes up to it are never declared.
    pub tolerance: Tolerance,
    /// Simulated series. The least p-value is 1 by one more than these, so that for several figures together
    /// (Holm) more than their number by four fifths of [`Question::level`] are needed: 999 do for 39 figures at 5%.
    pub resamples: usize,
    /// The seed of the simulations: the same question has the same answer.
    pub seed: u64,
}

impl Default for Question {
    /// 5%, no tolerance, 999 series.
    fn default() -> Question {
        Question { level: 0.05, tolerance: Tolerance::PerHour(0.0), resamples: 999, seed: 1 }
    }
}

/// How a figure went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Course {
    /// Neither a drift nor a change was seen.
    Steady,
    /// It drifts, and still did at the end.
    Drifts,
    /// It changed, the last time at this second, and has not drifted since, as far as could be seen.
    Settled(f64),
}

/// The answer for one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// The name of the figure.
    pub figure: String,
    /// The slope as it is at the end (after the last bend, without steps), in units of the figure per hour.
    pub slope_per_hour: f64,
    /// Where that slope lies, with a confidence of 1 less [`Drift::level`].
    pub interval: [f64; 2],
    /// The chance of such a slope, or a steeper one, without a drift.
    pub p: f64,
    /// The same with all figures of the run accounted for ([`holm`]); as `p` if it was asked alone.
    pub p_adjusted: f64,
    /// Whether it is an alarm: significant, and above the tolerance.
    pub declared: bool,
    /// The smallest slope per hour that would have been seen in 4 of 5 such runs.
    pub detectable_per_hour: f64,
    /// Slopes up to it are worth no alarm, in units of the figure per hour.
    pub tolerance_per_hour: f64,
    /// The median value.
    pub median: f64,
    /// Kendall's score over that of a series that only rises: from -1 to 1.
    pub tau: f64,
    /// Change points in the order of time.
    pub changes: Vec<Change>,
    /// Drifting, settled or steady.
    pub course: Course,
    /// From the first point to the last, in seconds.
    pub seconds: f64,
    /// The level that was asked for.
    pub level: f64,
}

/// A series is too short for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooFew {
    /// The name of the figure.
    pub figure: String,
    /// Intervals that there are.
    pub intervals: usize,
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "too few intervals for a trend of {}: {}, and {INTERVALS_MIN} are needed",
            self.figure, self.intervals
        )
    }
}

impl std::error::Error for TooFew {}

/// Asks one figure.
pub fn drift(series: &Series<'_>, question: &Question) -> Result<Drift, TooFew> {
    let grid = grid(series.points);
    let too_few = || TooFew { figure: series.figure.to_owned(), intervals: grid.places.len() };
    if grid.places.len() < INTERVALS_MIN {
        return Err(too_few());
    }
    let hours: Vec<f64> = grid.seconds.iter().map(|s| (s - grid.seconds[0]) / 3_600.0).collect();
    let mut random = Random::new(question.seed);
    let shape = shape(&grid, &hours, question.resamples.min(299), &mut random).ok_or_else(too_few)?;

    let mut estimate = Estimate::new(&shape, &grid, &hours);
    let slope = estimate.slope(&shape, &grid.values);
    let mut without = slopes_without_drift(&shape, &mut estimate, &grid, question.resamples, &mut random);
    let steeper = without.iter().filter(|other| **other >= slope.abs()).count();
    let of_slope = (steeper + 1) as f64 / (without.len() + 1) as f64;
    let p = if slope == 0.0 { 1.0 } else { (of_slope / LEFT_FOR_SLOPES).min(1.0) };
    without.sort_by(f64::total_cmp);
    let at = |share: f64| {
        without.get((without.len() as f64 * share) as usize).or(without.last()).copied().unwrap_or(0.0)
    };
    let half = at(1.0 - LEFT_FOR_SLOPES * question.level);
    // A slope of the half width is seen in half of the runs; in 4 of 5 if it is more by what one side exceeds in
    // one of 5, which is what both sides exceed in 2 of 5.
    let detectable = half + at(0.6);

    let level = median(&grid.values).unwrap_or_default();
    let tolerance = match question.tolerance {
        Tolerance::PerHour(tolerance) => tolerance,
        Tolerance::SharePerHour(share) => share * level.abs(),
    };
    let mut changes = shape.changes;
    changes.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let pairs = (grid.values.len() * (grid.values.len() - 1) / 2) as f64;
    let mut drift = Drift {
        figure: series.figure.to_owned(),
        slope_per_hour: slope,
        interval: [slope - half, slope + half],
        p,
        p_adjusted: p,
        declared: false,
        detectable_per_hour: detectable,
        tolerance_per_hour: tolerance,
        median: level,
        tau: mann_kendall(&grid.values, Correction::Ties).s / pairs,
        changes,
        course: Course::Steady,
        seconds: grid.seconds[grid.seconds.len() - 1] - grid.seconds[0],
        level: question.level,
    };
    drift.judge();
    Ok(drift)
}

/// Asks all figures of a run. Of all alarms together at most [`Question::level`] is the chance of a false one.
pub fn drifts(series: &[Series<'_>], question: &Question) -> Vec<Result<Drift, TooFew>> {
    let mut drifts: Vec<_> = series.iter().map(|series| drift(series, question)).collect();
    let p: Vec<f64> = drifts.iter().flatten().map(|drift| drift.p).collect();
    for (drift, adjusted) in drifts.iter_mut().flatten().zip(holm(&p)) {
        drift.p_adjusted = adjusted;
        drift.judge();
    }
    drifts
}

/// What a series of so many seconds did not show is given by the hour, and of a longer one by the day: a bound for a time many
/// times as long as the series says nothing.
const DAY_FROM_S: f64 = 6.0 * 3600.0;

impl Drift {
    /// The hours for which the bound is given, and their name.
    pub(crate) fn told_for(&self) -> (f64, &'static str) {
        if self.seconds < DAY_FROM_S { (1.0, "an hour") } else { (24.0, "a day") }
    }

    /// Whether the series is too short, or too noisy for its length, to say that there is no drift: in the time that the answer
    /// tells of (an hour; a day, of six hours or more) the figure could have grown by its own median and by more than the
    /// tolerance, and would not have been seen. What drifts, or moved within the tolerance, was seen.
    pub fn is_too_short(&self) -> bool {
        let enough = (self.median.abs() / self.told_for().0).max(self.tolerance_per_hour);
        self.p_adjusted >= self.level && !self.declared && self.detectable_per_hour > enough
    }

    /// Decides, from what was computed.
    fn judge(&mut self) {
        self.declared = self.p_adjusted < self.level && self.slope_per_hour.abs() > self.tolerance_per_hour;
        self.course = match self.changes.last() {
            _ if self.declared => Course::Drifts,
            Some(last) => Course::Settled(last.seconds),
            None => Course::Steady,
        };
    }
}

/// The slope at the end, of any series at the same times.
struct Estimate {
    /// The first bin that counts.
    from: usize,
    /// The columns of the steps after which the slope is sought, with their places in the design.
    steps: Vec<(usize, Vec<f64>)>,
    theil_sen: TheilSen,
    tail: Vec<f64>,
}

impl Estimate {
    fn new(shape: &Shape, grid: &Grid, hours: &[f64]) -> Estimate {
        let n = hours.len();
        // The end begins where the last bend has surely been passed, and is never less than a tenth.
        let passed = |change: &Change| grid.seconds.partition_point(|seconds| *seconds <= change.between[1]);
        let bends = shape.changes.iter().filter(|change| change.kind == Kind::Bend);
        let from = bends.map(|bend| passed(bend).min(n - n / 10)).max().unwrap_or(0);
        let steps = shape.features.iter().enumerate().filter(|(_, feature)| feature.kind == Kind::Step);
        Estimate {
            from,
            steps: steps
                .map(|(place, feature)| (place + 2, feature.column(hours)[from..].to_vec()))
                .collect(),
            theil_sen: TheilSen::new(&hours[from..]),
            tail: Vec::with_capacity(n),
        }
    }

    fn slope(&mut self, shape: &Shape, values: &[f64]) -> f64 {
        self.tail.clear();
        self.tail.extend(&values[self.from..]);
        if !self.steps.is_empty() {
            let sizes = shape.design.coefficients(values);
            for (place, column) in &self.steps {
                super::linear::subtract(&mut self.tail, sizes[*place], column);
            }
        }
        self.theil_sen.slope(&self.tail)
    }
}

/// How steep the estimate is, either way, for series with noise as in `grid` and no drift.
fn slopes_without_drift(
    shape: &Shape,
    estimate: &mut Estimate,
    grid: &Grid,
    resamples: usize,
    random: &mut Random,
) -> Vec<f64> {
    let noise = shape.noise(&grid.places, &grid.values);
    let mut drawn = Vec::with_capacity(grid.values.len());
    (0..resamples)
        .map(|_| {
            noise.draw(&grid.places, random, &mut drawn);
            estimate.slope(shape, &drawn).abs()
        })
        .collect()
}
