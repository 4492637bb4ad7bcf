//! Lasting changes of level in the history of a benchmark: one figure for each of its runs, compared as logarithms.
//!
//! [`level_changes`] finds them in these steps:
//!
//! 1. **Scores.** A value counts by how many standard deviations it lies from the median, three at most, so that an outlier
//!    weighs no more than a clear value. The deviation is taken from the differences of neighbours, which a change of level
//!    hardly touches.
//! 2. **Search.** The place is sought where the scores before and after differ most: once of all values before and after it
//!    (as by Pettitt, "A non-parametric approach to the change-point problem", Applied Statistics 28, 1979, with scores
//!    instead of ranks, which say too little of three values), once of equally many near ones (5, 10, 20 and so on; moving
//!    sums, as of Eichinger and Kirch, "A MOSUM procedure for the estimation of multiple random change points", Bernoulli 24,
//!    2018). The second search finds a level that comes back, which the first one misses. Each has its share of the
//!    level; fewer than fifteen values have only the first. The same search in random orders of the values says what is found
//!    without a change: any distribution of the noise keeps the level. Where a change is found, the stretches on either side
//!    of it are searched in turn (binary segmentation; Vostrikova, "Detecting disorder in multidimensional random processes",
//!    Soviet Mathematics Doklady 24, 1981).
//! 3. **Confirmation.** Each change is placed anew between its neighbours, and dropped if the values up to them do not differ by
//!    Mann and Whitney's test.
//! 4. **A second look.** Random orders know neither autocorrelation nor that the noise changes. If anything was found, both are
//!    taken from what is left without the changes, and steps 2 and 3 are done once more: a difference counts for less where
//!    neighbours are alike (the variance of a mean of a first-order autoregression), and where the noise is larger than usual.
//!
//! The ratio is the shift of Hodges and Lehmann between neighbouring levels, with Mann and Whitney's interval. Of a small change that
//! was just found the ratio tends to be too large, since it would not have been found otherwise.
//!
//! # What was measured
//! Of 200 histories each of 40 and of 100 runs, with noise of 2% (the standard deviation of the logarithm), those with a change that
//! was not there, in percent:
//!
//! | history | `level_changes` | `drift` | E-divisive | Pettitt | Otava |
//! |---|---|---|---|---|---|
//! | no change | 1.0, 1.0 | 1.0, 0.0 | 1.0, 1.5 | 1.5, 1.0 | 2.0, 8.0 |
//! | heavy tails | 0.5, 1.0 | 1.0, 0.5 | 1.0, 1.5 | 1.5, 1.5 | 6.0, 11.0 |
//! | skewed | 2.0, 2.0 | 0.5, 2.0 | 2.0, 2.0 | 3.5, 3.0 | 8.0, 13.0 |
//! | autocorrelation 0.3 | 7.0, 6.0 | 4.0, 1.5 | 12.0, 14.5 | 14.5, 14.5 | 20.5, 36.5 |
//! | the noise triples half way | 3.0, 1.0 | 5.5, 8.5 | 12.0, 69.5 | 4.0, 8.0 | 10.5, 21.5 |
//! | one spike of 20% | 1.0, 1.5 | 2.5, 1.0 | 1.5, 3.0 | 3.0, 3.0 | 12.5, 16.5 |
//! | two spikes, one run between them | 4.0, 2.0 | 15.0, 9.5 | 6.0, 10.0 | 2.0, 2.5 | 14.5, 27.5 |
//!
//! The changes that were found within 5 runs of their place (10, of 100 runs), in percent:
//!
//! | history | `level_changes` | `drift` | E-divisive | Pettitt | Otava |
//! |---|---|---|---|---|---|
//! | step of 2% | 32, 82 | 4, 27 | 38, 83 | 42, 86 | 38, 72 |
//! | step of 5% | 98, 100 | 58, 98 | 98, 100 | 98, 100 | 98, 100 |
//! | step of 10% | 100, 100 | 98, 100 | 100, 100 | 100, 100 | 100, 100 |
//! | step of 5%, heavy tails | 100, 100 | 61, 95 | 100, 100 | 100, 100 | 98, 100 |
//! | step of 5%, 3 runs ago | 49, 54 | 26, 12 | 60, 68 | 13, 8 | 74, 80 |
//! | step of 5%, 4 runs ago | 70, 78 | 36, 38 | 82, 89 | 56, 48 | 83, 93 |
//! | step of 5%, 6 runs ago | 91, 95 | 56, 82 | 96, 98 | 92, 92 | 94, 96 |
//! | 5% for 10 runs, then back | 81, 81 | 4, 8 | 20, 25 | 23, 16 | 37, 74 |
//! | steps of 5% up, up and 10% down | 90, 100 | 21, 34 | 79, 100 | 79, 100 | 60, 100 |
//! | creep of 10% over the second half | 100, 100 | 4, 0 | 100, 100 | 100, 100 | 97, 100 |
//! | another machine: 25%, twice the noise | 100, 100 | 100, 100 | 100, 100 | 100, 100 | 100, 100 |
//!
//! `bench/histories.py` prints both, and the same with noise of 1%, with false alarms beside a change and distances from its place.
//! `drift` is the search of [`drift`](mod@crate::drift) for steps. E-divisive is that of Matteson and James, "A nonparametric approach
//! for multiple change point analysis of multivariate data", Journal of the American Statistical Association 109, 2014, and Pettitt's
//! test that of 1979, both with permutations at 2%. Otava is Apache Otava 0.8.0 with its defaults. E-divisive finds changes of the whole
//! distribution, so of the noise too. It and Otava find a step about one run earlier, and pay for it in the first table.
//!
//! - **The level.** Of 20,000 histories without a change, of 12, 15, 40 or 100 runs and with normal, heavy-tailed or skewed noise each, 0.9 to
//!   1.4% have one. Each stretch between changes is a history of its own: one with three changes has four chances. 0.3 to 0.6%
//!   of these histories have a p-value of at most 0.01, and less than 0.08% one of at most 0.001.
//! - **Autocorrelation** of 0.3 makes false alarms in 6 to 8% of histories, since what few runs tell of it is not much.
//! - **Intervals.** Of steps of 5% that are found, 96 to 98% of the intervals of the place hold it, and 89 to 97% of those of the ratio;
//!   of steps of 2% with ten runs after them or more, 90 to 98% and 78 to 97%; with four runs, about 80% and half of them.
//! - **Other histories.** The sizes were chosen by these histories; 400 others of each kind (seed 99) agree within what chance allows.
//! - **Revisions.** One more run moves, adds or removes a change that is more than ten runs old in 1 of 80 cases.
//! - **Time.** 300 values without a change take less than 0.1 ms, with four changes 9 ms; 10,000 values with twenty, half a second.
use std::ops::Range;

