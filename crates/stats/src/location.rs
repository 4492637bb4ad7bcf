//! Where a sample lies: median, trimmed mean, quantiles, and the spread around them.

use serde::{Deserialize, Serialize};

/// How the repetitions of a cell become one figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// The median.
    #[default]
    Median,
    /// The mean of what is left without the `n` largest and the `n` smallest: `trimmed-mean(1)`.
    TrimmedMean(u32),
}

impl std::fmt::Display for Statistic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Statistic::Median => f.write_str("median"),
            Statistic::TrimmedMean(n) => write!(f, "trimmed-mean({n})"),
        }
    }
}

impl Statistic {
    /// The figure for `values`; `None` if there are too few of them.
    pub fn of(self, values: &[f64]) -> Option<f64> {
        self.of_sorted(&sorted(values))
    }

    /// The same for values that are already in ascending order.
    pub(crate) fn of_sorted(self, values: &[f64]) -> Option<f64> {
        match self {
            Statistic::Median => {
                let last = values.len().checked_sub(1)?;
                Some(f64::midpoint(values[last / 2], values[last.div_ceil(2)]))
            }
            Statistic::TrimmedMean(dropped) => {
                let dropped = dropped as usize;
                let kept = values.get(dropped..values.len().checked_sub(dropped)?)?;
                (!kept.is_empty()).then(|| kept.iter().sum::<f64>() / kept.len() as f64)
            }
        }
    }
}

/// The middle value, or the mean of the two middle ones; `None` for no values.
pub fn median(values: &[f64]) -> Option<f64> {
    pitot_meter::median(&mut values.to_vec())
}

/// The mean without the `k` largest and `k` smallest values; `None` if that leaves nothing.
pub fn trimmed_mean(values: &[f64], k: u32) -> Option<f64> {
    Statistic::TrimmedMean(k).of(values)
}

/// The `q`-quantile (0 to 1), interpolated as type 7 of Hyndman and Fan 1996; `None` for no values.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    quantile_of_sorted(&sorted(values), q)
}

/// Makes the median absolute deviation of normal values their standard deviation.
pub(crate) const NORMAL_SCALE: f64 = 1.482_602_218_505_602;

/// The median absolute deviation from the median, unscaled; `None` for no values.
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    median(&values.iter().map(|v| (v - middle).abs()).collect::<Vec<_>>())
}

/// The values in ascending order.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

pub(crate) fn quantile_of_sorted(values: &[f64], q: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = values[position.floor() as usize];
    let above = values[position.ceil() as usize];
    Some(below + (above - below) * position.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_statistic_of_that_name() {
        for values in [&[3.0, 1.0, 2.0][..], &[4.0, 1.0, 2.0, 3.0], &[]] {
            assert_eq!(median(values), Statistic::Median.of(values));
        }
    }

    #[test]
    fn quantiles_agree_with_numpy() {
        // numpy.quantile([3,1,4,1,5,9,2,6], [.1, .25, .5, .9]) in numpy 2.4.6 (type 7).
        let values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0];
        for (q, expected) in [(0.1, 1.0), (0.25, 1.75), (0.5, 3.5), (0.9, 6.9)] {
            assert!((quantile(&values, q).unwrap() - expected).abs() < 1e-12, "{q}");
        }
        assert_eq!(median_absolute_deviation(&values), Some(2.0));
    }

    #[test]
    fn a_trimmed_mean_drops_both_ends() {
        // The five CPU figures of E5 at 100 to 500 connections; scipy.stats.trim_mean(.., 0.2) of scipy 1.17.1.
        let values = [28.06, 43.66, 47.09, 59.04, 54.44];
        assert!((trimmed_mean(&values, 1).unwrap() - 48.396_666_666_666_67).abs() < 1e-12);
        assert_eq!(trimmed_mean(&values, 2), Some(47.09));
        assert_eq!(trimmed_mean(&values, 3), None);
        assert_eq!(trimmed_mean(&values[..4], 2), None);
    }
}
