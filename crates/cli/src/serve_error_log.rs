//! `--error-log`: standard error goes to a file while the server runs.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use pitot_results::Failure;
use pitot_sys::process;

/// Standard error as it was before.
#[derive(Debug)]
pub(crate) struct ErrorLog(OwnedFd);

impl ErrorLog {
    /// Appends what this process and its children say on standard error to a file.
    pub(crate) fn redirect(path: &Path) -> Result<ErrorLog, Failure> {
        let file = File::options().create(true).append(true).open(path);
        file.and_then(process::redirect_stderr).map(ErrorLog).map_err(|e| {
            Failure::misuse(
                format!("cannot write the error log {}: {e}", path.display()),
                "give --error-log a file that you may write",
            )
        })
    }

    /// Undoes it, so that whoever started the server sees why it failed.
    pub(crate) fn restore(self) {
        let _ = process::redirect_stderr(self.0);
    }
}
