//! The test of Mann and Kendall, and the two usual corrections of its variance for autocorrelation.

use super::slope::TheilSen;
use crate::location::sorted;
use crate::ranks::{doubled_midranks, normal_above};

/// What the variance is corrected for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correction {
    /// For ties only: values are independent.
    Ties,
    /// By the autocorrelations of the ranks after the trend is removed, as far as they are significant.
    /// Hamed and Rao, "A modified Mann-Kendall trend test for autocorrelated data", Journal of Hydrology 204, 1998.
    HamedRao,
    /// By the autocorrelations that a first-order autoregression has, after the trend is removed.
    /// Yue and Wang, "The Mann-Kendall test modified by effective sample size to detect trend in serially correlated
    /// hydrological series", Water Resources Management 18, 2004.
    YueWang,
}

/// The outcome of [`mann_kendall`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannKendall {
    /// Pairs that rise less pairs that fall.
    pub s: f64,
    /// The variance of `s` without a trend, corrected.
    pub variance: f64,
    /// The standardised score, with correction for continuity.
    pub z: f64,
    /// Two-sided, from the normal distribution.
    pub p: f64,
}

/// The test for a monotone trend of values at even times.
///
/// Mann, "Nonparametric tests against trend", Econometrica 13, 1945; Kendall, "Rank Correlation Methods", 1948.
/// Pitot does not decide by it (see the crate's documentation); it is here to be compared with.
pub fn mann_kendall(values: &[f64], correction: Correction) -> MannKendall {
    let n = values.len() as f64;
    let mut s = 0.0;
    for (j, end) in values.iter().enumerate() {
        for begin in &values[..j] {
            s += f64::from(end.partial_cmp(begin).map_or(0, |order| order as i8));
        }
    }
    let spread = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let ties: f64 = sorted(values).chunk_by(|a, b| a == b).map(|tied| spread(tied.len() as f64)).sum();
    let independent = (spread(n) - ties) / 18.0;
    let variance = independent * inflation(values, correction);
    let z = if variance > 0.0 && s != 0.0 { (s - s.signum()) / variance.sqrt() } else { 0.0 };
    MannKendall { s, variance, z, p: 2.0 * normal_above(z.abs()) }
}

/// How many times the variance of independent values.
fn inflation(values: &[f64], correction: Correction) -> f64 {
    let n = values.len();
    if correction == Correction::Ties || n < 4 {
        return 1.0;
    }
    let times: Vec<f64> = (0..n).map(|i| i as f64).collect();
    let slope = TheilSen::new(&times).slope(values);
    let mut left: Vec<f64> = values.iter().zip(&times).map(|(y, t)| y - slope * t).collect();
    let m = n as f64;
    let sum: f64 = if correction == Correction::HamedRao {
        left = doubled_midranks(&left).into_iter().map(|doubled| doubled as f64 / 2.0).collect();
        let significant = 1.959_964 / m.sqrt();
        let weight = |k: f64| (m - k) * (m - k - 1.0) * (m - k - 2.0);
        (1..n)
            .map(|k| (autocorrelation(&left, k), weight(k as f64)))
            .filter(|(r, _)| r.abs() > significant)
            .map(|(r, weight)| r * weight * 2.0 / (m * (m - 1.0) * (m - 2.0)))
            .sum()
    } else {
        let first = autocorrelation(&left, 1);
        (1..n).map(|k| 2.0 * (1.0 - k as f64 / m) * first.powi(k as i32)).sum()
    };
    (1.0 + sum).max(0.0)
}

fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let product: f64 = values.iter().zip(&values[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum();
    if square > 0.0 { product / square } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_and_variances_are_those_counted_by_hand() {
        // Of ten values that only rise: all 45 pairs, and 10*9*25/18.
        let rising: Vec<f64> = (0..10).map(f64::from).collect();
        let test = mann_kendall(&rising, Correction::Ties);
        assert_eq!((test.s, test.variance), (45.0, 125.0));
        assert!((test.z - 44.0 / 125f64.sqrt()).abs() < 1e-12);
        assert!((test.p - 8.303_07e-5).abs() < 1e-8, "{}", test.p);
        // 1 2 2 3: five pairs rise, one is tied; (4*3*13 - 2*1*9)/18.
        let tied = mann_kendall(&[1.0, 2.0, 2.0, 3.0], Correction::Ties);
        assert_eq!(tied.s, 5.0);
        assert!((tied.variance - 138.0 / 18.0).abs() < 1e-12);
        // One of six pairs falls.
        assert_eq!(mann_kendall(&[10.0, 15.0, 14.0, 20.0], Correction::Ties).s, 4.0);
    }

    #[test]
    fn backwards_the_score_turns_and_autocorrelation_widens() {
        let values: Vec<f64> = (0..60).map(|i| (f64::from(i) / 6.0).sin() + f64::from(i) / 60.0).collect();
        let back: Vec<f64> = values.iter().rev().copied().collect();
        for correction in [Correction::Ties, Correction::HamedRao, Correction::YueWang] {
            assert_eq!(mann_kendall(&values, correction).s, -mann_kendall(&back, correction).s);
        }
        let plain = mann_kendall(&values, Correction::Ties).variance;
        assert!(mann_kendall(&values, Correction::YueWang).variance > 2.0 * plain);
    }
}
