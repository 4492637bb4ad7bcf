//! The part of a plan that a model needs to start its workers.

use std::ffi::OsString;

use pitot_sys::process::SingleThreaded;

use crate::mechanism::Mechanism;

/// How workers are started: the part of a server's plan that its model sees.
#[derive(Clone, Debug)]
pub struct LaunchPlan {
    /// How a worker waits for events.
    pub mechanism: &'static Mechanism,
    /// Number of processes, threads or loops.
    pub workers: usize,
    /// CPUs to which the server is bound; empty means all.
    pub cpus: Vec<usize>,
    /// Connections between a relay and its data process.
    pub links: usize,
    /// The command that serves one connection on its standard input, for the model that executes one; the number of
    /// the descriptor of the counters is appended.
    pub connection_command: Vec<OsString>,
    /// True if that command writes log lines to standard output.
    pub logs_to_stdout: bool,
    /// Proof that no thread was started yet, for models that fork. A confined process can no longer check.
    pub single_threaded: Option<SingleThreaded>,
}

impl LaunchPlan {
    /// The CPUs of a worker: one, if there are at least as many workers as CPUs, else all.
    pub fn cpus_of(&self, worker: usize) -> Vec<usize> {
        if self.cpus.is_empty() || self.workers < self.cpus.len() {
            self.cpus.clone()
        } else {
            vec![self.cpus[worker % self.cpus.len()]]
        }
    }
}
