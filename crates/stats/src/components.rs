//! Where the variance of a comparison arises: in the rounds of a generation, or between generations.
//!
//! A generation costs a start and a warm-up, however many rounds it has. If the rounds vary most, as beside other work, more of them in each
//! generation tell more in the same time; if the starts do, more generations (Kalibera and Jones 2013, section 6).

use crate::generation::robust_deviation;
use crate::location::{NORMAL_SCALE, median};

/// The variances of log ratios.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Components {
    /// Of rounds within a generation.
    pub round: f64,
    /// Of generations, beyond what their rounds explain.
    pub generation: f64,
}

impl Components {
    /// Of the log ratios of the rounds of each generation. `None` for fewer than two generations with two rounds.
    pub fn of(generations: &[Vec<f64>]) -> Option<Components> {
        let (mut centres, mut residuals, mut degrees) = (Vec::new(), Vec::new(), 0);
        for rounds in generations.iter().filter(|rounds| rounds.len() > 1) {
            let Some(centre) = median(rounds).filter(|centre| centre.is_finite()) else { continue };
            centres.push(centre);
            residuals.extend(rounds.iter().map(|round| (round - centre).abs()));
            degrees += rounds.len() - 1;
        }
        let of_centres = robust_deviation(&centres)?.powi(2);
        // The centres are estimated from the same rounds.
        let round = (NORMAL_SCALE * median(&residuals)?).powi(2) * residuals.len() as f64 / degrees as f64;
        let rounds = residuals.len() as f64 / centres.len() as f64;
        Some(Components { round, generation: (of_centres - round / rounds).max(0.0) })
    }

    /// The rounds of a generation that tell most in a given time, if a round takes `round_s` and all else of a generation
    /// `besides_s`: those for which the variance of the mean, times the time, is least.
    pub fn best_rounds(self, round_s: f64, besides_s: f64) -> f64 {
        (self.round / self.generation * besides_s / round_s).sqrt()
    }
}

impl std::iter::Sum for Components {
    fn sum<I: Iterator<Item = Components>>(all: I) -> Components {
        all.fold(Components::default(), |a, b| Components {
            round: a.round + b.round,
            generation: a.generation + b.generation,
        })
    }
}

#[cfg(test)]
mod tests {
    use pitot_meter::Random;

    use super::*;

    /// Generations of rounds with these deviations.
    fn generations(count: usize, rounds: usize, of_round: f64, of_generation: f64) -> Vec<Vec<f64>> {
        let mut random = Random::new(7);
        let generation = |_| {
            let centre = of_generation * random.normal();
            (0..rounds).map(|_| centre + of_round * random.normal()).collect()
        };
        (0..count).map(generation).collect()
    }

    #[test]
    fn the_variances_are_told_apart() {
        let close = |value: f64, truth: f64| (value / truth - 1.0).abs() < 0.25;
        let both = Components::of(&generations(400, 8, 0.08, 0.05)).unwrap();
        assert!(close(both.round.sqrt(), 0.08) && close(both.generation.sqrt(), 0.05), "{both:?}");
        let rounds_only = Components::of(&generations(400, 4, 0.08, 0.0)).unwrap();
        assert!(
            close(rounds_only.round.sqrt(), 0.08) && rounds_only.generation.sqrt() < 0.03,
            "{rounds_only:?}"
        );
        assert_eq!(Components::of(&generations(1, 8, 0.08, 0.0)), None);
        assert_eq!(Components::of(&generations(9, 1, 0.08, 0.0)), None);
    }

    #[test]
    fn the_best_rounds_are_those_with_the_least_variance_for_the_time() {
        let components = Components { round: 0.06_f64.powi(2), generation: 0.02_f64.powi(2) };
        let (round_s, besides_s) = (0.3, 2.0);
        let price = |rounds: f64| {
            (components.generation + components.round / rounds) * (besides_s + rounds * round_s)
        };
        let best = components.best_rounds(round_s, besides_s);
        assert!((7.0..8.5).contains(&best), "{best}");
        assert!(price(best) < price(best * 1.1) && price(best) < price(best * 0.9));
        // Nothing is between generations: one would do.
        assert!(Components { generation: 0.0, ..components }.best_rounds(round_s, besides_s).is_infinite());
    }
}
