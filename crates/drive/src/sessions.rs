//! What is counted of sessions.

use pitot_client::SessionInfo;
use pitot_meter::{Histogram, Nanos};
use pitot_results::Latency;
use pitot_results::load::{FailedStep, SessionResult, StepResult};
use serde::{Deserialize, Serialize};

use crate::histogram_text as text;

/// Sessions of the measured part, which are those that were to begin in it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SessionTally {
    pub(crate) begun: u64,
    /// All steps done.
    pub completed: u64,
    /// Under way when the run ended.
    pub cut: u64,
    /// The names of all steps, and behind them one for those that never sent a request.
    steps: Vec<String>,
    /// How many failed at each.
    failed: Vec<u64>,
    /// Each step by itself, if they are not too many.
    by_step: Vec<StepTally>,
    /// From the moment at which a session was to begin to its last reply, of those that completed.
    #[serde(with = "text")]
    pub time: Histogram,
}

/// The requests of one step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct StepTally {
    /// It only prepares another.
    is_part: bool,
    errors: u64,
    /// Response times.
    #[serde(with = "text")]
    time: Histogram,
}

/// The most steps for each of which a histogram is kept.
const STEPS_MAX: usize = 64;

/// Where a session fails that never sent a request.
const NO_CONNECTION: &str = "(no connection)";

impl SessionTally {
    /// Nothing counted yet of sessions like these.
    pub fn new(info: &SessionInfo) -> SessionTally {
        let steps = &info.steps;
        let kept = if steps.len() <= STEPS_MAX { steps.len() } else { 0 };
        let of_step = |n: usize| StepTally {
            is_part: info.parts.iter().any(|part| usize::from(*part) == n),
            ..StepTally::default()
        };
        SessionTally {
            by_step: (0..kept).map(of_step).collect(),
            steps: steps.iter().cloned().chain([NO_CONNECTION.to_owned()]).collect(),
            failed: vec![0; steps.len() + 1],
            ..SessionTally::default()
        }
    }

    /// A request of a step was answered, rightly or wrongly, after that time.
    pub fn answered(&mut self, step: u32, right: bool, time: Nanos) {
        if let Some(of) = self.by_step.get_mut(step as usize) {
            of.time.record(time);
            of.errors += u64::from(!right);
        }
    }

    /// A request of a step came to nothing.
    pub fn lost(&mut self, step: u16) {
        if let Some(of) = self.by_step.get_mut(usize::from(step)) {
            of.errors += 1;
        }
    }

    /// One has failed at a step, or before the first.
    pub fn fail(&mut self, step: Option<u16>) {
        let last = self.failed.len() - 1;
        self.failed[step.map_or(last, usize::from)] += 1;
    }

    /// How many have failed, at any step.
    pub fn failed(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Adds what another thread or process counted.
    pub fn merge(&mut self, other: &SessionTally) {
        self.begun += other.begun;
        self.completed += other.completed;
        self.cut += other.cut;
        self.time.merge(&other.time);
        for (mine, failed) in self.failed.iter_mut().zip(&other.failed) {
            *mine += failed;
        }
        for (mine, of) in self.by_step.iter_mut().zip(&other.by_step) {
            mine.errors += of.errors;
            mine.time.merge(&of.time);
        }
    }

    /// The figures of a run whose measured part had that length in seconds.
    pub fn result(&self, asked_per_s: Option<f64>, length_s: f64) -> SessionResult {
        let failed_at = self.steps.iter().zip(&self.failed).filter(|(_, count)| **count > 0);
        let actions: u64 = self.by_step.iter().filter(|of| !of.is_part).map(|of| of.time.count()).sum();
        let of_step = |(step, of): (&String, &StepTally)| StepResult {
            step: step.clone(),
            requests: of.time.count(),
            errors: of.errors,
            share: (!of.is_part && actions > 0).then(|| of.time.count() as f64 / actions as f64),
            time_ns: Latency::of(&of.time),
        };
        SessionResult {
            steps: self.steps.iter().zip(&self.by_step).map(of_step).collect(),
            begun: self.begun,
            completed: self.completed,
            failed: self.failed(),
            cut: self.cut,
            asked_per_s,
            completed_per_s: if length_s > 0.0 { self.completed as f64 / length_s } else { 0.0 },
            time_ns: Latency::of(&self.time),
            failed_at: failed_at.map(|(step, &count)| FailedStep { step: step.clone(), count }).collect(),
        }
    }
}
