//! What can be wrong with a run file.

use std::path::PathBuf;

/// What can be wrong with a run file.
#[derive(Debug, thiserror::Error)]
pub enum RunFileError {
    /// It is not there or may not be read.
    #[error("cannot open {}: {reason}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// It is there already.
    #[error("{} exists\nname another file with -o, or continue it with --resume {}", .0.display(), .0.display())]
    Exists(PathBuf),
    /// Another process is writing it.
    #[error("{} is in use by a run that is still going on\nwait for it to end, or stop it", .0.display())]
    Locked(PathBuf),
    /// It is something else.
    #[error("{} is not a run file\nrun files are written by `pitot run`", .0.display())]
    Foreign(PathBuf),
    /// A newer Pitot wrote it.
    #[error(
        "{} has layout {found}, this pitot reads up to {known}\nread it with the version that wrote it, or a newer one",
        path.display()
    )]
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