use pitot_meter::Random;

use crate::interval::{Interval, LEVEL};
use crate::location::median;
use crate::mann_whitney::{mann_whitney, mann_whitney_p_min, shift, shift_interval};

/// The chance of a change in a stretch without one, of independent values.
const FALSE_ALARMS: f64 = 0.02;

/// The least p-value of two neighbouring levels that are taken for the same.
const CONFIRMED: f64 = 0.02;

/// The fewest values on either side of a change.
const SIDE_MIN: usize = 3;

/// The fewest values on either side that are compared as equally many near ones.
const NEAR_MIN: usize = 5;

/// The largest score.
const SCORE_MAX: f64 = 3.0;

/// Random orders of the values of a stretch.
const ORDERS: usize = 399;

/// At most so many of the values on either side give the ratio and the place.
const SIDE_MAX: usize = 100;

/// The median of the absolute values of a normal distribution of standard deviation 1.
const NORMAL_MEDIAN: f64 = 0.674_49;

/// A lasting change of level between two neighbouring values of a history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelChange {
    /// The index of the first value after it.
    pub at: usize,
    /// Where `at` lies with 95% confidence, both ends included.
    pub between: [usize; 2],
    /// The level after it to the level before it.
    pub ratio: f64,
    /// The 95% interval of the ratio.
    pub interval: Interval,
    /// The chance of so clear a change in a stretch of independent values without one, 0.02 at most.
    pub p: f64,
}

