//! What is counted of sessions.

use pitot_meter::Histogram;
use pitot_results::Latency;
use pitot_results::load::{FailedStep, SessionResult};
use serde::{Deserialize, Serialize};

use crate::histogram_text as text;

/// Sessions of the measured part, which are those that were to begin in it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SessionTally {
    pub(crate) begun: u64,
    pub(crate) completed: u64,
    /// Under way when the run ended.
    pub(crate) cut: u64,
    /// The names of all steps, and behind them one for those that never sent a request.
    steps: Vec<String>,
    /// How many failed at each.
    failed: Vec<u64>,
    /// From the moment at which a session was to begin to its last reply, of those that completed.
    #[serde(with = "text")]
    pub(crate) time: Histogram,
}

/// Where a session fails that never sent a request.
const NO_CONNECTION: &str = "(no connection)";

impl SessionTally {
    pub(crate) fn new(steps: &[String]) -> SessionTally {
        SessionTally {
            steps: steps.iter().cloned().chain([NO_CONNECTION.to_owned()]).collect(),
            failed: vec![0; steps.len() + 1],
            ..SessionTally::default()
        }
    }

    /// One has failed at a step, or before the first.
    pub(crate) fn fail(&mut self, step: Option<u16>) {
        let last = self.failed.len() - 1;
        self.failed[step.map_or(last, usize::from)] += 1;
    }

    /// Adds what another thread or process counted.
    pub(crate) fn merge(&mut self, other: &SessionTally) {
        self.begun += other.begun;
        self.completed += other.completed;
        self.cut += other.cut;
        self.time.merge(&other.time);
        for (mine, failed) in self.failed.iter_mut().zip(&other.failed) {
            *mine += failed;
        }
    }

    /// The figures of a run whose measured part had that length in seconds.
    pub(crate) fn result(&self, asked_per_s: Option<f64>, length_s: f64) -> SessionResult {
        let failed_at = self.steps.iter().zip(&self.failed).filter(|(_, count)| **count > 0);
        SessionResult {
            begun: self.begun,
            completed: self.completed,
            failed: self.failed.iter().sum(),
            cut: self.cut,
            asked_per_s,
            completed_per_s: if length_s > 0.0 { self.completed as f64 / length_s } else { 0.0 },
            time_ns: Latency::of(&self.time),
            failed_at: failed_at.map(|(step, &count)| FailedStep { step: step.clone(), count }).collect(),
        }
    }
}
