//! A job of a guest, and its result.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cpio;

/// The path of the job in a guest.
pub(crate) const JOB: &str = "/pitot/job.json";
/// The folder of the job and its files.
pub const FOLDER: &str = "/pitot";
/// The names of files in the result's archive.
pub(crate) const OUTCOME: &str = "outcome.json";
pub(crate) const STDOUT: &str = "stdout";
pub(crate) const STDERR: &str = "stderr";
pub(crate) const RESULT: &str = "result";

/// Maximum length of each output, from its beginning.
pub(crate) const OUTPUT_BYTES_MAX: u64 = 1 << 20;
/// Maximum size of the result file.
pub(crate) const RESULT_BYTES_MAX: u64 = 256 << 20;

/// A job of a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// A file that the program writes, for the result.
    pub result: Option<String>,
}

/// The result of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobOutcome {
    /// The exit code, or 128 plus the number of the signal that ended it; none if it could not be started.
    pub code: Option<i32>,
    /// Why it could not be started; else empty.
    pub reason: String,
    /// The beginning of its stdout.
    pub stdout: Vec<u8>,
    /// The beginning of its stderr.
    pub stderr: Vec<u8>,
    /// The file that it wrote, if it did.
    pub result: Option<Vec<u8>>,
    /// Its duration, by the guest's clock.
    pub elapsed: Duration,
    /// The guest's kernel, as uname(1) prints it.
    pub release: String,
}

impl JobOutcome {
    /// Parses a result; none if it is incomplete.
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
