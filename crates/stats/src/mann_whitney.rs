//! The Mann-Whitney test for two independent samples, and the interval of the shift between them.
//!
//! Mann and Whitney 1947; Hollander, Wolfe and Chicken 2014, chapter 4. It serves where repetitions cannot be paired:
//! two runs, which share no blocks. Used on blocks it errs on the safe side, since what a block's cells share makes
//! the sums of ranks wander less than independent samples would.

use crate::interval::Interval;
use crate::location::{median, sorted};
use crate::ranks::{doubled_midranks, normal_above};
use crate::signed_rank::{Tails, exact_skip};

/// Up to this many values in both samples the null distribution is counted out.
const EXACT_MAX: usize = 80;

/// The test of `a` against `b`; the upper tail is small when `a` lies above `b`.
///
/// Ties get mid-ranks, and the distribution is that of all ways to deal out those very ranks, so the p-value is
/// exact with ties too. An empty sample decides nothing: both tails are 1.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Tails {
    let pooled: Vec<f64> = a.iter().chain(b).copied().collect();
    let ranks = doubled_midranks(&pooled);
    let seen: usize = ranks[..a.len()].iter().sum();
    if pooled.len() > EXACT_MAX {
        return normal_tails(&ranks, a.len(), seen);
    }
    let distribution = null_distribution(&ranks, a.len());
    Tails { lower: distribution[..=seen].iter().sum(), upper: distribution[seen..].iter().sum() }
}

/// The smallest two-sided p-value that samples of these sizes can give: no overlap at all.
pub(crate) fn mann_whitney_p_min(a: usize, b: usize) -> f64 {
    // One over the number of ways to choose a of a + b, as a product to stay in range.
    let one_sided: f64 = (1..=a).map(|i| i as f64 / (b + i) as f64).product();
    (2.0 * one_sided).min(1.0)
}

/// The Hodges-Lehmann estimate of the shift from `b` to `a`: the median of all differences.
pub fn shift(a: &[f64], b: &[f64]) -> Option<f64> {
    median(&differences(a, b))
}

/// The interval of the shift from `b` to `a` that the test does not reject at `level`; `None` for too few values.
pub fn shift_interval(a: &[f64], b: &[f64], level: f64) -> Option<Interval> {
    let differences = sorted(&differences(a, b));
    let count = a.len() + b.len();
    let (skip, coverage) = if count > EXACT_MAX {
        normal_skip(a.len(), b.len(), level)
    } else {
        let ranks: Vec<usize> = (1..=count).map(|rank| 2 * rank).collect();
        let least = a.len() * (a.len() + 1);
        exact_skip(null_distribution(&ranks, a.len()).into_iter().skip(least).step_by(2), level)
    }?;
    let last = differences.len().checked_sub(1 + skip)?;
    Some(Interval { low: differences[skip], high: differences[last], coverage })
}

fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().flat_map(|x| b.iter().map(move |y| x - y)).collect()
}

