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

/// Leaves out the rounds in which something else slowed the CPUs.
///
/// A core is shared with another machine, lowers its clock, or shares no cache with the core that it exchanges data with. The same code
/// then takes up to twice the CPU time, some more than other, so that the ratio of two servers is another one too. What a fixed piece of
/// work took shows when. Which rounds count depends on the pace of both sides together, so that ratios that were symmetric stay so; and on
/// no later generation, so that what a run until decided has seen stays what it was.
#[derive(Clone, Debug, Default)]
pub struct Undisturbed {
    /// Of all rounds so far, in order of size.
    paces: Vec<f64>,
}

/// The quickest part of the rounds shows how quick the CPUs can be.
const QUICKEST: usize = 10;
/// A round counts if its pace is at most so many times that of the quickest: some percent are chance.
const SLOWER_MAX: f64 = 1.05;

impl Undisturbed {
    /// Of the log ratios of the next generation's rounds, those that count: of the rounds that were as quick as the quickest tenth so
    /// far, or of its own quicker half if none was. `paces` has what a fixed piece of work took in the slices of both sides, by round.
    /// Without a pace for each round all count.
    pub fn of_generation(&mut self, ratios: &[(u32, f64)], paces: &[(u32, f64)]) -> Vec<f64> {
        let of_round = means(paces);
        let paces: Option<Vec<f64>> = ratios.iter().map(|(round, _)| of_round.get(round).copied()).collect();
        let most = paces.as_deref().and_then(|paces| self.most(paces)).unwrap_or(f64::INFINITY);
        let counts = |round: &u32| of_round.get(round).is_none_or(|pace| *pace <= most);
        ratios.iter().filter(|(round, _)| counts(round)).map(|(_, ratio)| *ratio).collect()
    }

    /// The slowest pace of the rounds of a generation that count; none without rounds.
    fn most(&mut self, paces: &[f64]) -> Option<f64> {
        self.paces.extend(paces);
        // A stable sort merges what is in order already with the few that are new.
        self.paces.sort_by(f64::total_cmp);
        let quick = quick(&self.paces)?;
        if paces.iter().any(|pace| *pace <= quick) { Some(quick) } else { median(paces) }
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
    fn rounds_count_that_are_as_quick_as_the_quickest() {
        let rounds = |values: &[f64]| -> Vec<(u32, f64)> { (0..).zip(values.iter().copied()).collect() };
        let ratios = rounds(&[0.1, 0.2, 0.3, 0.4]);
        let mut undisturbed = Undisturbed::default();
        let mut of = |paces: &[f64]| undisturbed.of_generation(&ratios, &rounds(paces));
        // All are slow, as far as one can see.
        assert_eq!(of(&[6.0, 6.2, 6.1, 6.0]), [0.1, 0.2, 0.3, 0.4]);
        assert_eq!(of(&[4.0, 4.1, 6.0, 5.0]), [0.1, 0.2]);
        // None is quick, so that the quicker half counts.
        assert_eq!(of(&[6.0, 5.0, 7.0, 5.5]), [0.2, 0.4]);
        // Rounds without a pace cannot be told apart.
        assert_eq!(of(&[4.0, 4.1, 9.0]), [0.1, 0.2, 0.3, 0.4]);
        assert_eq!(undisturbed.of_generation(&[], &[]), [0.0; 0]);
        assert_eq!(disturbed_share(vec![6.0, 4.1, 4.0, 5.0]), Some(0.5));
        assert_eq!(disturbed_share(Vec::new()), None);
    }

    #[test]
    fn the_pace_of_a_round_is_that_of_both_sides() {
        let ratios = [(0, 0.1), (1, 0.2)];
        let of = |paces: &[(u32, f64)]| Undisturbed::default().of_generation(&ratios, paces);
        assert_eq!(of(&[(0, 4.0), (0, 4.0), (1, 4.0), (1, 6.0)]), [0.1]);
        // A server that has a pace of its own has it in all rounds.
        assert_eq!(of(&[(0, 4.0), (0, 6.0), (1, 6.0), (1, 4.0)]), [0.1, 0.2]);
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
