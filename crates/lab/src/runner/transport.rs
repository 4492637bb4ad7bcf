//! Transports: how jobs get to other machines, and results back.

use std::path::PathBuf;

use pitot_results::Failure;

use super::job::Job;
use pitot_record::{Repetition, RunState};

/// Delivers jobs of a run to other machines, and their results back. It may deliver a job or a result more than once.
pub trait Transport {
    /// Begins or continues the run of this identity.
    ///
    /// # Errors
    /// If the transport is not available.
    fn begin(&mut self, run: &str) -> Result<(), Failure>;

    /// Sends a job.
    ///
    /// # Errors
    /// If the job can never be delivered.
    fn offer(&mut self, job: &Job) -> Result<(), Failure>;

    /// The next result; none if none arrives within a moment.
    ///
    /// # Errors
    /// If no result will arrive any more.
    fn next(&mut self) -> Result<Option<JobResult>, Failure>;

    /// Adds what only the transport knows about a repetition.
    fn complete(&self, _repetition: &mut Repetition) {}

    /// Confirms that the result of a job is recorded and can be deleted.
    fn settle(&mut self, job: &str);

    /// Ends the run in this state.
    fn end(&mut self, state: RunState);
}

/// The result of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobResult {
    /// The job was run.
    Done {
        /// The job's name.
        job: String,
        /// The host that ran it.
        host: String,
        /// Its run file.
        file: PathBuf,
    },
    /// The job was given up.
    Failed {
        /// The job's name.
        job: String,
        /// The host that tried last.
        host: String,
        /// Why: a sentence.
        reason: String,
    },
}
