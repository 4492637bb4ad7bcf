//! From slices to one log ratio per generation.
//!
//! The slices of a generation share its servers: their memory, their connections, where the scheduler put them. They
//! say the same thing again and again, each with noise of its own, so they are not a sample of what another start of
//! the same servers would give. Generations are: one figure each goes into the tests (Kalibera and Jones 2013: repeat
//! where the variance arises).

use std::collections::BTreeMap;

use crate::location::{median, trimmed_mean};

/// The log ratio of candidate to baseline in one generation: the mean of the middle half of those of its rounds.
///
/// No slice is left out because the machine was disturbed: steal accrues only while a CPU is wanted, so the hungrier server would lose
/// more of them. A quarter of the rounds may be wild without effect. Among mean, median, Hodges-Lehmann estimate and trimmed mean this
/// one spread least for throughput in bursts of steal, and 3% more than the best for CPU time (see docs/method-slices.md).
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

/// Takes out of log ratios what the pace of the CPUs did to them.
///
/// A core is shared with another machine, or changes its clock, and the same code takes up to twice the CPU time. In a round that met
/// one side more, the log ratio of what a fixed piece of work took then says by how much. How strongly a ratio follows it differs by
/// server and figure, so that the slope is fitted to the rounds seen so far: those of each generation around their own mean, so that
/// what differs between starts is left alone. A pace that differs between the two sides beyond chance is their own doing, as where the
/// load generator has the other thread of the core; then nothing is taken out. As the slope is the same if candidate and baseline change
/// places, ratios that were symmetric stay so; as no later generation changes it, what a run until decided has seen stays what it was.
/// This is the analysis of covariance (Fisher 1932), as control variates are in simulation.
#[derive(Clone, Debug, Default)]
pub struct Paced {
    /// Sums of products and of squares around the means of generations.
    both: f64,
    pace: f64,
    /// Rounds beyond one of each generation.
    freedom: usize,
    /// Generations, and the sum of their mean paces' squares in units of the rounds'.
    generations: usize,
    means: f64,
}

/// The fewest rounds beyond one of each generation that tell a slope.
const FREEDOM_MIN: usize = 5;
/// No figure follows the pace more strongly: what takes twice the CPU time takes at most four times as long.
const SLOPE_MAX: f64 = 2.0;
/// A mean pace of so many standard errors in a generation is no chance.
const ERRORS_MAX: f64 = 4.0;

impl Paced {
    /// The log ratios of the rounds of the next generation at one pace. `ratios` and `paces` are log ratios of candidate to
    /// baseline by round, the latter of a fixed piece of work. Without a pace for each round, the ratios as they are.
    pub fn at_one_pace(&mut self, ratios: &[(u32, f64)], paces: &[(u32, f64)]) -> Vec<f64> {
        let plain = || ratios.iter().map(|(_, ratio)| *ratio).collect::<Vec<_>>();
        let of_round: BTreeMap<u32, f64> =
            paces.iter().copied().filter(|(_, pace)| pace.is_finite()).collect();
        let pairs: Option<Vec<(f64, f64)>> =
            ratios.iter().map(|(round, ratio)| Some((*ratio, *of_round.get(round)?))).collect();
        let Some(pairs) = pairs else { return plain() };
        self.learn(&pairs);
        if self.freedom < FREEDOM_MIN || self.pace <= 0.0 || self.is_of_the_sides() {
            return plain();
        }
        let slope = (self.both / self.pace).clamp(-SLOPE_MAX, SLOPE_MAX);
        pairs.into_iter().map(|(ratio, pace)| ratio - slope * pace).collect()
    }

    /// Whether the pace differs between the two sides. Squares, since what was seen may not depend on which side is which.
    fn is_of_the_sides(&self) -> bool {
        let variance = self.pace / self.freedom as f64;
        self.means / self.generations as f64 > ERRORS_MAX.powi(2) * variance
    }