/// The lasting changes of level of `values`, in order. Values that are not positive and finite are left out.
///
/// The same values have the same changes. At least three values on either side of a change are needed, and ten in all.
pub fn level_changes(values: &[f64]) -> Vec<LevelChange> {
    let usable: Vec<usize> =
        (0..values.len()).filter(|&i| values[i] > 0.0 && values[i].is_finite()).collect();
    let logs: Vec<f64> = usable.iter().map(|&i| values[i].ln()).collect();
    let mut found = confirmed(&logs, found(&logs, &vec![1.0; logs.len()]));
    if !found.is_empty() {
        found = confirmed(&logs, self::found(&logs, &discounts(&logs, &found)));
    }
    let change = |i: usize| {
        let change = level_change(&logs, &between_neighbours(&found, i, logs.len()), found[i])?;
        Some(LevelChange { at: usable[change.at], between: change.between.map(|at| usable[at]), ..change })
    };
    (0..found.len()).filter_map(change).collect()
}

/// The first index after a change, and the chance of so clear a change.
#[derive(Clone, Copy, Debug)]
struct Found {
    at: usize,
    p: f64,
}

/// Changes in order, of all stretches that a change divides. `discounts` are those of every place.
fn found(logs: &[f64], discounts: &[f64]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut stretches: Vec<_> = std::iter::once(0..logs.len()).collect();
    while let Some(stretch) = stretches.pop() {
        if let Some(Found { at, p }) = clearest(&logs[stretch.clone()], &discounts[stretch.clone()]) {
            let at = stretch.start + at;
            found.push(Found { at, p });
            stretches.extend([stretch.start..at, at..stretch.end]);
        }
    }
    found.sort_unstable_by_key(|found| found.at);
    found
}

/// A search for the place where scores differ most, and their contrast there: the square of the difference in standard deviations, times
/// the variance of a score. The place is 0 if there is none.
type Search = fn(&[f64], discounts: Option<&[f64]>) -> (usize, f64);

/// The clearest change of a stretch, if random orders rarely have one as clear.
fn clearest(logs: &[f64], discounts: &[f64]) -> Option<Found> {
    // Changes that last are the rule: the search for them has two thirds of the level.
    const SEARCHES: [(Search, f64); 2] = [(of_all, 2.0 / 3.0), (of_near, 1.0 / 3.0)];
    let searches = if logs.len() < 3 * NEAR_MIN { &[(of_all as Search, 1.0)] } else { &SEARCHES[..] };
    let scores = scores(logs)?;
    let variance = scores.iter().map(|score| score * score).sum::<f64>() / (scores.len() - 1) as f64;
    for &(search, share) in searches {
        let (at, contrast) = search(&scores, Some(discounts));
        if at == 0 {
            continue;
        }
        let most = (FALSE_ALARMS * share * (ORDERS + 1) as f64).round() as usize;
        let mut as_clear = 0;
        let mut others = Vec::with_capacity(ORDERS);
        let mut order = scores.clone();
        let mut random = Random::new(1);
        while others.len() < ORDERS && as_clear < most {
            random.shuffle(&mut order);
            let other = search(&order, None).1;
            // Sums of the same values in another order differ in their last digits.
            as_clear += usize::from(other >= contrast * (1.0 - 1e-9));
            others.push(other);
        }
        if as_clear < most {
            others.iter_mut().for_each(|other| *other /= variance);
            let least = mann_whitney_p_min(at, logs.len() - at);
            let p = chance(contrast / variance, as_clear, others);
            return Some(Found { at, p: (p.max(least) / share).min(FALSE_ALARMS) });
        }
    }
    None
}

