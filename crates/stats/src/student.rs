//! Student's t: the mean of a few values that are about normal, such as sums of many samples.
//!
//! Student 1908. The distribution is the regularised incomplete beta function, by its continued fraction (NIST Digital Library of
//! Mathematical Functions, 8.17.22) with the method of Lentz.

use crate::interval::Interval;

/// The mean of values, with its interval at `level` and the two-sided p-value of a mean of zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Where it may lie.
    pub interval: Interval,
    /// The p-value of a true mean of zero.
    pub p: f64,
}

/// The mean of at least two values; `None` of fewer.
pub fn mean(values: &[f64], level: f64) -> Option<Mean> {
    let count = values.len() as f64;
    if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let value = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - value).powi(2)).sum::<f64>() / (count - 1.0);
    let error = (variance / count).sqrt();
    let freedom = count - 1.0;
    let half = error * quantile(level, freedom);
    let p = match error {
        error if error > 0.0 => two_sided(value / error, freedom),
        _ if value == 0.0 => 1.0,
        _ => 0.0,
    };
    Some(Mean { value, interval: Interval { low: value - half, high: value + half, coverage: level }, p })
}

/// The probability of a t at least so far from zero.
fn two_sided(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// The t that is exceeded, on both sides together, with probability 1 - `level`.
fn quantile(level: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if two_sided(middle, freedom) > 1.0 - level {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The regularised incomplete beta function.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast on this side only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = (a * x.ln() + b * (1.0 - x).ln() - ln_beta(a, b)).exp() / a;
    let tiny = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut fraction, mut c, mut d) = (1.0, 1.0, 1.0 / tiny(1.0 - (a + b) * x / (a + 1.0)));
    fraction *= d;
    for step in 1..500 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / tiny(1.0 + even * d);
        c = tiny(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / tiny(1.0 + odd * d);
        c = tiny(1.0 + odd / c);
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-14 {
            break;
        }
    }
    front * fraction
}

fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// The logarithm of the gamma function of a positive number: Stirling's series, after steps up to where it is exact.
fn ln_gamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < 15.0 {
        below += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        // R: qt(0.975, df).
        for (freedom, t) in
            [(1.0, 12.706_204_736), (2.0, 4.302_652_730), (9.0, 2.262_157_163), (100.0, 1.983_971_519)]
        {
            assert!((quantile(0.95, freedom) - t).abs() < 1e-7, "{freedom}: {}", quantile(0.95, freedom));
        }
        // R: 2 * pt(-3, 5).
        assert!((two_sided(3.0, 5.0) - 0.030_099_247_9).abs() < 1e-9, "{}", two_sided(3.0, 5.0));
        assert!((two_sided(-3.0, 5.0) - two_sided(3.0, 5.0)).abs() < 1e-15);
    }

    #[test]
    fn the_mean_of_values_is_that_of_r() {
        // R: t.test(c(1, 2, 3, 4, 5)).
        let of = mean(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert!((of.value - 3.0).abs() < 1e-12 && (of.p - 0.013_235_6).abs() < 1e-6, "{of:?}");
        assert!(
            (of.interval.low - 1.036_756_8).abs() < 1e-6 && (of.interval.high - 4.963_243_2).abs() < 1e-6
        );
        assert_eq!(mean(&[1.0], 0.95), None);
        assert_eq!(mean(&[0.0, 0.0], 0.95).unwrap().p, 1.0);
    }
}
