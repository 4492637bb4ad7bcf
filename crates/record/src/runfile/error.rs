//! What can be wrong with a run file.

use std::path::{Path, PathBuf};

use pitot_results::Failure;

use crate::database::{DatabaseError, damage};

/// What can be wrong with a run file.
#[derive(Debug, thiserror::Error)]
pub enum RunFileError {
    /// It is not there or may not be read.
    #[error("cannot open {}: {reason}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// The reason that the system gave.
        reason: String,
    },
    /// It is there already.
    #[error("{} exists", .0.display())]
    Exists(PathBuf),
    /// Another process is writing it.
    #[error("{} is in use by a run that has not ended", .0.display())]
    Locked(PathBuf),
    /// It is something else.
    #[error("{} is not a run file", .0.display())]
    Foreign(PathBuf),
    /// A newer Pitot wrote it.
    #[error("{} has layout {found}, this pitot reads up to {known}", path.display())]
    Newer {
        /// Which file.
        path: PathBuf,
        /// Its layout.
        found: u32,
        /// The newest layout that is known here.
        known: u32,
    },
    /// A value in it cannot be read.
    #[error("the run file is damaged: {0}")]
    Damaged(String),
    /// The database failed.
    #[error("the run file could not be read or written")]
    Database(#[from] rusqlite::Error),
}

impl RunFileError {
    /// What keeps the file of this path from being used.
    pub(super) fn of(path: &Path, error: DatabaseError) -> RunFileError {
        let path: PathBuf = path.into();
        match error {
            DatabaseError::Open(e) => RunFileError::Open { path, reason: e.to_string() },
            DatabaseError::Exists => RunFileError::Exists(path),
            DatabaseError::Locked => RunFileError::Locked(path),
            DatabaseError::Foreign => RunFileError::Foreign(path),
            DatabaseError::Newer { found, known } => RunFileError::Newer { path, found, known },
            DatabaseError::Unsafe(what) => RunFileError::Damaged(what),
            DatabaseError::Sqlite(e) => RunFileError::Database(e),
        }
    }
}

impl From<RunFileError> for Failure {
    fn from(error: RunFileError) -> Failure {
        let what = error.to_string();
        match error {
            RunFileError::Open { .. } => Failure::misuse(what, "check the path and its permissions"),
            RunFileError::Exists(path) => Failure::misuse(
                what,
                format!("name another file with -o, or continue it with --resume {}", path.display()),
            ),
            RunFileError::Locked(_) => Failure::misuse(what, "wait for it to end, or stop it"),
            RunFileError::Foreign(_) => Failure::misuse(what, "name a file that `pitot run` wrote"),
            RunFileError::Newer { .. } => {
                Failure::misuse(what, "read it with the version that wrote it, or a newer one")
            }
            RunFileError::Damaged(_) => {
                Failure::run(what, "use a copy of the file from before, if there is one")
            }
            RunFileError::Database(cause) if let Some(why) = damage(&cause) => Failure::run(
                format!("the run file is damaged: {why}"),
                "use a copy of the file from before; `sqlite3 FILE .recover` saves what can be read",
            ),
            RunFileError::Database(cause) => Failure::run(
                format!("{what}: {cause}"),
                "check the free space and the permissions of its directory",
            ),
        }
    }
}
