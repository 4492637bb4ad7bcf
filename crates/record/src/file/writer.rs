//! What the writers of runs and soaks share.

use std::path::{Path, PathBuf};

use pitot_host::Fingerprint;
use pitot_results::secrets::Secrets;
use rusqlite::{Connection, Transaction, params};
use serde_json::Value;

use super::error::RecordError;
use super::layout::{FORMAT, Kind, create};
use super::open::check_kind;
use crate::database::{DatabaseError, Draft, WriteLock};
use crate::run::RunState;
use crate::secrets_file;

/// The writer of a record. It holds a lock on the file (flock(2)) that ends with the process, and masks secrets in all
/// that it writes.
#[derive(Debug)]
pub(super) struct Writer {
    // Dropped in this order: the database is closed before the lock.
    pub(super) connection: Connection,
    _lock: WriteLock,
    pub(super) path: PathBuf,
    pub(super) secrets: Secrets,
}

/// The head of a record, before any measurement.
pub(super) struct Opening<'a> {
    pub(super) kind: Kind,
    pub(super) command_line: &'a str,
    pub(super) version: &'a str,
    pub(super) started_at: &'a str,
    /// The plan or settings, with and without secrets.
    pub(super) asked: &'a Value,
    pub(super) masked: &'a Value,
    pub(super) plan_source: &'a str,
    pub(super) seed: u64,
    pub(super) server_cpus: &'a str,
    pub(super) load_cpus: &'a str,
    pub(super) warnings: &'a [String],
    pub(super) server_versions: &'a [(String, String)],
    pub(super) host: &'a Fingerprint,
}

impl Writer {
    /// Checks that [`create`](Self::create) can create the file, without leaving one.
    pub(super) fn check(path: &Path) -> Result<(), RecordError> {
        Draft::new(path).map(drop).map_err(|error| RecordError::of(path, error))
    }

    /// Creates the file with all that is known before the measurement; `rest` adds the tables of its kind. Secrets are
    /// written to a separate file.
    pub(super) fn create(
        path: &Path,
        opening: &Opening<'_>,
        secrets: Secrets,
        rest: impl FnOnce(&Transaction<'_>, &Secrets) -> Result<(), rusqlite::Error>,
    ) -> Result<Writer, RecordError> {
        let of = |error| RecordError::of(path, error);
        let draft = Draft::new(path).map_err(of)?;
        let mut connection = draft.connect().map_err(of)?;
        let transaction = connection.transaction()?;
        create(&transaction)?;
        let id = begin(&transaction, opening, &secrets)?;
        rest(&transaction, &secrets)?;
        secrets_file::keep(path, &id, opening.asked, opening.masked)
            .map_err(|e| of(DatabaseError::Open(e)))?;
        transaction.commit()?;
        let (lock, connection) = draft.publish(connection).map_err(of)?;
        Writer::of(connection, lock, path, secrets)
    }

    /// Opens the file of a stopped or killed run or soak, to continue it.
    pub(super) fn resume(path: &Path, kind: Kind, secrets: Secrets) -> Result<Writer, RecordError> {
        let of = |error| RecordError::of(path, error);
        let lock = WriteLock::resume(path).map_err(of)?;
        let (connection, _) = lock.connect_checked(&FORMAT).map_err(of)?;
        check_kind(&connection, path, kind)?;
        let writer = Writer::of(connection, lock, path, secrets)?;
        writer.connection.execute("UPDATE run SET state = 'running', ended_at = NULL", [])?;
        Ok(writer)
    }

    fn of(
        connection: Connection,
        lock: WriteLock,
        path: &Path,
        secrets: Secrets,
    ) -> Result<Writer, RecordError> {
        connection.pragma_update(None, "foreign_keys", true)?;
        Ok(Writer { connection, _lock: lock, path: path.into(), secrets })
    }

    /// Ends the record and leaves one plain file.
    pub(super) fn finish(
        mut self,
        state: RunState,
        ended_at: &str,
        host: Option<&Fingerprint>,
    ) -> Result<(), RecordError> {
        let transaction = self.connection.transaction()?;
        if let Some(host) = host {
            transaction.execute("DELETE FROM fact WHERE moment = 'after'", [])?;
            insert_facts(&transaction, "after", host)?;
        }
        transaction.execute("UPDATE run SET state = ?1, ended_at = ?2", params![state.word(), ended_at])?;
        transaction.commit()?;
        // A reader in another process may hold the log; then the file is complete together with the log.
        let _ = self.connection.pragma_update(None, "journal_mode", "delete");
        if state == RunState::Complete {
            secrets_file::forget(&self.path);
        }
        Ok(())
    }
}

/// Returns the record's identity.
fn begin(
    connection: &Connection,
    opening: &Opening<'_>,
    secrets: &Secrets,
) -> Result<String, rusqlite::Error> {
    let warnings: Vec<_> = opening.warnings.iter().map(|sentence| secrets.hide(sentence)).collect();
    connection.execute(
        "INSERT INTO run (kind, id, command_line, version, started_at, state, plan, plan_source, seed, server_cpus,
             load_cpus, warnings, server_versions)
         VALUES (?1, lower(hex(randomblob(16))), ?2, ?3, ?4, 'running', ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            opening.kind.word(),
            secrets.hide(opening.command_line),
            opening.version,
            opening.started_at,
            opening.masked.to_string(),
            secrets.hide(opening.plan_source),
            opening.seed as i64,
            opening.server_cpus,
            opening.load_cpus,
            json(&warnings),
            json(&opening.server_versions),
        ],
    )?;
    insert_facts(connection, "before", opening.host)?;
    connection.query_row("SELECT id FROM run", [], |row| row.get(0))
}

fn insert_facts(connection: &Connection, moment: &str, host: &Fingerprint) -> Result<(), rusqlite::Error> {
    let mut insert = connection.prepare("INSERT INTO fact VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (position, fact) in host.facts.iter().enumerate() {
        insert.execute(params![moment, position as i64, fact.group, fact.name, fact.value])?;
    }
    Ok(())
}

pub(super) fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("plain data has a JSON form")
}
