//! The kernel of this machine: a job is a program like any other.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pitot_results::Failure;
use pitot_sys::spawn;

use crate::cpio::content;
use crate::job::{Job, JobOutcome, OUTPUT_BYTES_MAX, RESULT_BYTES_MAX, STDERR, STDOUT};
use crate::running::{Ended, Running};

/// A job for the kernel of this machine.
#[derive(Clone, Copy, Debug)]
pub struct Direct<'a> {
    /// The CPUs that it may use; all if none.
    pub cpus: &'a [usize],
    /// A folder for files of this job, also for temporary files.
    pub dir: &'a Path,
    /// Its timeout.
    pub timeout: Duration,
}

impl Direct<'_> {
    /// Runs the job, whose files exist already. It is killed with the calling thread.
    ///
    /// # Errors
    /// If its files cannot be written or it cannot be started.
    pub fn run(self, job: &Job, stop: &dyn Fn() -> bool) -> Result<Ended, Failure> {
        let cannot = |e: io::Error| {
            let what = format!("{} cannot be written: {e}", self.dir.display());
            Failure::run(what, "check the free space of TMPDIR")
        };
        let Some((program, arguments)) = job.argv.split_first() else {
            return Err(Failure::misuse("the command is missing", "add a command"));
        };
        fs::create_dir_all(self.dir).map_err(cannot)?;
        let mut command = Command::new(program);
        command.args(arguments).env("TMPDIR", self.dir).stdin(Stdio::null());
        command.stdout(File::create(self.dir.join(STDOUT)).map_err(cannot)?);
        command.stderr(File::create(self.dir.join(STDERR)).map_err(cannot)?);
        spawn::isolate(&mut command, self.cpus);
        let began = Instant::now();
        let child = command.spawn().map_err(|e| {
            Failure::run(format!("{program} cannot be started: {e}"), "check its permissions")
        })?;
        let printed = |name: &str| {
            let mut printed = fs::read(self.dir.join(name)).unwrap_or_default();
            printed.truncate(OUTPUT_BYTES_MAX as usize);
            printed
        };
        let ended = (Running { child }).wait(self.timeout, stop).map_err(cannot)?;
        Ok(match ended {
            Some(status) => Ended::Done(JobOutcome {
                code: status.code(),
                reason: status.to_string(),
                stdout: printed(STDOUT),
                stderr: printed(STDERR),
                result: job.result.as_ref().and_then(|path| content(Path::new(path), RESULT_BYTES_MAX).ok()),
                elapsed: began.elapsed(),
                release: rustix::system::uname().release().to_string_lossy().into_owned(),
            }),
            None if stop() => Ended::Stopped,
            None => Ended::Failed(format!("it did not end within {} s", self.timeout.as_secs())),
        })
    }
}
