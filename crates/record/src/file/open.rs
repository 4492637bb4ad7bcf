//! Opens a record for reading.

use std::fs::{File, TryLockError};
use std::path::Path;

use pitot_host::Fingerprint;
use rusqlite::Connection;
use serde::de::DeserializeOwned;

use super::error::RecordError;
use super::layout::{FORMAT, Kind};
use crate::database;

/// What a file records.
///
/// # Errors
/// If it does not exist, is not a record, or cannot be read.
pub fn kind(path: &Path) -> Result<Kind, RecordError> {
    let of = |error| RecordError::of(path, error);
    let connection = database::open_to_read(path).map_err(of)?;
    FORMAT.check(&connection).map_err(of)?;
    kind_of(&connection)
}

/// Whether a process is writing the file.
pub fn is_running(path: &Path) -> bool {
    // A shared lock blocks a writer only for a moment. Opening the file would drop this process's own lock.
    let is_locked = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    database::is_written_here(path) || File::open(path).is_ok_and(is_locked)
}

/// Reads a file of a kind with `read` in one transaction, which sees a consistent state. `read` gets the layout.
pub(super) fn read<T>(
    path: &Path,
    kind: Kind,
    read: impl FnOnce(&Connection, u32) -> Result<T, RecordError>,
) -> Result<T, RecordError> {
    let of = |error| RecordError::of(path, error);
    let mut connection = database::open_to_read(path).map_err(of)?;
    let transaction = connection.transaction()?;
    let layout = FORMAT.check(&transaction).map_err(of)?;
    database::check_pages(&transaction).map_err(of)?;
    check_kind(&transaction, path, kind)?;
    read(&transaction, layout)
}

pub(super) fn check_kind(connection: &Connection, path: &Path, wanted: Kind) -> Result<(), RecordError> {
    match kind_of(connection)? {
        found if found == wanted => Ok(()),
        found => Err(RecordError::Other { path: path.into(), found }),
    }
}

fn kind_of(connection: &Connection) -> Result<Kind, RecordError> {
    let word: String = connection.query_row("SELECT kind FROM run", [], |row| row.get(0))?;
    [Kind::Run, Kind::Soak]
        .into_iter()
        .find(|kind| kind.word() == word)
        .ok_or_else(|| RecordError::Damaged(format!("`{word}` is not a kind of record")))
}

pub(super) fn read_facts(connection: &Connection, moment: &str) -> Result<Fingerprint, RecordError> {
    let mut query =
        connection.prepare("SELECT topic, name, value FROM fact WHERE moment = ?1 ORDER BY position")?;
    let mut rows = query.query([moment])?;
    let mut print = Fingerprint::default();
    while let Some(row) = rows.next()? {
        print.push(&row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?);
    }
    Ok(print)
}

pub(super) fn from_json<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, RecordError> {
    serde_json::from_str(text).map_err(|e| RecordError::of_json(what, &e))
}