/// The probability of each doubled rank sum of `chosen` out of `ranks`, all choices being equally likely.
fn null_distribution(ranks: &[usize], chosen: usize) -> Vec<f64> {
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable();
    // below[i]: the sum of the i lowest ranks.
    let mut below = vec![0; ranks.len() + 1];
    for (i, rank) in ranks.iter().enumerate() {
        below[i + 1] = below[i] + rank;
    }
    // ways[k][s]: the number of ways to choose k of the ranks seen so far with the sum s.
    let mut ways = vec![vec![0.0; below[ranks.len()] + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for (seen, &rank) in ranks.iter().enumerate() {
        for k in (1..=chosen.min(seen + 1)).rev() {
            let (fewer, these) = ways.split_at_mut(k);
            // From the sum of this rank and the lowest to that of this rank and the highest before it.
            let (low, high) = (below[k - 1], below[seen] - below[seen + 1 - k]);
            let fewer = &fewer[k - 1][low..=high];
            for (these, fewer) in these[0][low + rank..=high + rank].iter_mut().zip(fewer) {
                *these += fewer;
            }
        }
    }
    let mut distribution = ways.swap_remove(chosen);
    let all: f64 = distribution.iter().sum();
    distribution.iter_mut().for_each(|w| *w /= all);
    distribution
}

fn normal_tails(ranks: &[usize], chosen: usize, seen: usize) -> Tails {
    let count = ranks.len() as f64;
    let mean = ranks.iter().sum::<usize>() as f64 / count;
    // The variance of a sum drawn without replacement; ties shrink it through the ranks themselves.
    let spread: f64 = ranks.iter().map(|&r| (r as f64 - mean).powi(2)).sum();
    let chosen = chosen as f64;
    let deviation = (chosen * (count - chosen) / (count * (count - 1.0)) * spread).sqrt();
    if deviation == 0.0 {
        return Tails { lower: 1.0, upper: 1.0 };
    }
    let distance = seen as f64 - chosen * mean;
    // The correction for continuity is half a rank, which is one in doubled ranks.
    Tails {
        lower: normal_above(-(distance + 1.0) / deviation),
        upper: normal_above((distance - 1.0) / deviation),
    }
}

fn normal_skip(a: usize, b: usize, level: f64) -> Option<(usize, f64)> {
    let pairs = (a * b) as f64;
    let deviation = (pairs * (a + b + 1) as f64 / 12.0).sqrt();
    let mut skip = 0;
    let mut found = None;
    loop {
        let missed = 2.0 * normal_above((pairs / 2.0 - 0.5 - skip as f64) / deviation);
        if missed > 1.0 - level {
            return found;
        }
        found = Some((skip, 1.0 - missed));
        skip += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::LEVEL;

    /// Permeability of the human chorioamnion, Hollander and Wolfe 1973, page 69: the example of R's `wilcox.test`,
    /// which gives p = 0.1272 one-sided, 0.2544 two-sided.
    const AT_TERM: [f64; 10] = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    const EARLIER: [f64; 5] = [1.15, 0.88, 0.90, 0.74, 1.21];

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn p_values_are_the_published_ones() {
        // To all digits by mannwhitneyu(a, b, method='exact') of scipy 1.17.1.
        let tails = mann_whitney(&AT_TERM, &EARLIER);
        assert!(near(tails.upper, 0.127_206_127_206_127_2), "{tails:?}");
        assert!(near(tails.two_sided(), 0.254_412_254_412_254_4));
    }

    #[test]
    fn ties_agree_with_a_full_enumeration() {
        // mannwhitneyu(a, b, method=PermutationMethod(n_resamples=inf)) of scipy 1.17.1: all 924 ways.
        let (a, b) = ([1.0, 2.0, 2.0, 3.0, 5.0, 5.0], [2.0, 4.0, 5.0, 6.0, 6.0, 7.0]);
        let tails = mann_whitney(&a, &b);
        assert!(near(tails.lower, 0.040_043_290_043_290_04), "{tails:?}");
        assert!(near(tails.two_sided(), 0.080_086_580_086_580_08));
    }

    #[test]
    fn the_shift_and_its_interval_are_the_published_ones() {
        // R: wilcox.test(x, y, conf.int = TRUE) gives 0.305 and -0.15 to 0.76; inverting scipy's test agrees.
        assert!(near(shift(&AT_TERM, &EARLIER).unwrap(), 0.305));
        let interval = shift_interval(&AT_TERM, &EARLIER, LEVEL).unwrap();
        assert!(near(interval.low, -0.15) && near(interval.high, 0.76), "{interval:?}");
    }

    #[test]
    fn four_a_side_are_the_fewest_that_can_tell() {
        assert!(near(mann_whitney_p_min(4, 4), 2.0 / 70.0));
        let (high, low) = ([5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0]);
        assert!(near(mann_whitney(&high, &low).two_sided(), mann_whitney_p_min(4, 4)));
        assert!(shift_interval(&high, &low, LEVEL).is_some());
        assert!(mann_whitney_p_min(3, 3) > 0.05);
        assert_eq!(shift_interval(&high[..3], &low[..3], LEVEL), None);
    }

    #[test]
    fn empty_or_equal_samples_are_no_evidence() {
        assert_eq!(mann_whitney(&[], &[1.0, 2.0]).two_sided(), 1.0);
        assert_eq!(mann_whitney(&[3.0; 5], &[3.0; 5]).two_sided(), 1.0);
        assert_eq!(mann_whitney(&[3.0; 50], &[3.0; 50]).two_sided(), 1.0);
        assert_eq!(shift_interval(&[], &[], LEVEL), None);
    }

    #[test]
    fn the_normal_limit_takes_over_for_large_samples() {
        // mannwhitneyu(A, B, method='asymptotic') of scipy 1.17.1.
        let a: Vec<f64> = (0..80).map(|i| f64::from(i * 37 % 101)).collect();
        let b: Vec<f64> = (0..70).map(|i| f64::from(i * 53 % 97 + 8)).collect();
        let p = mann_whitney(&a, &b).two_sided();
        assert!((p - 0.365_915_730_618_808_18).abs() < 1e-6, "{p}");
        let (a, b) = (&a[..EXACT_MAX / 2], &b[..EXACT_MAX / 2]);
        let exact = shift_interval(a, b, LEVEL).unwrap();
        let (skip, _) = normal_skip(a.len(), b.len(), LEVEL).unwrap();
        assert!((sorted(&differences(a, b))[skip] - exact.low).abs() <= 1.0);
    }
}
