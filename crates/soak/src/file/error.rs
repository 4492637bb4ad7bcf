use std::path::{Path, PathBuf};

use pitot_record::database::DatabaseError;

/// What is wrong with the file of a soak.
#[derive(Debug, thiserror::Error)]
pub enum SoakError {
    /// There is a file already.
    #[error("there is a file of that name")]
    Exists,
    /// Another process is writing it.
    #[error("{} is being written by a soak that is running", .0.display())]
    Locked(PathBuf),
    /// It cannot be opened.
    #[error("{0}")]
    Open(std::io::Error),
    /// It is no file of a soak.
    #[error("{} is not the file of a soak", .0.display())]
    Foreign(PathBuf),
    /// A later version has written it.
    #[error("{} was written by a later version of pitot (layout {found}; this one reads up to {known})", .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its layout.
        found: u32,
        /// The newest that is known.
        known: u32,
    },
    /// It is damaged, or made to do harm.
    #[error("{0}")]
    Unsafe(String),
    /// SQLite.
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
    /// What stands in it cannot be read.
    #[error("it cannot be read: {0}")]
    Content(#[from] serde_json::Error),
    /// A histogram cannot be read.
    #[error("it holds a histogram that cannot be read")]
    Histogram,
}

impl SoakError {
    /// What keeps the file of this path from being used.
    pub(super) fn of(path: &Path, error: DatabaseError) -> SoakError {
        let path: PathBuf = path.into();
        match error {
            DatabaseError::Open(e) => SoakError::Open(e),
            DatabaseError::Exists => SoakError::Exists,
            DatabaseError::Locked => SoakError::Locked(path),
            DatabaseError::Foreign => SoakError::Foreign(path),
            DatabaseError::Newer { found, known } => SoakError::Newer { path, found, known },
            DatabaseError::Unsafe(what) => SoakError::Unsafe(what),
            DatabaseError::Sqlite(e) => SoakError::Database(e),
        }
    }
}
