//! The effect of each setting, from pairs of mirror images.
//!
//! The difference of a pair, in logarithms, is the sum of the effects of all settings, each with its sign in that pair, plus noise.
//! Multiplied by the sign of one setting it is that setting's effect plus the others', whose signs cancel over the design. Without any
//! effect it is equally likely positive or negative for any noise, since the order of a pair is random: so Wilcoxon's signed-rank test
//! needs no further assumption, and one outlier in ten generations changes little. Proven effects are subtracted before the others are
//! judged (forward selection with Holm's correction in each step); otherwise a large effect would be noise for the others.

use serde::Serialize;

use pitot_stats::{ALPHA, Interval, LEVEL, hodges_lehmann, holm, signed_rank, signed_rank_interval};

/// Iterations to refine several effects together; they converge to four digits.
const REFINEMENTS: usize = 8;

/// The effect of one setting, or the interaction of two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The logarithm of the ratio by which the figure improves.
    pub log: f64,
    /// Its 95% interval; none for fewer than six pairs.
    pub interval: Option<Interval>,
    /// The two-sided p-value.
    pub p: f64,
    /// The p-value, corrected for all settings that were tested together.
    pub p_corrected: f64,
}

impl Effect {
    /// Whether it is proven after correction.
    pub fn is_proven(&self) -> bool {
        self.p_corrected <= ALPHA
    }

    fn of(turned: &[f64], p_corrected: f64) -> Effect {
        let log = hodges_lehmann(turned).unwrap_or(0.0);
        Effect { log, interval: signed_rank_interval(turned, LEVEL), p: p_of(turned), p_corrected }
    }
}

fn p_of(turned: &[f64]) -> f64 {
    signed_rank(turned).two_sided()
}

/// A difference with the sign of each setting: +1, -1, or 0 if it does not take part.
#[derive(Clone, Debug)]
pub(super) struct Contrast {
    /// For each effect, its sign.
    pub(super) signs: Vec<f64>,
    /// The difference, in logarithms.
    pub(super) difference: f64,
}

/// The effects in contrasts, with p-values corrected for all of them.
pub(super) fn effects(contrasts: &[Contrast]) -> Vec<Effect> {
    let count = contrasts.first().map_or(0, |c| c.signs.len());
    let mut proven: Vec<usize> = Vec::new();
    // A proven effect keeps its p-value, and later ones are not smaller.
    let mut corrected = vec![1.0f64; count];
    let mut floor = 0.0f64;
    loop {
        let estimates = refined(contrasts, &proven);
        let alone = |of: usize| turned(contrasts, of, &proven, &estimates);
        let open: Vec<usize> = (0..count).filter(|of| !proven.contains(of)).collect();
        let adjusted = holm(&open.iter().map(|&of| p_of(&alone(of))).collect::<Vec<_>>());
        // Large effects share a p-value; the larger effect goes first.
        let size = |of: usize| hodges_lehmann(&alone(of)).unwrap_or(0.0).abs();
        let best = open
            .iter()
            .zip(&adjusted)
            .min_by(|(a, p), (b, q)| p.total_cmp(q).then_with(|| size(**b).total_cmp(&size(**a))));
        match best {
            Some((&of, &p)) if p.max(floor) <= ALPHA => {
                floor = floor.max(p);
                corrected[of] = floor;
                proven.push(of);
            }
            _ => {
                open.iter().zip(adjusted).for_each(|(&of, p)| corrected[of] = p.max(floor));
                return (0..count).map(|of| Effect::of(&alone(of), corrected[of])).collect();
            }
        }
    }
}

/// Estimates of these effects together, each from what the others leave.
fn refined(contrasts: &[Contrast], of: &[usize]) -> Vec<f64> {
    let mut estimates = vec![0.0; of.len()];
    for _ in 0..REFINEMENTS {
        for at in 0..of.len() {
            estimates[at] = hodges_lehmann(&turned(contrasts, of[at], of, &estimates)).unwrap_or(0.0);
        }
    }
    estimates
}

/// The differences turned by the sign of one effect, without what the `known` others do.
fn turned(contrasts: &[Contrast], of: usize, known: &[usize], estimates: &[f64]) -> Vec<f64> {
    let of_contrast = |contrast: &Contrast| {
        let others: f64 = known
            .iter()
            .zip(estimates)
            .filter(|(other, _)| **other != of)
            .map(|(&other, e)| contrast.signs[other] * e)
            .sum();
        contrast.signs[of] * (contrast.difference - others)
    };
    contrasts.iter().filter(|c| c.signs[of] != 0.0).map(of_contrast).collect()
}

#[cfg(test)]
mod tests {
    use super::super::design::{Combination, screening};
    use super::*;
    use pitot_meter::Random;

    /// Pairs of a screening design whose effects are `planted`, with noise of this deviation.
    fn seen(planted: &[f64], noise: f64, repeats: usize, random: &mut Random) -> Vec<Contrast> {
        let mut all = Vec::new();
        for _ in 0..repeats {
            for (row, _) in screening(planted.len()).unwrap() {
                let signs: Vec<f64> = row.iter().map(|&l| if l { 1.0 } else { -1.0 }).collect();
                let sum: f64 = signs.iter().zip(planted).map(|(s, e)| s * e).sum();
                let wobble: f64 = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
                all.push(Contrast { signs, difference: sum + noise * wobble });
            }
        }
        all
    }

    #[test]
    fn planted_effects_are_estimated_beside_each_other() {
        let mut planted = vec![0.0; 12];
        (planted[3], planted[7], planted[8]) = (0.20, 0.05, -0.10);
        let judged = effects(&seen(&planted, 0.03, 3, &mut Random::new(5)));
        for (at, effect) in judged.iter().enumerate() {
            assert_eq!(effect.is_proven(), planted[at] != 0.0, "{at}: {effect:?}");
            if effect.is_proven() {
                let interval = effect.interval.unwrap();
                assert!(
                    (effect.log - planted[at]).abs() < 0.02 && interval.contains(effect.log),
                    "{effect:?}"
                );
            }
        }
    }

    #[test]
    fn an_effect_without_noise_is_exact_and_the_others_are_nothing() {
        let mut planted = vec![0.0; 5];
        planted[1] = 0.5;
        let judged = effects(&seen(&planted, 0.0, 2, &mut Random::new(1)));
        for (effect, planted) in judged.iter().zip(planted) {
            assert!((effect.log - planted).abs() < 1e-9 && effect.is_proven() == (planted != 0.0));
        }
    }

    #[test]
    fn intervals_cover_what_was_planted() {
        let planted = [0.1, 0.0, 0.0, -0.06, 0.0, 0.0, 0.0];
        let mut random = Random::new(9);
        let (mut covered, mut all) = (0, 0);
        for _ in 0..200 {
            for (effect, planted) in effects(&seen(&planted, 0.05, 3, &mut random)).iter().zip(planted) {
                covered += usize::from(effect.interval.unwrap().contains(planted));
                all += 1;
            }
        }
        let share = f64::from(covered as u32) / f64::from(all);
        assert!((0.92..0.985).contains(&share), "{share}");
    }

    #[test]
    fn nothing_seen_is_nothing_found() {
        assert!(effects(&[]).is_empty());
        let one: Combination = vec![true];
        let judged = effects(&[Contrast { signs: one.iter().map(|_| 1.0).collect(), difference: 3.0 }]);
        assert!(!judged[0].is_proven() && judged[0].interval.is_none());
    }
}
