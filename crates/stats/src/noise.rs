//! How far the repetitions of a cell lie apart, and which of them stand out.

use crate::location::{NORMAL_SCALE, median, median_absolute_deviation};
use serde::Serialize;

/// A spread up to this share of the median is what a quiet machine shows from one server process to the next.
pub const STEADY_MAX: f64 = 0.10;

/// With fewer values an outlier cannot be distinguished from chance.
const OUTLIER_REPETITIONS_MIN: usize = 5;

/// The bound on the modified z-score that Iglewicz and Hoaglin 1993 recommend.
const OUTLIER_SCORE_MIN: f64 = 3.5;

/// Few values give a chance deviation that makes others look wild: what stands out is also far off in proportion.
const OUTLIER_SHARE_MIN: f64 = 0.10;

/// The spread of a cell's repetitions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The standard deviation as estimated by the median absolute deviation, as a share of the median.
    pub relative: f64,
    /// Indices of the repetitions that stand out. They are reported and kept: a median is robust to them, and a server that is
    /// slow one time in ten is a finding, not a mistake.
    pub outliers: Vec<usize>,
}

impl Spread {
    /// The spread of `values`; `None` for fewer than two, or around zero.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let middle = median(values)?;
        if values.len() < 2 || middle == 0.0 {
            return None;
        }
        let deviation = NORMAL_SCALE * median_absolute_deviation(values)?;
        let stands_out = |v: f64| {
            let distance = (v - middle).abs();
            distance > OUTLIER_SCORE_MIN * deviation && distance > OUTLIER_SHARE_MIN * middle.abs()
        };
        let outliers = if values.len() < OUTLIER_REPETITIONS_MIN {
            Vec::new()
        } else {
            (0..values.len()).filter(|&i| stands_out(values[i])).collect()
        };
        Some(Spread { relative: deviation / middle.abs(), outliers })
    }

    /// Whether the repetitions agree to within [`STEADY_MAX`].
    pub fn is_steady(&self) -> bool {
        self.relative <= STEADY_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_normal_values_is_their_standard_deviation() {
        // Normal quantiles at (i - 0.5) / 9, mean 100, standard deviation 10, by scipy.stats.norm.ppf.
        let values = [84.07, 90.33, 94.10, 97.18, 100.0, 102.82, 105.90, 109.67, 115.93];
        let spread = Spread::of(&values).unwrap();
        assert!((0.08..0.12).contains(&spread.relative), "{spread:?}");
        assert!(spread.outliers.is_empty());
    }

    #[test]
    fn one_wild_repetition_is_told_and_does_not_widen_the_spread() {
        let spread = Spread::of(&[100.0, 101.0, 99.0, 250.0, 100.5, 99.5]).unwrap();
        assert_eq!(spread.outliers, [3]);
        assert!(spread.is_steady(), "{spread:?}");
    }

    #[test]
    fn values_that_wander_are_not_steady() {
        assert!(!Spread::of(&[100.0, 140.0, 70.0, 120.0, 60.0, 150.0]).unwrap().is_steady());
    }

    #[test]
    fn too_few_values_have_no_spread_and_no_outliers() {
        assert_eq!(Spread::of(&[1.0]), None);
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[0.0, 0.0, 0.0]), None);
        assert!(Spread::of(&[1.0, 1.0, 1.0, 9.0]).unwrap().outliers.is_empty());
    }
}