/// The chance of a contrast, from those of random orders, of which so many are as clear. In units of the variance of a score.
///
/// What is clearer than all is judged by how far it lies beyond the tail of the others (after Knijnenburg and others, "Fewer
/// permutations, more accurate P-values", Bioinformatics 25, 2009): a square of a normal variable exceeds x with a chance that
/// falls as e^(-x/2) or faster.
fn chance(contrast: f64, as_clear: usize, mut others: Vec<f64>) -> f64 {
    const TAIL: usize = 10;
    let of = |count: usize| count as f64 / (ORDERS + 1) as f64;
    if as_clear > 0 {
        return of(as_clear + 1);
    }
    others.sort_unstable_by(|a, b| b.total_cmp(a));
    (of(TAIL) * (-(contrast - others[TAIL - 1]) / 2.0).exp()).min(of(1))
}

/// How many standard deviations each value lies from the median, [`SCORE_MAX`] at most, less the mean of that. `None` if all are equal.
fn scores(logs: &[f64]) -> Option<Vec<f64>> {
    let steps = logs.windows(2).map(|pair| (pair[1] - pair[0]).abs()).filter(|step| *step > 0.0);
    // A difference of two has twice the variance of one.
    let deviation = median(&steps.collect::<Vec<_>>())? / (NORMAL_MEDIAN * std::f64::consts::SQRT_2);
    let middle = median(logs)?;
    let mut scores: Vec<f64> =
        logs.iter().map(|log| ((log - middle) / deviation).clamp(-SCORE_MAX, SCORE_MAX)).collect();
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    scores.iter_mut().for_each(|score| *score -= mean);
    Some(scores)
}

/// Compares all scores before a place and after it; their sum is 0.
fn of_all(scores: &[f64], discounts: Option<&[f64]>) -> (usize, f64) {
    let n = scores.len();
    let mut sum = 0.0;
    let mut best = (0, 0.0);
    for (at, score) in scores.iter().enumerate() {
        if at >= SIDE_MIN && at + SIDE_MIN <= n {
            let contrast = contrast(sum, at, n) * discounts.map_or(1.0, |discounts| discounts[at]);
            if contrast > best.1 {
                best = (at, contrast);
            }
        }
        sum += score;
    }
    best
}

/// The contrast at a place of `n` scores with the sum 0, from the sum of those before it.
fn contrast(sum_before: f64, at: usize, n: usize) -> f64 {
    sum_before * sum_before * n as f64 / (at * (n - at)) as f64
}

/// Compares as many scores before a place as after it.
fn of_near(scores: &[f64], discounts: Option<&[f64]>) -> (usize, f64) {
    let n = scores.len();
    // sums[i]: the sum of the first i scores.
    let mut sums = Vec::with_capacity(n + 1);
    let mut sum = 0.0;
    sums.push(sum);
    for score in scores {
        sum += score;
        sums.push(sum);
    }
    let mut best = (0, 0.0);
    let mut side = NEAR_MIN;
    while 3 * side <= n {
        let scale = 1.0 / (2 * side) as f64;
        for at in side..=n - side {
            let rise = sums[at + side] - 2.0 * sums[at] + sums[at - side];
            let contrast = rise * rise * scale * discounts.map_or(1.0, |discounts| discounts[at]);
            if contrast > best.1 {
                best = (at, contrast);
            }
        }
        side *= 2;
    }
    best
}

