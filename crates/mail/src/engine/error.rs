//! Why a run cannot begin or continue.

use std::io::{self, ErrorKind};

use pitot_results::Failure;

use crate::journal::JournalError;

/// What the path of a file may be wrong by, in place of its disk.
const UNUSABLE: [ErrorKind; 4] = [
    ErrorKind::NotFound,
    ErrorKind::NotADirectory,
    ErrorKind::PermissionDenied,
    ErrorKind::ReadOnlyFilesystem,
];

/// Why a run cannot begin or continue.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The journal cannot be opened or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The list cannot be read.
    #[error("cannot read the list {}: {error}", path.display())]
    List {
        /// The path of the list.
        path: std::path::PathBuf,
        /// The error of the system call.
        error: io::Error,
    },
    /// The list has no line that counts.
    #[error("the list {} is empty", .0.display())]
    EmptyList(std::path::PathBuf),
    /// The relay accepts no mail from this client.
    #[error("the relay refuses all mail: {0}")]
    Relay(String),
    /// No socket to the DNS server can be opened.
    #[error("cannot query the DNS server: {0}")]
    Dns(io::Error),
    /// Anything else that the kernel refuses.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        let what = error.to_string();
        match error {
            RunError::Journal(JournalError::Foreign(_)) => {
                Failure::misuse(what, "name another journal: this one belongs to another run")
            }
            RunError::Journal(JournalError::Locked(_)) => {
                Failure::misuse(what, "wait for it to end, or name another journal")
            }
            RunError::Journal(JournalError::NotAFile(_)) => {
                Failure::misuse(what, "name a file, or a path where a new one can be created")
            }
            RunError::Journal(JournalError::Write { .. }) => Failure::run(
                what,
                "free space on its disk (df), then run again with the same journal to continue",
            ),
            RunError::Journal(JournalError::File { error, .. }) if UNUSABLE.contains(&error.kind()) => {
                Failure::misuse(what, "name a file in an existing, writable directory")
            }
            RunError::Journal(JournalError::File { .. }) => {
                Failure::run(what, "check the directory, its permissions and its free space")
            }
            RunError::List { .. } | RunError::EmptyList(_) => {
                Failure::misuse(what, "use --list FILE with one address per line")
            }
            RunError::Relay(_) => {
                Failure::run(what, "check its address, the credentials, and from whom it accepts mail")
            }
            RunError::Dns(_) => Failure::run(what, "name a reachable one with --dns HOST:PORT"),
            RunError::System(_) => Failure::run(what, "raise the limit on descriptors with ulimit -n"),
        }
    }
}
