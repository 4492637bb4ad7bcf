//! How far what is equal may lie apart in two runs: what an interval within a run cannot show.
//!
//! Two runs are two draws of everything that differs from run to run: a neighbour, a clock, where programs lie in memory. Cells are
//! compared by their ratio to a reference that both runs hold, so that what meets all servers alike is no part of it. Two
//! things remain:
//!
//! - **What meets one server and not the other.** The reference's twin, the same program once more, shows it: each run's ratio of
//!   twin to reference is one observation of it, with a mean known to be 1. A cell's change between the runs is a difference of two
//!   such ratios, and so has twice their variance. Of a deviation that is known from `n` observations, Student's t with
//!   `n` degrees of freedom says how far a normally distributed change reaches (JCGM 100:2008, annex G.3). All cells of a run
//!   share the run, so that it counts as one observation, however many load levels have a twin: two runs have two degrees of freedom.
//! - **What meets both, one more than the other.** A neighbour that takes half of the reference's throughput may take less of
//!   another server's, or all. How far the reference itself moved is the measure of it: another server may have moved by up to that
//!   much more or less.
//!
//! Without twins, as in fresh runs, the reference's own change is all that is known, and it is one observation, which need not hold
//! more than half of the variance of a cell's change.

use std::f64::consts::{FRAC_PI_2, SQRT_2};

/// A reference that two runs hold, at one load level: logarithms of ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReferenceChange {
    /// Its figure in the second run to that in the first.
    pub itself: f64,
    /// Its twin's figure to its own, in the first run and in the second, if both have one.
    pub twins: Option<[f64; 2]>,
}

/// What is known of how far equal servers lie apart in two runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BetweenRuns {
    /// How far the reference moved from run to run, where it moved most: a logarithm.
    pub moved: f64,
    /// The standard deviation of the change of a ratio of equal servers, a logarithm.
    pub deviation: f64,
    /// Of how many observations that is known: the degrees of freedom.
    pub observations: u32,
}

impl BetweenRuns {
    /// What the references show; none without one.
    pub fn of(references: &[ReferenceChange]) -> Option<BetweenRuns> {
        let moved = references.iter().map(|change| change.itself.abs()).reduce(f64::max)?;
        let twins: Vec<f64> = references.iter().filter_map(|change| change.twins).flatten().collect();
        if twins.is_empty() {
            return Some(BetweenRuns { moved, deviation: SQRT_2 * moved, observations: 1 });
        }
        let mean_square = twins.iter().map(|ratio| ratio * ratio).sum::<f64>() / twins.len() as f64;
        Some(BetweenRuns { moved, deviation: SQRT_2 * mean_square.sqrt(), observations: 2 })
    }

    /// How far what is equal lies apart at most, with a probability of 1 - `alpha`: a logarithm.
    pub fn bound(&self, alpha: f64) -> f64 {
        self.moved + self.factor(alpha) * self.deviation
    }

