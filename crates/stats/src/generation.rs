//! From slices to one log ratio per generation.
//!
//! The slices of a generation share its servers: their memory, their connections, where the scheduler put them. They
//! say the same thing again and again, each with noise of its own, so they are not a sample of what another start of
//! the same servers would give. Generations are: one figure each goes into the tests (Kalibera and Jones 2013: repeat
//! where the variance arises).

use std::collections::BTreeMap;

use crate::location::{NORMAL_SCALE, median, median_absolute_deviation, trimmed_mean};

/// The log ratio of candidate to baseline in one generation: the mean of the middle half of those of its rounds.
///
/// No slice is left out for its steal, which accrues only while a CPU is wanted, so that the hungrier server would lose more of them:
/// [`Undisturbed`] goes by what both sides met. A quarter of the rounds may be wild without effect. Among mean, median, Hodges-Lehmann
/// estimate and trimmed mean this one spread least for throughput in bursts of steal, and 3% more than the best for CPU time (see
/// docs/method-slices.md).
///
/// `None` without rounds, or if too many lack a ratio since one side did nothing at all.
pub fn generation_log_ratio(rounds: &[f64]) -> Option<f64> {
    trimmed_mean(rounds, rounds.len() as u32 / 4).filter(|centre| centre.is_finite())
}

/// The log ratio of candidate to baseline in each round that has figures on both sides, in order of rounds. Each side is a list of
/// (round, figure of a slice).
///
/// The slices of an arm in a round are averaged first: they lie mirrored about its middle (see
/// [`round_order`](crate::round_order)), so their mean is free of even drift. It is the arithmetic mean, since a
/// slice whose CPU was stolen for most of its time has a throughput near zero, of which a logarithm makes too much.
/// A side that did nothing in a round makes its ratio infinite.
pub fn round_log_ratios(candidate: &[(u32, f64)], baseline: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let (ours, theirs) = (means(candidate), means(baseline));
    let ratio = |(round, own): (u32, f64)| Some((round, own.ln() - theirs.get(&round)?.ln()));
    ours.into_iter().filter_map(ratio).filter(|(_, ratio)| !ratio.is_nan()).collect()
}

/// The log ratio of candidate to baseline in one generation whose slices were not taken side by side: of the means of the
/// middle half of each side. What met one side in a round says nothing of the other's.
pub fn apart_log_ratio(candidate: &[(u32, f64)], baseline: &[(u32, f64)]) -> Option<f64> {
    let centre = |slices: &[(u32, f64)]| {
        let values: Vec<f64> =
            slices.iter().map(|(_, value)| *value).filter(|v| *v >= 0.0 && v.is_finite()).collect();
        trimmed_mean(&values, values.len() as u32 / 4)
    };
    Some(centre(candidate)?.ln() - centre(baseline)?.ln()).filter(|ratio| ratio.is_finite())
}

/// Takes out of the log ratios of rounds what slowed the CPUs.
///
/// A core is shared with another machine, lowers its clock, or shares no cache with the core that it exchanges data with. The same code
/// then takes up to twice the CPU time, and in a guest no counter says so but the pace: what a fixed piece of work takes.
///
/// - What is shorter than a round meets one side more. The log ratio of the paces of both sides says by how much, and is taken out, times
///   the slope with which the log ratios of rounds follow it: the analysis of covariance (Fisher 1932).
/// - What lasts longer meets both sides. If one pays more than the other for it, as a server of threads does beside a loop, their ratio
///   is another one. Once earlier generations have shown that, only quick rounds count. Else all do: equal programs stay equal, and with half
///   of the rounds a comparison would take twice as long.
///
/// If the sides change places, the log ratios of a generation change their signs, so that those that were symmetric stay so. No later
/// generation changes them, so that what a run until decided has seen stays what it was.
#[derive(Clone, Debug, Default)]
pub struct Undisturbed {
    /// Of all rounds so far, in order of size.
    paces: Vec<f64>,
    generations: usize,
    /// The sum of the squares of the generations' middle log ratios of paces, in units of the rounds'.
    middles: f64,
    /// Log ratios, by those of the paces: of the rounds of each generation around their middle, so that what differs between starts is
    /// left alone.
    apart: Fit,
    /// Log ratios at equal paces, by the logarithm of the pace of both sides.
    together: Fit,
}