    /// Wild rounds say little of the slope: what lies further from the others than they usually do counts as if it did not.
    fn learn(&mut self, pairs: &[(f64, f64)]) {
        let (ratios, paces): (Vec<f64>, Vec<f64>) =
            pairs.iter().copied().filter(|(ratio, _)| ratio.is_finite()).unzip();
        if ratios.is_empty() {
            return;
        }
        let (ratios, paces) = (without_wild(&ratios), without_wild(&paces));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (ratio, pace) = (mean(&ratios), mean(&paces));
        self.freedom += ratios.len().saturating_sub(1);
        self.generations += 1;
        self.means += paces.len() as f64 * pace.powi(2);
        for (own, its) in ratios.iter().zip(&paces) {
            self.both += (own - ratio) * (its - pace);
            self.pace += (its - pace).powi(2);
        }
    }
}

/// Values with those beyond three deviations moved there.
fn without_wild(values: &[f64]) -> Vec<f64> {
    let (Some(centre), Some(deviation)) = (median(values), robust_deviation(values)) else {
        return values.to_vec();
    };
    values.iter().map(|value| value.clamp(centre - 3.0 * deviation, centre + 3.0 * deviation)).collect()
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
    const NORMAL_SCALE: f64 = 1.048_358;
    let later = |i: usize| values[i + 1..].iter();
    let distances: Vec<f64> =
        values.iter().enumerate().flat_map(|(i, a)| later(i).map(move |b| (a - b).abs())).collect();
    Some(NORMAL_SCALE * median(&distances)?)
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

    #[test]
    fn rounds_at_different_paces_are_compared_at_one() {
        let mut random = crate::Random::new(7);
        let mut paced = Paced::default();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for generation in 0..20 {
            let paces: Vec<(u32, f64)> = (0..8).map(|round| (round, 0.2 * random.normal())).collect();
            let ratio = |&(round, pace): &(u32, f64)| (round, 0.03 + 0.7 * pace + 0.01 * random.normal());
            let mut ratios: Vec<(u32, f64)> = paces.iter().map(ratio).collect();
            if generation == 5 {
                ratios[2].1 = 9.0;
            }
            let values: Vec<f64> = ratios.iter().map(|(_, ratio)| *ratio).collect();
            before.push(generation_log_ratio(&values).unwrap() - 0.03);
            after.push(generation_log_ratio(&paced.at_one_pace(&ratios, &paces)).unwrap() - 0.03);
        }
        let error = |logs: &[f64]| (logs.iter().map(|log| log * log).sum::<f64>() / logs.len() as f64).sqrt();
        assert!(error(&after) * 5.0 < error(&before), "{} {}", error(&before), error(&after));
        // If the sides change places, so do the ratios.
        let rounds = [(0, 0.1), (1, 0.3), (2, -0.1), (3, 0.0), (4, 0.1), (5, 0.2)];
        let paces = [(0, 0.2), (1, 0.2), (2, -0.3), (3, 0.1), (4, 0.0), (5, 0.1)];
        let swapped = |list: &[(u32, f64)]| list.iter().map(|(r, x)| (*r, -x)).collect::<Vec<_>>();
        let there = Paced::default().at_one_pace(&rounds, &paces);
        let back = Paced::default().at_one_pace(&swapped(&rounds), &swapped(&paces));
        assert!(there.iter().zip(back).all(|(a, b)| (a + b).abs() < 1e-12) && there[1] < 0.2, "{there:?}");
        // A pace that differs between the sides is left alone.
        let theirs = paces.map(|(round, pace)| (round, pace + 1.0));
        let plain = rounds.map(|(_, ratio)| ratio);
        assert_eq!(Paced::default().at_one_pace(&rounds, &theirs), plain);
        // Without a pace for each round, where it never changed, and of few rounds, they stay what they are.
        assert_eq!(Paced::default().at_one_pace(&rounds, &paces[1..]), plain);
        assert_eq!(Paced::default().at_one_pace(&rounds, &paces.map(|(round, _)| (round, 0.0))), plain);
        assert_eq!(Paced::default().at_one_pace(&rounds[..5], &paces), plain[..5]);
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
