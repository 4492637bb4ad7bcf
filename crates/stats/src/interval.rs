//! Intervals of one figure: by order statistics, and by bootstrap.
//!
//! A median has the **order-statistic interval** (David and Nagaraja 2003, section 7.1). It assumes nothing but
//! independent repetitions, and its coverage is exact and known: at least 95%, and 96.9% with six repetitions, where it is
//! their range. With fewer than [`MEDIAN_REPETITIONS_MIN`] repetitions even the whole range covers the median with less
//! than 95%: then there is no interval, and a report has to say so. A bootstrap of a median of six covers it with 93%.
//!
//! A trimmed mean has the **percentile bootstrap** (Efron 1979; Efron and Tibshirani 1993, chapter 13). The resamples
//! follow a seed, so the same file gives the same interval. Its price: with few repetitions it is somewhat too narrow (a
//! test below pins how much), and a report calls it nominal. Differences are never judged by it.

use crate::location::{Statistic, quantile_of_sorted, sorted};
use pitot_meter::Random;
use serde::Serialize;

/// The confidence level of every interval in a report.
pub const LEVEL: f64 = 0.95;

/// The fewest repetitions that give a 95% interval of a median: the range of 5 values covers it with 93.75% only.
pub const MEDIAN_REPETITIONS_MIN: usize = 6;

/// Enough resamples that the end of an interval moves by less than a twentieth of its width with another seed.
const RESAMPLES: usize = 2_000;

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The probability with which such intervals cover the true value: exact for rank intervals, nominal for
    /// bootstrap intervals.
    pub coverage: f64,
}

impl Interval {
    /// Whether `value` lies within, ends included.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The interval of a function that rises with its argument.
    pub(crate) fn map(self, rising: impl Fn(f64) -> f64) -> Interval {
        Interval { low: rising(self.low), high: rising(self.high), coverage: self.coverage }
    }
}

/// The figure of one cell over its repetitions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The figure itself.
    pub value: f64,
    /// Its interval: of a median by order statistics, with its exact coverage of at least 95%; of a trimmed mean the
    /// nominal 95% of the bootstrap. `None` with fewer than [`MEDIAN_REPETITIONS_MIN`] repetitions.
    pub interval: Option<Interval>,
    /// The smallest repetition.
    pub min: f64,
    /// The largest repetition.
    pub max: f64,
    /// How many repetitions stand behind it.
    pub repetitions: usize,
}

impl Estimate {
    /// Sums up `values` by `statistic`; values that are not finite are left out, `None` if too few remain.
    pub fn of(values: &[f64], statistic: Statistic, seed: u64) -> Option<Estimate> {
        let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        let sorted = sorted(&finite);
        Some(Estimate {
            value: statistic.of_sorted(&sorted)?,
            interval: match statistic {
                Statistic::Median => order_statistic_interval(&sorted, LEVEL),
                Statistic::TrimmedMean(_) => bootstrap_interval(&sorted, statistic, seed),
            },
            min: *sorted.first()?,
            max: *sorted.last()?,
            repetitions: sorted.len(),
        })
    }

    /// The interval's ends, or the range of the repetitions where there is no interval.
    pub fn span(&self) -> (f64, f64) {
        self.interval.map_or((self.min, self.max), |i| (i.low, i.high))
    }
}

/// The 95% percentile bootstrap interval of `statistic`; `None` below [`MEDIAN_REPETITIONS_MIN`] values.
pub fn bootstrap_interval(values: &[f64], statistic: Statistic, seed: u64) -> Option<Interval> {
    if values.len() < MEDIAN_REPETITIONS_MIN {
        return None;
    }
    let mut random = Random::new(seed);
    let mut resample = vec![0.0; values.len()];
    let mut figures = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        resample.fill_with(|| values[random.below(values.len())]);
        resample.sort_unstable_by(f64::total_cmp);
        figures.push(statistic.of_sorted(&resample)?);
    }
    figures.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - LEVEL) / 2.0;
    Some(Interval {
        low: quantile_of_sorted(&figures, tail)?,
        high: quantile_of_sorted(&figures, 1.0 - tail)?,
        coverage: LEVEL,
    })
}