/// The changes that hold against all values up to their neighbours.
fn confirmed(logs: &[f64], mut found: Vec<Found>) -> Vec<Found> {
    loop {
        for i in 0..found.len() {
            let stretch = between_neighbours(&found, i, logs.len());
            let place = scores(&logs[stretch.clone()]).map_or(0, |scores| of_all(&scores, None).0);
            if place > 0 {
                found[i].at = stretch.start + place;
            }
        }
        let p = |i: usize| {
            let (before, after) = sides(logs, &between_neighbours(&found, i, logs.len()), found[i].at);
            mann_whitney(after, before).two_sided()
        };
        let weakest = (0..found.len()).map(|i| (i, p(i))).max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((weakest, _)) = weakest.filter(|(_, p)| *p >= CONFIRMED) else { return found };
        // Its neighbours now have more values to be compared with.
        found.remove(weakest);
    }
}

/// From the change before one to the change after it.
fn between_neighbours(found: &[Found], i: usize, n: usize) -> Range<usize> {
    let start = if i == 0 { 0 } else { found[i - 1].at };
    start..found.get(i + 1).map_or(n, |next| next.at)
}

/// The values of a stretch before and after a place, [`SIDE_MAX`] at most of each.
fn sides<'a>(logs: &'a [f64], stretch: &Range<usize>, at: usize) -> (&'a [f64], &'a [f64]) {
    let (start, end) = (stretch.start.max(at.saturating_sub(SIDE_MAX)), stretch.end.min(at + SIDE_MAX));
    (&logs[start..at], &logs[at..end])
}

/// What of a contrast counts at each place, from what is left without the changes.
fn discounts(logs: &[f64], found: &[Found]) -> Vec<f64> {
    /// Values on either side of a place that tell the noise there.
    const REACH: usize = 20;
    let n = logs.len();
    let mut left = Vec::with_capacity(n);
    for end in found.iter().map(|found| found.at).chain([n]) {
        let segment = &logs[left.len()..end];
        let level = median(segment).unwrap_or_default();
        left.extend(segment.iter().map(|log| log - level));
    }
    let usual = median(&left.iter().map(|x| x.abs()).collect::<Vec<_>>()).unwrap_or_default();
    let most = SCORE_MAX * usual / NORMAL_MEDIAN;
    left.iter_mut().for_each(|x| *x = x.clamp(-most, most));
    let squares: f64 = left.iter().map(|x| x * x).sum();
    if squares == 0.0 {
        return vec![1.0; n];
    }
    let products: f64 = left.windows(2).map(|pair| pair[0] * pair[1]).sum();
    // Each level that is taken from the values makes it less by 1 / n. One standard error is what independent values often have.
    let persistence = products / squares + (found.len() + 1) as f64 / n as f64 - 1.0 / (n as f64).sqrt();
    let persistence = persistence.clamp(0.0, 0.9);
    let discount = |at: usize| {
        let near = &left[at.saturating_sub(REACH)..n.min(at + REACH)];
        let near_square = near.iter().map(|x| x * x).sum::<f64>() / near.len() as f64;
        (1.0 - persistence) / (1.0 + persistence) / (near_square / (squares / n as f64)).max(1.0)
    };
    (0..n).map(discount).collect()
}

/// The change of a stretch at a place.
fn level_change(logs: &[f64], stretch: &Range<usize>, found: Found) -> Option<LevelChange> {
    let (before, after) = sides(logs, stretch, found.at);
    Some(LevelChange {
        at: found.at,
        between: place_interval(before, after).map(|place| found.at - before.len() + place),
        ratio: shift(after, before)?.exp(),
        interval: shift_interval(after, before, LEVEL)?.map(f64::exp),
        p: found.p,
    })
}

