//! What a guest is to do, and what comes back of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cpio;

/// Where the job stands in a guest.
pub(crate) const JOB: &str = "/pitot/job.json";
/// The folder of the job and of what it needs and writes.
pub const FOLDER: &str = "/pitot";
/// The names of what comes back, in the archive.
pub(crate) const OUTCOME: &str = "outcome.json";
pub(crate) const STDOUT: &str = "stdout";
pub(crate) const STDERR: &str = "stderr";
pub(crate) const RESULT: &str = "result";

/// At most so much of each output comes back: its beginning.
pub(crate) const OUTPUT_BYTES_MAX: u64 = 1 << 20;
/// A larger result does not come back.
pub(crate) const RESULT_BYTES_MAX: u64 = 256 << 20;

/// What a guest is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// A file that the program writes and that comes back.
    pub result: Option<String>,
}

/// What came of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobOutcome {
    /// The exit code; 128 and the number of the signal that ended it, as a shell has it; none if it could not be started.
    pub code: Option<i32>,
    /// Why it could not be started; else empty.
    pub reason: String,
    /// The beginning of what it printed on its standard output.
    pub stdout: Vec<u8>,
    /// The same of its standard error.
    pub stderr: Vec<u8>,
    /// The file that it was to write, if it did.
    pub result: Option<Vec<u8>>,
    /// How long it took, by the guest's clock.
    pub elapsed: Duration,
    /// The guest's kernel, as uname(1) prints it.
    pub release: String,
}

impl JobOutcome {
    /// What came back; none if it is not whole.
    pub(crate) fn read(came: &[u8]) -> Option<JobOutcome> {
        let mut outcome = JobOutcome::default();
        let mut is_there = false;
        for (name, content) in cpio::read(came)? {
            match name.as_str() {
                OUTCOME => {
                    let summary: Summary = serde_json::from_slice(&content).ok()?;
                    is_there = true;
                    outcome.code = summary.code;
                    outcome.reason = summary.reason;
                    outcome.elapsed = Duration::from_nanos(summary.elapsed_ns);
                    outcome.release = summary.release;
                }
                STDOUT => outcome.stdout = content,
                STDERR => outcome.stderr = content,
                RESULT => outcome.result = Some(content),
                _ => {}
            }
        }
        is_there.then_some(outcome)
    }
}

/// The small part of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) code: Option<i32>,
    pub(crate) reason: String,
    pub(crate) elapsed_ns: u64,
    pub(crate) release: String,
}
