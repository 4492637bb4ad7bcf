//! The index: what was read of a file, until the file changes.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pitot_record::file::{Kind, is_running, kind};
use pitot_record::{Metric, Run, Soak};
use pitot_report::history::{Digest, RunFigures};
use pitot_results::Failure;
use rusqlite::{Connection, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::stamp::Stamp;

/// What is kept of a file for lists. Figures are kept by the name of their metric.
const DIGEST: &str = "digest";
/// Raised when what is kept is made in another way; the version of Pitot counts too.
const LAYOUT: &str = concat!(env!("CARGO_PKG_VERSION"), " 1");

/// What the index knows of files. It may be used by several threads, and by several processes at once.
#[derive(Debug)]
pub struct Index {
    database: Mutex<Option<Connection>>,
    /// By file and kind of knowledge.
    known: Mutex<HashMap<(PathBuf, String), Kept>>,
}

/// Something that was read of a file.
#[derive(Clone, Debug)]
struct Kept {
    state: Stamp,
    /// As JSON, or why the file cannot be read.
    read: Result<String, String>,
}

impl Index {
    /// The index in a file, which is made if it is not there. What cannot be kept there is kept in memory: an index saves time, and
    /// nothing depends on it.
    pub fn at(path: &Path) -> Index {
        let folder = path.parent().unwrap_or(Path::new("."));
        let database = fs::create_dir_all(folder).ok().and_then(|()| open(path).ok());
        Index { database: Mutex::new(database), known: Mutex::new(HashMap::new()) }
    }

    /// An index that ends with the process.
    pub fn in_memory() -> Index {
        Index { database: Mutex::new(None), known: Mutex::new(HashMap::new()) }
    }

    /// What a list shows of a file. It is read if it is new or has changed.
    ///
    /// # Errors
    /// If it is no record, or cannot be read.
    pub fn digest(&self, path: &Path) -> Result<Digest, Failure> {
        self.kept(path, DIGEST, || {
            Ok(match kind(path)? {
                Kind::Run => Digest::of_run(&open_run(path)?),
                Kind::Soak => {
                    let mut soak = Soak::look(path)?;
                    soak.info.machine.withhold_private_facts();
                    Digest::of_soak(&soak, path.to_owned())
                }
            })
        })
    }

    /// The same if it is known already, or why the file cannot be read.
    pub fn known(&self, path: &Path) -> Option<Result<Digest, String>> {
        let state = Stamp::of(path)?;
        let kept = self.find(&(path.to_owned(), DIGEST.to_owned()), state)?;
        Some(kept.read.and_then(|json| serde_json::from_str(&json).map_err(|e| e.to_string())))
    }

    /// The figures of a run in a metric, or else in that of its plan.
    ///
    /// # Errors
    /// If it is no run, or cannot be read.
    pub fn figures(&self, path: &Path, metric: Option<&'static Metric>) -> Result<RunFigures, Failure> {
        let name = metric.map_or("", |metric| metric.name);
        self.kept(path, &format!("figures {name}"), || Ok(RunFigures::of(&open_run(path)?, metric)))
    }

    fn kept<T: Serialize + DeserializeOwned>(
        &self,
        path: &Path,
        what: &str,
        read: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let state = Stamp::of(path);
        let key = (path.to_owned(), what.to_owned());
        let kept = state.and_then(|state| self.find(&key, state));
        if let Some(Ok(json)) = kept.map(|kept| kept.read)
            && let Ok(value) = serde_json::from_str(&json)
        {
            return Ok(value);
        }
        let result = read();
        if let Some(state) = state {
            let read = match &result {
                Ok(value) => serde_json::to_string(value).map_err(|e| e.to_string()),
                Err(failure) => Err(failure.what.clone()),
            };
            let kept = Kept { state, read };
            // A file that is being written changes in a moment.
            if !is_running(path) {
                self.keep(&key, &kept);
            }
            lock(&self.known).insert(key, kept);
        }
        result
    }

    /// What is known of a file in this state: in memory, or else in the database.
    fn find(&self, key: &(PathBuf, String), state: Stamp) -> Option<Kept> {
        if let Some(kept) = lock(&self.known).get(key) {
            return Some(kept.clone()).filter(|kept| kept.state == state);
        }
        let json = self.stored(key, state)?;
        let kept = Kept { state, read: Ok(json) };
        lock(&self.known).insert(key.clone(), kept.clone());
        Some(kept)
    }

    fn stored(&self, (path, what): &(PathBuf, String), state: Stamp) -> Option<String> {
        let database = lock(&self.database);
        let mut query = database
            .as_ref()?
            .prepare_cached(
                "SELECT json FROM kept
                 WHERE path = ?1 AND what = ?2 AND inode = ?3 AND size = ?4 AND modified_ns = ?5",
            )
            .ok()?;
        let key = params![
            absolute(path.to_str()?),
            what,
            state.inode as i64,
            state.bytes as i64,
            state.modified_ns()
        ];
        query.query_row(key, |row| row.get(0)).ok()
    }

    fn keep(&self, (path, what): &(PathBuf, String), kept: &Kept) {
        let (Some(database), Ok(json), Some(path)) = (&*lock(&self.database), &kept.read, path.to_str())
        else {
            return;
        };
        let state = kept.state;
        // Another process may be writing, or the disk be full: then it is read again next time.
        let _ = database.execute(
            "INSERT OR REPLACE INTO kept VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                absolute(path),
                what,
                LAYOUT,
                state.inode as i64,
                state.bytes as i64,
                state.modified_ns(),
                json
            ],
        );
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a run, without what is not passed on with a report.
///
/// # Errors
/// If it is no run, or cannot be read.
pub fn open_run(path: &Path) -> Result<Run, Failure> {
    let mut run = Run::open(path)?;
    run.withhold_private_facts();
    Ok(run)
}

fn absolute(path: &str) -> String {
    std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
}

fn open(path: &Path) -> Result<Connection, rusqlite::Error> {
    // Only the user can read it, as the files of runs.
    let _ = File::options().create(true).append(true).mode(0o600).open(path);
    let database = Connection::open(path)?;
    database.busy_timeout(std::time::Duration::from_millis(500))?;
    database.pragma_update(None, "journal_mode", "wal")?;
    // What a power cut takes is read again.
    database.pragma_update(None, "synchronous", "off")?;
    database.execute_batch(
        "CREATE TABLE IF NOT EXISTS kept (
             path TEXT NOT NULL, what TEXT NOT NULL, layout TEXT NOT NULL,
             inode INTEGER NOT NULL, size INTEGER NOT NULL, modified_ns INTEGER NOT NULL,
             json TEXT NOT NULL, PRIMARY KEY (path, what)
         ) STRICT, WITHOUT ROWID",
    )?;
    // What another version has kept is made again.
    database.execute("DELETE FROM kept WHERE layout <> ?1", [LAYOUT])?;
    Ok(database)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_is_known_with_its_reason_until_it_changes() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.pitot");
        let index = Index::at(&root.path().join("cache/runs.sqlite"));
        assert!(index.known(&path).is_none());
        fs::write(&path, "no record").unwrap();
        let failure = index.digest(&path).unwrap_err();
        assert_eq!(index.known(&path).unwrap().unwrap_err(), failure.what);
        fs::write(&path, "no record either").unwrap();
        assert!(index.known(&path).is_none());
    }

    #[test]
    fn what_is_kept_outlives_the_process_and_a_cache_that_cannot_be_written_is_no_failure() {
        let root = tempfile::tempdir().unwrap();
        let (cache, path) = (root.path().join("runs.sqlite"), root.path().join("a.pitot"));
        fs::write(&path, "1").unwrap();
        let digest = Digest { title: "t".into(), ..Digest::default() };
        let read = || Ok(digest.clone());
        Index::at(&cache).kept(&path, DIGEST, read).unwrap();
        assert_eq!(Index::at(&cache).known(&path).unwrap().unwrap().title, "t");
        let unread = || -> Result<Digest, Failure> { panic!("it is known") };
        assert_eq!(Index::at(&cache).kept(&path, DIGEST, unread).unwrap().title, "t");
        let nowhere = Index::at(Path::new("/proc/none/runs.sqlite"));
        assert_eq!(nowhere.kept(&path, DIGEST, read).unwrap().title, "t");
        assert_eq!(nowhere.known(&path).unwrap().unwrap().title, "t");
    }
}
