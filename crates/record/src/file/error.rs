//! Errors of records.

use std::path::{Path, PathBuf};

use pitot_results::Failure;

use super::layout::Kind;
use crate::database::{DatabaseError, damage};

/// An error of a record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It does not exist or may not be read.
    #[error("cannot open {}: {reason}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// It exists already.
    #[error("{} exists", .0.display())]
    Exists(PathBuf),
    /// Another process is writing it.
    #[error("{} is in use by a run or soak that has not ended", .0.display())]
    Locked(PathBuf),
    /// It is something else.
    #[error("{} is not a run file", .0.display())]
    Foreign(PathBuf),
    /// It records something else.
    #[error("{} is the file of a {}", path.display(), found.word())]
    Other {
        /// The file.
        path: PathBuf,
        /// What it records.
        found: Kind,
    },
    /// Another version of Pitot wrote it.
    #[error("{} has layout {found}, this pitot reads layout {known}", path.display())]
    Layout {
        /// The file.
        path: PathBuf,
        /// Its layout.
        found: u32,
        /// The newest known layout.
        known: u32,
    },
    /// A value in it cannot be read.
    #[error("the run file is damaged: {0}")]
    Damaged(String),
    /// The database failed.
    #[error("the run file could not be read or written")]
    Database(#[from] rusqlite::Error),
}

impl RecordError {
    /// Why the file at this path cannot be used.
    pub(super) fn of(path: &Path, error: DatabaseError) -> RecordError {
        let path: PathBuf = path.into();
        match error {
            DatabaseError::Open(e) => RecordError::Open { path, reason: e.to_string() },
            DatabaseError::Exists => RecordError::Exists(path),
            DatabaseError::Locked => RecordError::Locked(path),
            DatabaseError::Foreign => RecordError::Foreign(path),
            DatabaseError::Layout { found, known } => RecordError::Layout { path, found, known },
            DatabaseError::Unsafe(what) => RecordError::Damaged(what),
            DatabaseError::Sqlite(e) => RecordError::Database(e),
        }
    }

    /// The error for a text that is not the expected JSON.
    pub(super) fn of_json(what: &str, error: &serde_json::Error) -> RecordError {
        RecordError::Damaged(format!("{what}: {error}"))
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Failure {
        let what = error.to_string();
        match error {
            RecordError::Open { .. } => Failure::misuse(what, "check the path and its permissions"),
            RecordError::Exists(path) => Failure::misuse(
                what,
                format!("choose another file with -o, or continue this one with --resume {}", path.display()),
            ),
            RecordError::Locked(_) => Failure::misuse(what, "wait until it ends, or stop it"),
            RecordError::Foreign(_) => {
                Failure::misuse(what, "name a file that `pitot run` or `pitot soak` wrote")
            }
            RecordError::Other { found, .. } => {
                let fix = match found {
                    Kind::Run => {
                        "name a file that `pitot soak` wrote, or use `pitot run` and `pitot compare` with this one"
                    }
                    Kind::Soak => {
                        "name a file that `pitot run` wrote; `pitot report` and `pitot soak --resume` take this one"
                    }
                };
                Failure::misuse(what, fix)
            }
            RecordError::Layout { found, known, .. } => {
                let fix = match found > known {
                    true => "use the version that wrote it, or a newer one",
                    false => "use the version that wrote it, or measure again",
                };
                Failure::misuse(what, fix)
            }
            RecordError::Damaged(_) => Failure::run(what, "use a backup of the file, if there is one"),
            RecordError::Database(cause) if let Some(why) = damage(&cause) => Failure::run(
                format!("the run file is damaged: {why}"),
                "use a backup of the file; `sqlite3 FILE .recover` saves what can be read",
            ),
            RecordError::Database(cause) => Failure::run(
                format!("{what}: {cause}"),
                "check the free space and the permissions of its directory",
            ),
        }
    }
}