/// The narrowest symmetric order-statistic interval of the median that covers at least `level`; `None` if even the
/// whole range does not.
pub fn order_statistic_interval(values: &[f64], level: f64) -> Option<Interval> {
    let sorted = sorted(values);
    let n = sorted.len();
    // The interval from the k-th smallest to the k-th largest value misses the median when fewer than k values
    // fall on one side of it: a binomial tail. `missed` grows with k; keep the last one that is small enough.
    let mut term = 0.5f64.powi(i32::try_from(n).ok()?);
    let mut missed = 0.0;
    let mut found = None;
    for k in 0..n / 2 {
        missed += 2.0 * term;
        if 1.0 - missed < level {
            break;
        }
        found = Some(Interval { low: sorted[k], high: sorted[n - 1 - k], coverage: 1.0 - missed });
        term *= (n - k) as f64 / (k + 1) as f64;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_order_statistic_interval_has_the_ranks_and_coverage_of_the_binomial() {
        // The 0-based rank k with 1 - 2 * binom.cdf(k, n, 1/2) >= 0.95, by scipy.stats.binom of scipy 1.17.1.
        for (n, k, coverage) in
            [(6, 0, 0.96875), (9, 1, 0.9609375), (12, 2, 0.961_425_78), (20, 5, 0.958_610_53)]
        {
            let values: Vec<f64> = (0..n).map(f64::from).collect();
            let interval = order_statistic_interval(&values, LEVEL).unwrap();
            assert_eq!((interval.low, interval.high), (f64::from(k), f64::from(n - 1 - k)), "n = {n}");
            assert!((interval.coverage - coverage).abs() < 1e-7, "n = {n}: {}", interval.coverage);
        }
    }

    #[test]
    fn fewer_than_six_repetitions_have_no_interval() {
        let five = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(order_statistic_interval(&five, LEVEL), None);
        assert_eq!(bootstrap_interval(&five, Statistic::Median, 1), None);
        let estimate = Estimate::of(&five, Statistic::Median, 1).unwrap();
        assert_eq!((estimate.value, estimate.interval, estimate.span()), (3.0, None, (1.0, 5.0)));
        assert_eq!(MEDIAN_REPETITIONS_MIN, five.len() + 1);
    }

    #[test]
    fn the_interval_of_a_median_covers_what_it_says() {
        for (n, coverage) in [(6, 0.96875), (12, 0.961_425_78)] {
            let mut random = Random::new(11);
            let trials = 4_000;
            let covered = (0..trials)
                .filter(|&seed| {
                    // Skewed, as latencies are.
                    let values: Vec<f64> = (0..n).map(|_| random.normal().exp()).collect();
                    let estimate = Estimate::of(&values, Statistic::Median, seed).unwrap();
                    let interval = estimate.interval.unwrap();
                    assert!((interval.coverage - coverage).abs() < 1e-7);
                    interval.contains(1.0)
                })
                .count();
            let share = covered as f64 / trials as f64;
            assert!((share - coverage).abs() < 0.01, "n = {n}: {share}");
        }
    }

    #[test]
    fn the_bootstrap_follows_its_seed_and_hardly_depends_on_it() {
        let values: Vec<f64> = (0..20).map(|i| f64::from(i * 37 % 101)).collect();
        let a = bootstrap_interval(&values, Statistic::Median, 1).unwrap();
        assert_eq!(Some(a), bootstrap_interval(&values, Statistic::Median, 1));
        let b = bootstrap_interval(&values, Statistic::Median, 2).unwrap();
        let width = a.high - a.low;
        assert!(
            (a.low - b.low).abs() <= 0.1 * width && (a.high - b.high).abs() <= 0.1 * width,
            "{a:?} {b:?}"
        );
    }

    /// Davison and Hinkley 1997 give the price of the percentile method at small samples: some points of coverage.
    #[test]
    fn bootstrap_intervals_cover_the_median_in_about_19_of_20_samples() {
        for (n, at_least) in [(6, 0.88), (12, 0.91)] {
            let mut random = Random::new(7);
            let trials = 200;
            let covered = (0..trials)
                .filter(|&seed| {
                    let values: Vec<f64> = (0..n).map(|_| random.normal()).collect();
                    bootstrap_interval(&values, Statistic::Median, seed).unwrap().contains(0.0)
                })
                .count();
            let share = covered as f64 / trials as f64;
            assert!((at_least..=0.99).contains(&share), "n = {n}: {share}");
        }
    }

    #[test]
    fn values_that_are_not_finite_are_left_out() {
        let estimate = Estimate::of(&[1.0, f64::NAN, 3.0, f64::INFINITY], Statistic::Median, 1).unwrap();
        assert_eq!((estimate.value, estimate.repetitions), (2.0, 2));
        assert_eq!(Estimate::of(&[f64::NAN], Statistic::Median, 1), None);
    }
}
