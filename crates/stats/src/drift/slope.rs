//! The slope of Theil and Sen.

use pitot_meter::median;

/// The median of the slopes of all pairs of points (time, value) with different times, in values per unit of
/// time; 0 if there is no such pair.
///
/// Theil, "A rank-invariant method of linear and polynomial regression analysis", Proceedings of the KNAW 53, 1950;
/// Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63, 1968. Up to 29% of the points may be
/// anything at all. Takes all pairs, so quadratic in the points.
pub fn theil_sen(times: &[f64], values: &[f64]) -> f64 {
    TheilSen::new(times).slope(values)
}

/// The estimate for many series at the same times.
pub(crate) struct TheilSen {
    /// Two places and the inverse of their distance in time.
    pairs: Vec<(u32, u32, f64)>,
    slopes: Vec<f64>,
}

impl TheilSen {
    pub fn new(times: &[f64]) -> TheilSen {
        let mut pairs = Vec::new();
        for (j, end) in times.iter().enumerate() {
            for (i, begin) in times[..j].iter().enumerate() {
                if begin != end {
                    pairs.push((i as u32, j as u32, 1.0 / (end - begin)));
                }
            }
        }
        TheilSen { slopes: Vec::with_capacity(pairs.len()), pairs }
    }

    pub fn slope(&mut self, values: &[f64]) -> f64 {
        self.slopes.clear();
        self.slopes
            .extend(self.pairs.iter().map(|&(i, j, per)| (values[j as usize] - values[i as usize]) * per));
        median(&mut self.slopes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_has_its_slope_whatever_a_quarter_of_the_points_say() {
        let times: Vec<f64> = (0..40).map(f64::from).collect();
        let mut values: Vec<f64> = times.iter().map(|t| 3.0 - 0.5 * t).collect();
        assert_eq!(theil_sen(&times, &values), -0.5);
        for value in values.iter_mut().step_by(4) {
            *value = 1e9;
        }
        assert!((theil_sen(&times, &values) + 0.5).abs() < 0.05);
    }

    #[test]
    fn few_or_equal_times_have_no_slope() {
        assert_eq!(theil_sen(&[], &[]), 0.0);
        assert_eq!(theil_sen(&[1.0, 1.0], &[1.0, 5.0]), 0.0);
    }

    proptest! {
        #[test]
        fn a_shift_changes_nothing_a_scale_scales_and_a_reversal_turns(
            values in prop::collection::vec(-1e3..1e3f64, 2..40), shift in -1e3..1e3f64, scale in 0.1..10.0f64,
        ) {
            let times: Vec<f64> = (0..values.len()).map(|i| i as f64).collect();
            let slope = theil_sen(&times, &values);
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + a.abs() + b.abs());
            let other: Vec<f64> = values.iter().map(|v| shift + scale * v).collect();
            prop_assert!(near(theil_sen(&times, &other), scale * slope));
            let back: Vec<f64> = values.iter().rev().copied().collect();
            prop_assert!(near(theil_sen(&times, &back), -slope));
        }
    }
}