    /// The two-sided quantile of Student's t for the observations.
    pub fn factor(&self, alpha: f64) -> f64 {
        let level = 1.0 - alpha;
        match self.observations {
            1 => (FRAC_PI_2 * level).tan(),
            _ => level * (2.0 / (alpha * (2.0 - alpha))).sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ALPHA, Samples, judge_between};
    use pitot_meter::Random;

    #[test]
    fn students_quantiles_of_one_and_two_observations_are_those_of_the_tables() {
        let of = |observations, alpha| {
            let between = BetweenRuns { moved: 0.0, deviation: 1.0, observations };
            (between.bound(alpha) * 100.0).round() / 100.0
        };
        assert_eq!((of(1, 0.05), of(1, 0.01)), (12.71, 63.66));
        assert_eq!((of(2, 0.05), of(2, 0.01)), (4.30, 9.92));
    }

    #[test]
    fn a_run_is_one_observation_however_many_twins_it_has() {
        let change = |itself, twins| ReferenceChange { itself, twins };
        let one = BetweenRuns::of(&[change(-0.1, Some([0.01, -0.01]))]).unwrap();
        let four = BetweenRuns::of(&[change(0.05, Some([0.01, -0.01])); 4]).unwrap();
        assert_eq!((one.observations, one.moved, four.observations), (2, 0.1, 2));
        assert!(
            (one.deviation - 0.01 * 2f64.sqrt()).abs() < 1e-12
                && (four.deviation - one.deviation).abs() < 1e-12
        );
        let bare = BetweenRuns::of(&[change(0.02, None), change(-0.01, None)]).unwrap();
        assert_eq!((bare.observations, bare.moved), (1, 0.02));
        assert_eq!(BetweenRuns::of(&[]), None);
    }

    /// Two runs of equal servers.
    struct Runs {
        levels: usize,
        /// Servers that are compared at each level.
        servers: usize,
        /// What meets all servers of a run, and each by up to so much of it more or less.
        common: f64,
        /// What meets one cell of a run.
        own: f64,
        /// What differs from generation to generation.
        within: f64,
        /// In one of ten runs a neighbour takes so much of everything.
        neighbour: f64,
        has_twins: bool,
    }
    impl Runs {
        /// The shares of comparisons of which some server was told apart, and of servers whose interval does not hold 1; each is a
        /// false alarm. The change of what is changed is `effect`.
        fn alarms(&self, effect: f64) -> (f64, f64) {
            const TRIALS: usize = 500;
            const GENERATIONS: usize = 6;
            let mut random = Random::new(11);
            let (mut told, mut missed) = (0, 0);
            for _ in 0..TRIALS {
                let mut of_run = [0.0; 2];
                for shift in &mut of_run {
                    let is_disturbed = random.unit() < 0.1;
                    *shift = self.common * random.normal() - if is_disturbed { self.neighbour } else { 0.0 };
                }
                let (mut references, mut family) = (Vec::new(), Vec::new());
                for _ in 0..self.levels {
                    let own: [f64; 2] = std::array::from_fn(|_| self.own * random.normal());
                    let noise = self.within / (GENERATIONS as f64).sqrt();
                    let figure: [f64; 2] =
                        std::array::from_fn(|run| of_run[run] + own[run] + noise * random.normal());
                    let twins: [f64; 2] = std::array::from_fn(|run| {
                        self.own * random.normal() - own[run] + noise * random.normal()
                    });
                    let twins = self.has_twins.then_some(twins);
                    references.push(ReferenceChange { itself: figure[1] - figure[0], twins });
                    for _ in 0..self.servers {
                        let more = 2.0 * random.unit() - 1.0;
                        let mut ratios = |run: usize, effect: f64| -> Vec<f64> {
                            let centre = effect + more * of_run[run] + self.own * random.normal() - own[run];
                            let values =
                                (0..GENERATIONS).map(|_| (centre + self.within * random.normal()).exp());
                            values.collect()
                        };
                        let (a, b) = (ratios(0, 0.0), ratios(1, effect));
                        family.push(Samples::Independent(b, a));
                    }
                }
                let judged = judge_between(&family, 0.0, BetweenRuns::of(&references).unwrap());
                told += usize::from(judged.iter().flatten().any(|c| c.decision.is_difference()));
                missed += judged.iter().flatten().filter(|c| !c.interval.unwrap().contains(1.0)).count();
            }
            (told as f64 / TRIALS as f64, missed as f64 / (TRIALS * self.levels * self.servers) as f64)
        }
    }

    #[test]
    fn equal_servers_of_two_runs_are_told_apart_in_one_comparison_of_twenty_at_most() {
        let quiet = Runs {
            levels: 1,
            servers: 1,
            common: 0.0,
            own: 0.03,
            within: 0.01,
            neighbour: 0.0,
            has_twins: true,
        };
        for runs in [
            Runs { ..quiet },
            Runs { own: 0.0, within: 0.03, ..quiet },
            Runs { within: 0.0001, ..quiet },
            Runs { levels: 4, servers: 3, ..quiet },
            Runs { common: 0.1, ..quiet },
            Runs { common: 0.1, levels: 2, servers: 2, within: 0.0001, ..quiet },
            Runs { neighbour: 0.5, own: 0.01, levels: 2, ..quiet },
            Runs { has_twins: false, ..quiet },
            Runs { has_twins: false, common: 0.1, levels: 3, servers: 2, ..quiet },
        ] {
            let (told, missed) = runs.alarms(0.0);
            // The standard error of 5% of 500 is one percent.
            assert!(told <= ALPHA + 0.01, "told apart: {told}");
            assert!(missed <= ALPHA + 0.01, "outside the interval: {missed}");
        }
    }

    #[test]
    fn a_change_that_is_large_beside_what_equal_servers_show_is_found() {
        let quiet = Runs {
            levels: 2,
            servers: 1,
            common: 0.002,
            own: 0.003,
            within: 0.01,
            neighbour: 0.0,
            has_twins: true,
        };
        let (told, _) = quiet.alarms(0.2);
        assert!(told > 0.9, "{told}");
    }
}
