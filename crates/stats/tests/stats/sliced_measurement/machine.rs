//! A shared machine in time, on which servers are loaded in slices.
//!
//! Not a model of one machine but of what makes measuring on any of them hard: CPU time is stolen in bursts from 5 ms
//! to 60 s, each length class taking the same share of time; what runs meanwhile gets less done, and pays more per
//! request as its caches are cold. The machine's speed drifts. Single slices are disturbed, always for the worse. A
//! server process keeps the luck of its start for its life. What an arm leaves behind slows the arm that follows.

use pitot_stats::{Random, lead_in, round_order};

const BURST_MIN_S: f64 = 0.005;
const BURST_MAX_S: f64 = 60.0;
const DRIFT_TIME_S: f64 = 20.0;

/// To start the servers of a generation and to warm them.
pub const START_S: f64 = 0.8;

/// How the luck of a process is distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Luck {
    Normal,
    /// Good or bad, nothing between, as the layout of memory often has it.
    TwoPoint,
    /// Mostly good and sometimes very bad, which the baseline is not: the ratio to it is skewed.
    SkewedCandidates,
}

/// What the machine and the measurement are like. Effects are on the logarithm of the figure.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The share of time that is stolen, on average.
    pub steal: f64,
    /// The standard deviation of the machine's slow drift.
    pub drift: f64,
    /// The standard deviation of a slice, apart from all else.
    pub slice_noise: f64,
    /// The standard deviation of the luck of a process.
    pub process_spread: f64,
    pub luck: Luck,
    /// How much the last arm slows its successor; the others slow theirs by less.
    pub carry_over: f64,
    /// The arms in turn, round after round, as a careless measurement would have it.
    pub fixed_order: bool,
    /// The arms beyond the baseline and its twin.
    pub candidates: usize,
    pub rounds: u32,
    pub slice_s: f64,
}

/// The figure that is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    CpuPerRequest,
    RequestsPerSecond,
}

/// The figures of all slices of a generation, by arm: baseline, its twin, then the candidates.
pub type Slices = Vec<Vec<(u32, f64)>>;

/// A machine in which time passes.
pub struct Machine {
    setting: Setting,
    random: Random,
    now_s: f64,
    next_burst_s: f64,
    /// End and intensity of the bursts that go on.
    bursts: Vec<(f64, f64)>,
    drift: f64,
}

impl Machine {
    pub fn new(setting: Setting, seed: u64) -> Machine {
        let mut machine = Machine {
            setting,
            random: Random::new(seed),
            now_s: 0.0,
            next_burst_s: 0.0,
            bursts: Vec::new(),
            drift: 0.0,
        };
        machine.drift = setting.drift * machine.random.normal();
        // As long as the longest burst: the run begins in the midst of what goes on.
        machine.pass(BURST_MAX_S);
        machine
    }

    /// Lets `seconds` pass and returns the share of CPU time stolen meanwhile.
    fn pass(&mut self, seconds: f64) -> f64 {
        let until = self.now_s + seconds;
        let mut stolen_s = 0.0;
        while self.now_s < until {
            let ends = self.bursts.iter().map(|burst| burst.0);
            let next = ends.fold(until.min(self.next_burst_s), f64::min);
            let left: f64 = self.bursts.iter().map(|burst| 1.0 - burst.1).product();
            stolen_s += (next - self.now_s) * (1.0 - left);
            self.now_s = next;
            self.bursts.retain(|burst| burst.0 > next);
            if next == self.next_burst_s {
                self.begin_burst();
            }
        }
        let kept = (-seconds / DRIFT_TIME_S).exp();
        let fresh = (1.0 - kept * kept).sqrt() * self.setting.drift;
        self.drift = kept * self.drift + fresh * self.random.normal();
        stolen_s / seconds
    }

    fn begin_burst(&mut self) {
        // Density as 1 / length^2: each decade of lengths takes the same time.
        let shortest = BURST_MIN_S / BURST_MAX_S;
        let length_s = BURST_MIN_S / (1.0 - self.random.unit() * (1.0 - shortest));
        let intensity = 0.2 + 0.7 * self.random.unit();
        self.bursts.push((self.now_s + length_s, intensity));
        let mean_s = BURST_MIN_S * -shortest.ln() / (1.0 - shortest);
        // Bursts overlap, and then steal less than their sum.
        let per_second = -(1.0 - self.setting.steal).ln() / (0.55 * mean_s);
        self.next_burst_s = self.now_s - (1.0 - self.random.unit()).ln() / per_second;
    }

    /// The logarithm of a slice's figure, without what its server adds.
    fn slice(&mut self, figure: Figure) -> f64 {
        let stolen = self.pass(self.setting.slice_s).min(0.99);
        let noise = self.setting.slice_noise * self.random.normal();
        let disturbed = if self.random.unit() < 0.04 { -0.4 * (1.0 - self.random.unit()).ln() } else { 0.0 };
        match figure {
            Figure::CpuPerRequest => 0.3 * stolen + 0.3 * self.drift + noise + 0.3 * disturbed,
            Figure::RequestsPerSecond => (1.0 - stolen).ln() - self.drift + 1.5 * noise - disturbed,
        }
    }

    /// A generation of equal servers: fresh ones, then all rounds.
    pub fn generation(&mut self, seed: u64, number: u32, figure: Figure) -> Slices {
        self.pass(START_S);
        let arms = 2 + self.setting.candidates;
        let worse = if figure == Figure::CpuPerRequest { 1.0 } else { -1.0 };
        let luck: Vec<f64> = (0..arms).map(|arm| worse * self.luck(arm)).collect();
        let mut slices: Slices = vec![Vec::new(); arms];
        for round in 0..self.setting.rounds {
            let order = if self.setting.fixed_order {
                (0..arms).chain(0..arms).collect()
            } else {
                round_order(seed, number, round, arms)
            };
            let mut predecessor = match lead_in(&order) {
                Some(first) if !self.setting.fixed_order => first,
                _ => arms - 1,
            };
            self.slice(figure);
            for arm in order {
                let left_behind = self.setting.carry_over * (predecessor as f64 / (arms - 1) as f64).powi(2);
                let logarithm = self.slice(figure) + luck[arm] + worse * left_behind;
                slices[arm].push((round, logarithm.exp()));
                predecessor = arm;
            }
        }
        slices
    }

    fn luck(&mut self, arm: usize) -> f64 {
        let spread = self.setting.process_spread;
        match self.setting.luck {
            // Baseline and twin share a normal spread; candidates have an exponential one of the same size.
            Luck::SkewedCandidates if arm >= 2 => spread * (-(1.0 - self.random.unit()).ln() - 1.0),
            Luck::Normal | Luck::SkewedCandidates => spread * self.random.normal(),
            Luck::TwoPoint if self.random.unit() < 0.5 => spread,
            Luck::TwoPoint => -spread,
        }
    }
}