/// A round with a pace.
#[derive(Clone, Copy, Debug)]
struct Round {
    log_ratio: f64,
    /// The mean of both sides.
    pace: f64,
    /// The log ratio of candidate to baseline.
    pace_log_ratio: f64,
}

/// The quickest part of the rounds shows how quick the CPUs can be.
const QUICKEST: usize = 10;
/// A round is as quick as the quickest if its pace is at most so many times theirs: some percent are chance.
const SLOWER_MAX: f64 = 1.05;
/// The fewest rounds beyond one of each generation that tell a slope.
const FREEDOM_MIN: usize = 5;
/// No figure follows the pace more strongly: what takes twice the CPU time takes at most four times as long.
const SLOPE_MAX: f64 = 2.0;
/// Paces of the sides that are so many standard errors apart in a generation are no chance.
const APART_MAX: f64 = 4.0;
/// Log ratios follow the pace of both sides if their slope is so many standard errors.
const FOLLOWS_MIN: f64 = 2.0;

impl Undisturbed {
    /// Of the log ratios of the next generation's rounds those that count, at equal paces of both sides. `candidate` and `baseline` have
    /// what a fixed piece of work took in their slices, by round. Without a pace for each round all count, as they are.
    pub fn of_generation(
        &mut self,
        ratios: &[(u32, f64)],
        candidate: &[(u32, f64)],
        baseline: &[(u32, f64)],
    ) -> Vec<f64> {
        let paces = means(&[candidate, baseline].concat());
        let apart: BTreeMap<u32, f64> = round_log_ratios(candidate, baseline).into_iter().collect();
        let round = |&(round, log_ratio): &(u32, f64)| {
            let (pace, pace_log_ratio) = (*paces.get(&round)?, *apart.get(&round)?);
            pace_log_ratio.is_finite().then_some(Round { log_ratio, pace, pace_log_ratio })
        };
        let Some(mut rounds) = ratios.iter().map(round).collect::<Option<Vec<_>>>() else {
            return ratios.iter().map(|(_, ratio)| *ratio).collect();
        };
        let slope = self.slope(&rounds);
        for round in &mut rounds {
            round.log_ratio -= slope * round.pace_log_ratio;
        }
        let slowest = self.slowest(&rounds);
        rounds.iter().filter(|round| round.pace <= slowest).map(|round| round.log_ratio).collect()
    }

    /// How strongly log ratios follow those of the paces, with this generation.
    ///
    /// Paces that differ between the sides beyond chance are their own doing, as where the load generator has the other thread of the
    /// core; then nothing is taken out.
    fn slope(&mut self, rounds: &[Round]) -> f64 {
        let ratios = Around::middle(finite(rounds).map(|round| round.log_ratio));
        let paces = Around::middle(finite(rounds).map(|round| round.pace_log_ratio));
        if let Some((ratios, paces)) = ratios.zip(paces) {
            self.generations += 1;
            self.middles += paces.deviations.len() as f64 * paces.middle.powi(2);
            paces.deviations.iter().zip(&ratios.deviations).for_each(|(x, y)| self.apart.add(*x, *y));
        }
        let freedom = self.apart.count.saturating_sub(self.generations);
        // Squares, since what was seen may not depend on which side is which.
        let of_generation = self.middles / self.generations as f64;
        let of_round = self.apart.xx / freedom as f64;
        if freedom < FREEDOM_MIN || of_generation > APART_MAX.powi(2) * of_round {
            return 0.0;
        }
        self.apart.slope().clamp(-SLOPE_MAX, SLOPE_MAX)
    }

    /// The slowest pace of the rounds of this generation that count.
    fn slowest(&mut self, rounds: &[Round]) -> f64 {
        let own: Vec<f64> = rounds.iter().map(|round| round.pace).collect();
        self.paces.extend(&own);
        // A stable sort merges what is in order already with the few that are new.
        self.paces.sort_by(f64::total_cmp);
        let follows = self.together.count >= FREEDOM_MIN && self.together.errors() > FOLLOWS_MIN;
        if let Some(ratios) = Around::middle(finite(rounds).map(|round| round.log_ratio)) {
            let pairs = finite(rounds).zip(&ratios.deviations);
            pairs.for_each(|(round, y)| self.together.add(round.pace.ln(), ratios.middle + y));
        }
        match (quick(&self.paces), median(&own)) {
            // The quicker half, and what is as quick as the quickest of the run.
            (Some(quick), Some(middle)) if follows => middle.max(quick),
            _ => f64::INFINITY,
        }
    }
}

