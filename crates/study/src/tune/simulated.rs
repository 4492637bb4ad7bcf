//! An experiment with planted effects, for tests.

use pitot_meter::Random;
use pitot_results::Failure;

use super::design::{Combination, Pair};
use super::stages::{Experiment, Measured, Stage};

/// A machine whose settings do what is planted.
#[derive(Clone, Debug)]
pub(super) struct Simulated {
    /// The effect of each setting, in logarithms.
    pub(super) effects: Vec<f64>,
    /// What two do together beyond that, if both are as wanted.
    pub(super) together: Vec<((usize, usize), f64)>,
    /// The standard deviation of a run.
    pub(super) noise: f64,
    /// The share of runs that lose half of their figure.
    pub(super) bursts: f64,
    /// The standard deviation between blocks.
    pub(super) drift: f64,
    /// The share of pairs that fail.
    pub(super) fails: f64,
    /// How long it ran.
    pub(super) seconds: f64,
    random: Random,
}

impl Simulated {
    pub(super) fn new(settings: usize, noise: f64, seed: u64) -> Simulated {
        Simulated {
            effects: vec![0.0; settings],
            together: Vec::new(),
            noise,
            bursts: 0.0,
            drift: 0.0,
            fails: 0.0,
            seconds: 0.0,
            random: Random::new(seed),
        }
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.random.unit()).sum::<f64>() - 6.0
    }

    fn figure(&mut self, levels: &Combination) -> f64 {
        self.seconds += self.run_s();
        let alone: f64 = levels.iter().zip(&self.effects).filter(|(l, _)| **l).map(|(_, e)| e).sum();
        let together: f64 =
            self.together.iter().filter(|((a, b), _)| levels[*a] && levels[*b]).map(|(_, e)| e).sum();
        let burst = if self.random.unit() < self.bursts { 0.5f64.ln() } else { 0.0 };
        10.0 + alone + together + burst + self.noise * self.normal()
    }
}

impl Experiment for Simulated {
    fn run_s(&self) -> f64 {
        5.0
    }

    fn run(&mut self, _: Stage, pairs: &[Pair], blocks: usize) -> Result<Vec<Vec<Measured>>, Failure> {
        let mut measured = Vec::new();
        for _ in 0..blocks {
            let level = self.drift * self.normal();
            let mut block = Vec::new();
            for (row, mirror) in pairs {
                let both = (level + self.figure(row), level + self.figure(mirror));
                block.push((self.random.unit() >= self.fails).then_some(both));
            }
            measured.push(block);
        }
        Ok(measured)
    }
}