/// From the first place to the last that is nearly as likely as the one between `before` and `after`, by an index into both.
fn place_interval(before: &[f64], after: &[f64]) -> [usize; 2] {
    /// Twice the logarithm of the ratio of likelihoods. Of a change among many normal values the logarithm exceeds x with a chance
    /// of 1 - (1 - e^-x)², which is 5% at 3.68: on either side it is the highest point of a random walk with a drift.
    const LESS: f64 = 7.35;
    let (at, n) = (before.len(), before.len() + after.len());
    let Some(scores) = scores(&[before, after].concat()) else { return [at; 2] };
    let contrasts: Vec<f64> = scores
        .iter()
        .scan(0.0, |sum, score| {
            *sum += score;
            Some(*sum)
        })
        .zip(1..n)
        .map(|(sum, at)| contrast(sum, at, n))
        .collect();
    let highest = contrasts[at - 1];
    let variance = (scores.iter().map(|score| score * score).sum::<f64>() - highest) / (n - 2) as f64;
    let is_likely = |contrast: &f64| *contrast >= highest - LESS * variance;
    let first = contrasts.iter().position(is_likely).map_or(at, |i| i + 1);
    let last = contrasts.iter().rposition(is_likely).map_or(at, |i| i + 1);
    [first.min(at), last.max(at)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values whose logarithms have a standard deviation of 2%, at a level for each.
    fn history(levels: &[f64], random: &mut Random) -> Vec<f64> {
        levels.iter().map(|level| level * (0.02 * random.normal()).exp()).collect()
    }

    /// So many values of each level.
    fn levels(parts: &[(usize, f64)]) -> Vec<f64> {
        parts.iter().flat_map(|&(count, level)| std::iter::repeat_n(level, count)).collect()
    }

    fn places(values: &[f64]) -> Vec<usize> {
        level_changes(values).iter().map(|change| change.at).collect()
    }

    /// Of a hundred histories, those for which something is true.
    fn of_hundred(parts: &[(usize, f64)], is_so: impl Fn(&[LevelChange]) -> bool) -> usize {
        let mut random = Random::new(5);
        (0..100).filter(|_| is_so(&level_changes(&history(&levels(parts), &mut random)))).count()
    }

    #[test]
    fn a_step_has_its_place_its_ratio_and_their_intervals() {
        let values = history(&levels(&[(20, 100.0), (20, 120.0)]), &mut Random::new(2));
        let [change] = level_changes(&values)[..] else { panic!("{:?}", level_changes(&values)) };
        assert_eq!((change.at, change.between), (20, [20, 20]));
        assert!((change.ratio - 1.2).abs() < 0.03 && change.interval.contains(1.2), "{change:?}");
        assert!(change.interval.low > 1.15 && change.interval.high < 1.25 && change.p <= FALSE_ALARMS);
    }

    #[test]
    fn the_unit_and_its_direction_do_not_matter() {
        let values = history(&levels(&[(30, 100.0), (15, 94.0), (30, 103.0)]), &mut Random::new(2));
        let changes = level_changes(&values);
        assert_eq!(changes.len(), 2, "{changes:?}");
        let inverse = level_changes(&values.iter().map(|value| 1e6 / value).collect::<Vec<_>>());
        for (change, inverse) in changes.iter().zip(&inverse) {
            assert_eq!((change.at, change.between), (inverse.at, inverse.between));
            assert!(
                (change.ratio * inverse.ratio - 1.0).abs() < 1e-9
                    && (change.p / inverse.p - 1.0).abs() < 1e-6
            );
        }
        assert_eq!(level_changes(&values), changes);
    }

    #[test]
    fn four_runs_after_a_step_of_two_and_a_half_deviations_are_mostly_enough() {
        let is_found = |changes: &[LevelChange]| matches!(changes, [change] if change.at.abs_diff(36) <= 2);
        let found = of_hundred(&[(36, 100.0), (4, 105.0)], is_found);
        assert!(found >= 50, "{found}");
        let is_found = |changes: &[LevelChange]| matches!(changes, [change] if change.at == 12);
        let found = of_hundred(&[(12, 100.0), (4, 110.0)], is_found);
        assert!(found >= 60, "{found}");
    }

    #[test]
    fn several_changes_are_found_and_a_level_that_comes_back() {
        let are = |expected: &'static [usize]| {
            move |changes: &[LevelChange]| {
                let near = changes.iter().zip(expected).all(|(change, at)| change.at.abs_diff(*at) <= 3);
                changes.len() == expected.len() && near
            }
        };
        let found = of_hundred(&[(25, 100.0), (25, 106.0), (25, 112.0), (25, 100.0)], are(&[25, 50, 75]));
        assert!(found >= 85, "{found}");
        let found = of_hundred(&[(45, 100.0), (10, 106.0), (45, 100.0)], are(&[45, 55]));
        assert!(found >= 80, "{found}");
    }

    #[test]
    fn a_creep_is_one_change_or_more() {
        let creep: Vec<f64> = (0..60).map(|i| 100.0 + (f64::from(i) - 30.0).max(0.0) / 3.0).collect();
        let mut random = Random::new(3);
        for _ in 0..20 {
            let changes = level_changes(&history(&creep, &mut random));
            assert!(!changes.is_empty() && changes.iter().all(|change| change.ratio > 1.0), "{changes:?}");
        }
    }

    #[test]
    fn outliers_and_louder_noise_are_no_change() {
        let mut random = Random::new(4);
        let (mut spiked, mut louder) = (0, 0);
        for i in 0..100 {
            let mut values = history(&[100.0; 40], &mut random);
            values[i % 38] *= 1.5;
            values[i % 38 + 2] *= 1.3;
            spiked += usize::from(!level_changes(&values).is_empty());
            let quiet = history(&[100.0; 30], &mut random);
            let loud =
                history(&[100.0; 30], &mut random).into_iter().map(|value| 100.0 * (value / 100.0).powi(3));
            louder +=
                usize::from(!level_changes(&quiet.into_iter().chain(loud).collect::<Vec<_>>()).is_empty());
        }
        assert!(spiked <= 8 && louder <= 8, "{spiked} {louder}");
    }

    #[test]
    fn an_even_history_has_a_change_in_one_of_fifty_at_most() {
        const HISTORIES: usize = 500;
        let noises: [fn(&mut Random) -> f64; 3] = [
            Random::normal,
            // Student's t with one degree of freedom.
            |random| random.normal() / random.normal().abs().max(1e-3),
            |random| -(1.0 - random.unit()).ln(),
        ];
        let mut random = Random::new(6);
        for noise in noises {
            for n in [12, 40, 100] {
                let alarms = (0..HISTORIES)
                    .filter(|_| {
                        let values: Vec<f64> = (0..n).map(|_| (0.02 * noise(&mut random)).exp()).collect();
                        !level_changes(&values).is_empty()
                    })
                    .count() as f64;
                // Two standard errors of 2% of 500 are 1.3%.
                assert!(alarms <= 0.033 * HISTORIES as f64, "{alarms} of {n} values");
            }
        }
    }

    #[test]
    fn one_more_value_rarely_revises_what_is_old() {
        let values = history(&levels(&[(30, 100.0), (30, 106.0), (40, 101.0)]), &mut Random::new(7));
        let old =
            |n: usize| -> Vec<usize> { places(&values[..n]).into_iter().filter(|at| *at < 65).collect() };
        let revisions = (75..100).filter(|&n| old(n) != old(n + 1)).count();
        assert!(old(100).len() == 2 && revisions <= 1, "{revisions} {:?}", old(100));
    }

    #[test]
    fn values_without_a_logarithm_are_left_out_and_the_others_keep_their_index() {
        let mut values = history(&levels(&[(20, 100.0), (20, 150.0)]), &mut Random::new(8));
        values.splice(10..10, [0.0, f64::NAN, f64::INFINITY, -1.0]);
        assert_eq!(places(&values), [24]);
    }

    #[test]
    fn levels_without_noise_are_told_apart_and_equal_values_are_not() {
        assert_eq!(places(&levels(&[(10, 3.0), (10, 4.0), (10, 3.0)])), [10, 20]);
        assert_eq!(level_changes(&[7.0; 50]), []);
        for n in 0..10 {
            assert_eq!(level_changes(&levels(&[(n / 2, 1.0), (n - n / 2, 2.0)])), [], "{n}");
        }
    }
}
