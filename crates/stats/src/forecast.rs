//! What more generations would show.
//!
//! The sample size of a t-test (Guenther 1981), enlarged by the efficiency of the signed-rank test under normal noise
//! (pi / 3) and by two. In simulated runs the number that it names finds the difference in 80 to 90% where it takes
//! more than the fewest that can decide at all; docs/method-slices.md has the table.
//! The spread comes from the generations seen so far. From ten of them it is known to within about a quarter, and the
//! number that follows to within a half, so a report says "about".

use crate::comparison::{ALPHA, generations_needed};
use crate::generation::robust_deviation;
use crate::ranks::normal_above;
use crate::samples::{Logarithms, Samples};

/// The share of runs that find the difference with the generations that a forecast names.
pub const POWER: f64 = 0.8;

/// How many times as many generations a run until decided needs for the same power, if its time is over after them: the last look may
/// err in three quarters of the cases.
const PRICE_OF_LOOKS: f64 = 1.1;

/// How many generations beyond those of `samples` would show a true `difference` (0.05: 5%, either way) as one of `size`
/// comparisons judged with this tolerance, in 80% of runs. Zero if those seen should have shown it.
///
/// The time that they take is their number times that of a generation. `None` if the difference is within the
/// tolerance, or if fewer than three generations tell too little of the spread, or samples are not paired.
pub fn more_generations(samples: &Samples, difference: f64, size: usize, tolerance: f64) -> Option<usize> {
    let seen = Seen::of(samples)?;
    let effect = difference.abs().ln_1p() - tolerance.max(0.0).ln_1p();
    if effect.is_nan() || effect <= 0.0 {
        return None;
    }
    let (z, extra) = quantiles(size);
    let enough = EFFICIENCY * (z * seen.spread / effect).powi(2) + extra;
    let needed = (seen.price() * enough).ceil() as usize;
    Some(needed.max(seen.least(size)).saturating_sub(seen.count))
}

/// The smallest difference (0.05: 5%) that so many generations in all would show in 80% of runs; `None` if they are too
/// few for any, or if too little is known of the spread.
pub fn difference_shown(samples: &Samples, generations: usize, size: usize, tolerance: f64) -> Option<f64> {
    let seen = Seen::of(samples)?;
    let (z, extra) = quantiles(size);
    let rest = generations as f64 / seen.price() - extra;
    if generations < seen.least(size) || rest <= 0.0 {
        return None;
    }
    let effect = (EFFICIENCY / rest).sqrt() * z * seen.spread + tolerance.max(0.0).ln_1p();
    Some(effect.exp_m1())
}

/// The variance of the signed-rank test's estimate as a multiple of a mean's, for normal noise.
const EFFICIENCY: f64 = std::f64::consts::PI / 3.0;

/// What the generations so far say.
struct Seen {
    count: usize,
    spread: f64,
    /// Whether they were looked at after each.
    is_watched: bool,
}

impl Seen {
    fn of(samples: &Samples) -> Option<Seen> {
        if matches!(samples, Samples::Independent(..)) {
            return None;
        }
        let Logarithms { a, b, .. } = samples.logarithms()?;
        let ratios: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        let is_watched = matches!(samples, Samples::UntilDecided(_) | Samples::TimeOver(_));
        let spread = robust_deviation(&ratios).filter(|_| ratios.len() >= 3)?;
        Some(Seen { count: ratios.len(), spread, is_watched })
    }

    fn price(&self) -> f64 {
        if self.is_watched { PRICE_OF_LOOKS } else { 1.0 }
    }

    /// The fewest generations that can decide one of `size` comparisons.
    fn least(&self, size: usize) -> usize {
        generations_needed(size, self.is_watched)
    }
}

/// The sum of the quantiles of level and power, and the generations that a spread of zero would still need.
fn quantiles(size: usize) -> (f64, f64) {
    // Holm's first step, so that the answer holds for the comparison that is decided first.
    let level = normal_quantile_above(ALPHA / (2.0 * size.max(1) as f64));
    (level + normal_quantile_above(1.0 - POWER), level * level / 2.0 + 2.0)
}

/// The value that a standard normal variable exceeds with probability `tail`.
fn normal_quantile_above(tail: f64) -> f64 {
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if normal_above(middle) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Random, signed_rank};

    /// Ratios whose robust deviation is `spread`, nearly: normal quantiles.
    fn spread_by(spread: f64, count: usize) -> Vec<f64> {
        let at = |i: usize| normal_quantile_above((i as f64 + 0.5) / count as f64);
        (0..count).map(|i| spread * at(i)).collect()
    }

    #[test]
    fn quantiles_agree_with_scipy() {
        // scipy.stats.norm.isf of scipy 1.17.1.
        for (tail, z) in [(0.2, 0.841_621_233_6), (0.025, 1.959_963_984_5), (0.9, -1.281_551_565_5)] {
            assert!((normal_quantile_above(tail) - z).abs() < 1e-5);
        }
    }

    #[test]
    fn so_many_generations_find_the_difference_in_four_of_five_runs() {
        let spread = 0.05;
        let samples = Samples::Generations(spread_by(spread, 40));
        for (size, difference) in [(1, 0.03), (1, 0.06), (5, 0.05), (14, 0.05), (14, 0.12)] {
            let shows = |n: usize| difference_shown(&samples, n, size, 0.01).is_some_and(|d| d <= difference);
            let count = (1..).find(|&n| shows(n));
            let (count, effect) = (count.unwrap(), difference.ln_1p() - 1.01f64.ln());
            let mut random = Random::new(1);
            let found = (0..300).filter(|_| {
                let ratios: Vec<f64> = (0..count).map(|_| effect + spread * random.normal()).collect();
                signed_rank(&ratios).upper <= ALPHA / (2.0 * size as f64)
            });
            let power = found.count() as f64 / 300.0;
            assert!((0.72..0.99).contains(&power), "{size} {difference}: {power} with {count}");
        }
    }

    #[test]
    fn both_directions_of_the_question_agree() {
        for (size, until_decided) in [(1, false), (14, false), (5, true)] {
            let ratios = spread_by(0.06, 12);
            let samples =
                if until_decided { Samples::UntilDecided(ratios) } else { Samples::Generations(ratios) };
            let more = more_generations(&samples, 0.05, size, 0.01).unwrap();
            assert!(more > 0);
            assert!(difference_shown(&samples, 12 + more, size, 0.01).unwrap() <= 0.05);
            assert!(difference_shown(&samples, 12 + more - 2, size, 0.01).unwrap() > 0.05);
        }
    }

    #[test]
    fn what_cannot_be_said_is_none() {
        let samples = Samples::Generations(spread_by(0.05, 10));
        assert_eq!(more_generations(&samples, 0.01, 1, 0.02), None);
        assert_eq!(difference_shown(&samples, 5, 1, 0.02), None);
        assert_eq!(more_generations(&Samples::Generations(vec![0.1, 0.2]), 0.05, 1, 0.02), None);
        assert_eq!(more_generations(&Samples::Independent(vec![1.0; 9], vec![1.0; 9]), 0.05, 1, 0.0), None);
        // Without any spread it is the number of comparisons that decides.
        assert_eq!(more_generations(&Samples::Generations(vec![0.0; 3]), 0.05, 14, 0.01), Some(7));
    }
}