/// The rounds in which both sides did something.
fn finite(rounds: &[Round]) -> impl Iterator<Item = &Round> {
    rounds.iter().filter(|round| round.log_ratio.is_finite())
}

/// The least-squares line of y over x.
#[derive(Clone, Copy, Debug, Default)]
struct Fit {
    count: usize,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Fit {
    fn add(&mut self, x: f64, y: f64) {
        self.count += 1;
        (self.x, self.y) = (self.x + x, self.y + y);
        (self.xx, self.xy, self.yy) = (self.xx + x * x, self.xy + x * y, self.yy + y * y);
    }

    /// The sums of squares and products around the means.
    fn centred(&self) -> (f64, f64, f64) {
        let n = self.count as f64;
        (self.xx - self.x * self.x / n, self.xy - self.x * self.y / n, self.yy - self.y * self.y / n)
    }

    /// Zero if x never changed.
    fn slope(&self) -> f64 {
        let (xx, xy, _) = self.centred();
        if xx > 0.0 { xy / xx } else { 0.0 }
    }

    /// The slope's size in its standard errors.
    fn errors(&self) -> f64 {
        let (xx, xy, yy) = self.centred();
        let residual = (yy - self.slope() * xy).max(0.0) / (self.count as f64 - 2.0);
        let errors = self.slope().abs() / (residual / xx).sqrt();
        if errors.is_nan() { 0.0 } else { errors }
    }
}

/// Values around their middle.
struct Around {
    middle: f64,
    /// Those that are wild count as if they were not.
    deviations: Vec<f64>,
}

impl Around {
    /// `None` without values.
    fn middle(values: impl Iterator<Item = f64>) -> Option<Around> {
        /// Three standard deviations of normal values.
        const WILD: f64 = 3.0 * NORMAL_SCALE;
        let values: Vec<f64> = values.collect();
        let middle = median(&values)?;
        let most = WILD * median_absolute_deviation(&values)?;
        let deviations = values.iter().map(|value| (value - middle).clamp(-most, most)).collect();
        Some(Around { middle, deviations })
    }
}

/// The slowest pace that is as quick as the quickest of these, which are in order of size.
fn quick(paces: &[f64]) -> Option<f64> {
    Some(paces.get(paces.len() / QUICKEST)? * SLOWER_MAX)
}

/// The share of slices with these paces in which something slowed the CPUs.
pub fn disturbed_share(mut paces: Vec<f64>) -> Option<f64> {
    paces.sort_unstable_by(f64::total_cmp);
    let quick = quick(&paces)?;
    Some(paces.iter().filter(|pace| **pace > quick).count() as f64 / paces.len() as f64)
}

/// The mean of the usable figures of each round that has some.
fn means(slices: &[(u32, f64)]) -> BTreeMap<u32, f64> {
    let mut sums: BTreeMap<u32, (u32, f64)> = BTreeMap::new();
    for &(round, value) in slices.iter().filter(|(_, value)| *value >= 0.0 && value.is_finite()) {
        let (count, sum) = sums.entry(round).or_default();
        (*count, *sum) = (*count + 1, *sum + value);
    }
    sums.into_iter().map(|(round, (count, sum))| (round, sum / f64::from(count))).collect()
}

/// The standard deviation of `values` as estimated by the median distance of two of them (Shamos 1976): the
/// counterpart of the Hodges-Lehmann estimate, and as hardy. `None` for fewer than two values.
pub fn robust_deviation(values: &[f64]) -> Option<f64> {
    /// Makes the median distance of two normal values their standard deviation: 1 / (sqrt(2) * 0.6745).
    const SHAMOS_SCALE: f64 = 1.048_358;
    let later = |i: usize| values[i + 1..].iter();
    let distances: Vec<f64> =
        values.iter().enumerate().flat_map(|(i, a)| later(i).map(move |b| (a - b).abs())).collect();
    Some(SHAMOS_SCALE * median(&distances)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_slices(candidate: &[(u32, f64)], baseline: &[(u32, f64)]) -> Option<f64> {
        let rounds = round_log_ratios(candidate, baseline);
        generation_log_ratio(&rounds.into_iter().map(|(_, ratio)| ratio).collect::<Vec<_>>())
    }

    #[test]
    fn sides_that_were_apart_are_compared_by_their_centres() {
        let side = |values: [f64; 8]| -> Vec<(u32, f64)> { (0..).zip(values).collect() };
        let baseline = side([10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 0.5, 0.5]);
        // The burst was in other rounds.
        let candidate = side([1.0, 1.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0]);
        let ratio = apart_log_ratio(&candidate, &baseline).unwrap();
        assert!((ratio - 2f64.ln()).abs() < 1e-12, "{ratio}");
        assert_eq!(apart_log_ratio(&candidate, &[]), None);
        assert_eq!(apart_log_ratio(&side([0.0; 8]), &baseline), None);
    }

    #[test]
    fn a_generation_is_the_centre_of_its_rounds() {
        let candidate = [(0, 2.0), (0, 6.0), (1, 6.0), (1, 6.0), (2, 1_000.0), (3, 5.0)];
        let baseline = [(0, 2.0), (0, 2.0), (1, 3.0), (1, 3.0), (2, 500.0), (4, 5.0)];
        let rounds = round_log_ratios(&candidate, &baseline);
        assert_eq!(rounds.iter().map(|(round, _)| *round).collect::<Vec<_>>(), [0, 1, 2]);
        for (_, ratio) in rounds {
            assert!((ratio - 2f64.ln()).abs() < 1e-12);
        }
        assert!((of_slices(&candidate, &baseline).unwrap() - 2f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn a_burst_over_two_of_eight_rounds_does_not_move_a_generation() {
        let arm = |factor: f64| -> Vec<(u32, f64)> {
            (0..8).flat_map(|r| [(r, factor * (1.0 + 0.01 * f64::from(r))); 2]).collect()
        };
        let baseline = arm(1.0);
        for disturbed in [3.0, 0.0] {
            let mut candidate = arm(1.05);
            for slice in candidate.iter_mut().filter(|(round, _)| *round < 2) {
                slice.1 *= disturbed;
            }
            let ratio = of_slices(&candidate, &baseline).unwrap();
            assert!((ratio - 1.05f64.ln()).abs() < 1e-9, "{ratio}");
        }
    }

    fn rounds(values: &[f64]) -> Vec<(u32, f64)> {
        (0..).zip(values.iter().copied()).collect()
    }

    #[test]
    fn quick_rounds_count_once_the_ratio_is_seen_to_follow_the_pace() {
        let mut undisturbed = Undisturbed::default();
        // Both sides have met the same.
        let mut of = |ratios: &[f64], paces: &[f64]| {
            undisturbed.of_generation(&rounds(ratios), &rounds(paces), &rounds(paces))
        };
        let ratios = [0.40, 0.45, 0.41, 0.46];
        assert_eq!(of(&ratios, &[4.0, 6.0, 4.1, 6.1]), ratios);
        assert_eq!(of(&ratios, &[4.1, 6.0, 4.0, 6.2]), ratios);
        // The quicker half counts,
        assert_eq!(of(&ratios, &[6.2, 6.1, 6.0, 5.9]), [0.41, 0.46]);
        // and what is as quick as the quickest.
        assert_eq!(of(&ratios, &[4.0, 4.1, 4.15, 6.0]), [0.40, 0.45, 0.41]);
        // Rounds without a pace cannot be told apart.
        assert_eq!(of(&ratios, &[4.0, 4.1, 9.0]), ratios);
        assert_eq!(of(&[], &[]), [0.0; 0]);
        assert_eq!(disturbed_share(vec![6.0, 4.1, 4.0, 5.0]), Some(0.5));
        assert_eq!(disturbed_share(Vec::new()), None);
    }

    #[test]
    fn all_rounds_of_equal_sides_count() {
        let mut random = crate::Random::new(3);
        let mut undisturbed = Undisturbed::default();
        let left_out = |_| {
            let ratios: Vec<f64> = (0..8).map(|_| 0.02 * random.normal()).collect();
            let paces: Vec<f64> = (0..8).map(|_| 4.0 + 2.0 * random.unit()).collect();
            8 - undisturbed.of_generation(&rounds(&ratios), &rounds(&paces), &rounds(&paces)).len()
        };
        assert!((0..100).map(left_out).sum::<usize>() < 80);
    }

    #[test]
    fn rounds_whose_sides_met_different_paces_are_compared_at_one() {
        let mut random = crate::Random::new(7);
        let mut undisturbed = Undisturbed::default();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for generation in 0..20 {
            let apart: Vec<f64> = (0..8).map(|_| 0.2 * random.normal()).collect();
            let mut ratios: Vec<f64> =
                apart.iter().map(|pace| 0.03 + 0.7 * pace + 0.01 * random.normal()).collect();
            if generation == 5 {
                ratios[2] = 9.0;
            }
            let paces: Vec<f64> = apart.iter().map(|log| log.exp()).collect();
            let own = undisturbed.of_generation(&rounds(&ratios), &rounds(&paces), &rounds(&[1.0; 8]));
            before.push(generation_log_ratio(&ratios).unwrap() - 0.03);
            after.push(generation_log_ratio(&own).unwrap() - 0.03);
        }
        let error = |logs: &[f64]| (logs.iter().map(|log| log * log).sum::<f64>() / logs.len() as f64).sqrt();
        assert!(error(&after) * 5.0 < error(&before), "{} {}", error(&before), error(&after));
    }

    #[test]
    fn if_the_sides_change_places_so_do_their_ratios() {
        let ratios = [0.1, 0.3, -0.1, 0.0, 0.1, 0.2];
        let paces = (rounds(&[1.2, 1.2, 0.8, 1.1, 1.0, 1.1]), rounds(&[1.0; 6]));
        let there = Undisturbed::default().of_generation(&rounds(&ratios), &paces.0, &paces.1);
        let turned = ratios.map(|ratio| -ratio);
        let back = Undisturbed::default().of_generation(&rounds(&turned), &paces.1, &paces.0);
        assert!(there.iter().zip(&back).all(|(a, b)| (a + b).abs() < 1e-12), "{there:?} {back:?}");
        // What the pace did is taken out.
        assert!(there.iter().all(|ratio| (-0.1..=0.2).contains(ratio)) && there[2] > 0.0, "{there:?}");
        // A pace that differs between the sides in each round is their own.
        let theirs = rounds(&[2.4, 2.4, 2.2, 2.3, 2.4, 2.4]);
        let plain = Undisturbed::default().of_generation(&rounds(&ratios), &theirs, &rounds(&[1.0; 6]));
        assert!(plain.iter().all(|ratio| ratios.contains(ratio)), "{plain:?}");
    }

    #[test]
    fn what_is_no_figure_and_rounds_without_a_partner_are_left_out() {
        assert_eq!(of_slices(&[(0, f64::NAN), (1, -1.0)], &[(0, 1.0), (1, 1.0)]), None);
        assert_eq!(of_slices(&[(0, 1.0)], &[(1, 1.0)]), None);
        assert_eq!(of_slices(&[(0, f64::NAN), (0, 1.0)], &[(0, 1.0)]), Some(0.0));
        assert_eq!(of_slices(&[(0, 0.0)], &[(0, 0.0)]), None);
        assert_eq!(of_slices(&[(0, 0.0)], &[(0, 1.0)]), None);
        assert_eq!(of_slices(&[], &[]), None);
    }

    #[test]
    fn the_robust_deviation_of_normal_values_is_their_standard_deviation() {
        // Normal quantiles at (i - 0.5) / 9, mean 100, standard deviation 10, by scipy.stats.norm.ppf.
        let values = [84.07, 90.33, 94.10, 97.18, 100.0, 102.82, 105.90, 109.67, 115.93];
        let deviation = robust_deviation(&values).unwrap();
        assert!((9.0..12.0).contains(&deviation), "{deviation}");
        assert_eq!((robust_deviation(&[1.0]), robust_deviation(&[1.0, 1.0])), (None, Some(0.0)));
    }
}
