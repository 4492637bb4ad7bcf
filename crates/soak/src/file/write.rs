use std::path::{Path, PathBuf};

use pitot_record::database::{Draft, WriteLock};
use pitot_record::secrets_file;
use pitot_results::secrets::Secrets;
use rusqlite::{Connection, OptionalExtension, params};

use super::age::{Aged, put_together};
use super::error::SoakError;
use super::layout::FORMAT;
use crate::record::{
    Endings, Event, EventKind, Fault, Info, Interval, Load, Loss, Sample, State, Subject, Totals,
};

/// The tables that older layouts do not have.
const LATER_TABLES: [&str; 5] = [
    include_str!("fault.sql"),
    include_str!("loss.sql"),
    include_str!("endings.sql"),
    include_str!("loss_interval.sql"),
    include_str!("fault_loss.sql"),
];

/// The one writer of a soak's file. It holds a lock on the file (flock(2)) that dies with the process, and masks secrets in all
/// that it writes.
#[derive(Debug)]
pub struct SoakFile {
    // The order matters: the database is closed before the lock.
    connection: Connection,
    aged: Aged,
    _lock: WriteLock,
    path: PathBuf,
    secrets: Secrets,
}

/// What is written at the end of an interval, at once or not at all.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// The end of the interval, seconds since the soak began.
    pub now_s: f64,
    /// What the loads did.
    pub intervals: Vec<Interval>,
    /// The counts of loads so far, by number.
    pub totals: Vec<(i64, Totals)>,
    /// How often servers have ended so far, by number.
    pub endings: Vec<(i64, Endings)>,
    /// What was sampled.
    pub samples: Vec<Sample>,
    /// What has happened.
    pub events: Vec<Event>,
    /// Faults that have begun, were taken back, or are known better than before.
    pub faults: Vec<Fault>,
    /// What servers were found to have lost.
    pub losses: Vec<Loss>,
}

impl SoakFile {
    /// Makes a new file. Secrets of the command line, if it has any, go into a file beside it.
    ///
    /// # Errors
    /// If there is one of that name, or it cannot be written.
    pub fn create(path: &Path, info: &Info) -> Result<SoakFile, SoakError> {
        let of = |error| SoakError::of(path, error);
        let draft = Draft::new(path).map_err(of)?;
        let connection = draft.connect().map_err(of)?;
        let mut secrets = Secrets::default();
        let whole = serde_json::to_value(info)?;
        secrets.learn_json(&whole);
        let masked = secrets.hide_json(&whole, |info| serde_json::from_value::<Info>(info.clone()).is_ok());
        secrets_file::keep(path, &info.id(), &whole, &masked).map_err(SoakError::Open)?;
        let tables = LATER_TABLES.concat();
        connection.execute_batch(&format!("BEGIN; {} {tables} COMMIT;", include_str!("schema.sql")))?;
        connection.pragma_update(None, "application_id", FORMAT.application_id)?;
        connection.pragma_update(None, "user_version", FORMAT.layout)?;
        connection.execute("INSERT INTO soak VALUES (?1, 'running')", params![masked.to_string()])?;
        let (lock, connection) = draft.publish(connection).map_err(of)?;
        let mut file = SoakFile::of(connection, lock, path);
        file.secrets = secrets;
        Ok(file)
    }

    fn of(connection: Connection, lock: WriteLock, path: &Path) -> SoakFile {
        let (aged, secrets) = (Aged::default(), Secrets::default());
        SoakFile { connection, aged, _lock: lock, path: path.into(), secrets }
    }

    /// What stands in the file. To open it beside its writer would drop the writer's locks.
    #[cfg(test)]
    pub(super) fn read(&self) -> crate::record::Soak {
        super::read::read(&self.connection.unchecked_transaction().unwrap()).unwrap()
    }

    /// What is written need not survive a power cut.
    #[cfg(test)]
    pub(super) fn unsynchronised(self) -> SoakFile {
        self.connection.pragma_update(None, "synchronous", "OFF").unwrap();
        self
    }

    /// Opens the file of a soak that goes on. `info` is what it was asked for, with its secrets.
    ///
    /// # Errors
    /// If it is no such file, cannot be written, or another process is writing it.
    pub fn resume(path: &Path, info: &Info) -> Result<SoakFile, SoakError> {
        let of = |error| SoakError::of(path, error);
        let lock = WriteLock::resume(path).map_err(of)?;
        let (connection, _) = lock.connect_checked(&FORMAT).map_err(of)?;
        connection.execute_batch(&LATER_TABLES.concat())?;
        connection.pragma_update(None, "user_version", FORMAT.layout)?;
        let mut file = SoakFile::of(connection, lock, path);
        file.secrets.learn_json(&serde_json::to_value(info)?);
        file.set_state(State::Running)?;
        Ok(file)
    }

    /// Faults that went on when the lab was killed were taken back then.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn end_faults(&self, at_s: f64) -> Result<(), SoakError> {
        let end =
            "UPDATE fault SET until_s = max(at_s, ?1), what = 'it was taken back when the lab was killed'
                   WHERE until_s IS NULL";
        self.connection.execute(end, params![at_s])?;
        Ok(())
    }

    /// What went on when the lab was killed, as a hang does, ended then with the servers and loads.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn end_events(&self, at_s: f64) -> Result<(), SoakError> {
        let end = "UPDATE event SET until_s = max(at_s, ?1) WHERE until_s IS NULL AND kind = ?2";
        for kind in EventKind::WITH_END {
            self.connection.execute(end, params![at_s, kind.word()])?;
        }
        Ok(())
    }

    /// Says whether it is over.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set_state(&self, state: State) -> Result<(), SoakError> {
        let word = serde_json::to_value(state)?;
        self.connection.execute("UPDATE soak SET state = ?1", params![word.as_str()])?;
        Ok(())
    }

    /// Notes a server, or what starts it now. Returns how often it has ended so far.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn put_subject(&mut self, subject: &Subject) -> Result<Endings, SoakError> {
        self.secrets.learn(&subject.command);
        let (name, command) = (self.secrets.hide(&subject.name), self.secrets.hide(&subject.command));
        self.connection.execute(
            "INSERT INTO subject VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE SET command = excluded.command",
            params![subject.id, name, command],
        )?;
        self.connection.execute("INSERT OR IGNORE INTO endings VALUES (?1, 0, 0)", params![subject.id])?;
        let query = "SELECT deaths, restarts FROM endings WHERE subject = ?1";
        let endings = |row: &rusqlite::Row<'_>| Ok(Endings { deaths: row.get(0)?, restarts: row.get(1)? });
        Ok(self.connection.query_row(query, params![subject.id], endings)?)
    }

    /// Notes a load, or its present command. Returns its counts so far.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn put_load(&mut self, load: &Load) -> Result<Totals, SoakError> {
        self.secrets.learn(&load.command);
        let (name, command) = (self.secrets.hide(&load.name), self.secrets.hide(&load.command));
        self.connection.execute(
            "INSERT INTO load VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO UPDATE SET command = excluded.command",
            params![load.id, load.subject, name, command, serde_json::to_string(&Totals::default())?],
        )?;
        let totals: String =
            self.connection
                .query_row("SELECT totals FROM load WHERE id = ?1", params![load.id], |r| r.get(0))?;
        Ok(serde_json::from_str(&totals)?)
    }

    /// Writes what has come about since the last time.
    ///
    /// # Errors
    /// If the file cannot be written: then nothing of it is.
    pub fn write(&mut self, moment: &Moment) -> Result<(), SoakError> {
        let transaction = self.connection.transaction()?;
        for interval in &moment.intervals {
            transaction
                .prepare_cached("INSERT INTO interval VALUES (?1, 0, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
                .execute(params![
                    interval.load,
                    interval.start_s,
                    interval.length_s,
                    interval.completed,
                    interval.errors,
                    interval.missed,
                    interval.received,
                    interval.open,
                    interval.response
                ])?;
        }
        for (load, totals) in &moment.totals {
            transaction
                .prepare_cached("UPDATE load SET totals = ?2 WHERE id = ?1")?
                .execute(params![load, serde_json::to_string(totals)?])?;
        }
        for (subject, endings) in &moment.endings {
            transaction
                .prepare_cached("UPDATE endings SET deaths = ?2, restarts = ?3 WHERE subject = ?1")?
                .execute(params![subject, endings.deaths, endings.restarts])?;
        }
        for sample in &moment.samples {
            let known: Option<i64> = transaction
                .prepare_cached("SELECT id FROM figure WHERE name = ?1")?
                .query_row(params![sample.figure], |row| row.get(0))
                .optional()?;
            let figure = match known {
                Some(id) => id,
                None => {
                    transaction.execute("INSERT INTO figure (name) VALUES (?1)", params![sample.figure])?;
                    transaction.last_insert_rowid()
                }
            };
            transaction
                .prepare_cached("INSERT INTO sample VALUES (?1, ?2, 0, ?3, ?4, ?5, ?6, ?7)")?
                .execute(params![
                    sample.subject,
                    figure,
                    sample.start_s,
                    sample.length_s,
                    sample.mean,
                    sample.min,
                    sample.max
                ])?;
        }
        for event in &moment.events {
            write_event(&transaction, event, &self.secrets)?;
        }
        for fault in &moment.faults {
            write_fault(&transaction, fault, &self.secrets)?;
        }
        for loss in &moment.losses {
            write_loss(&transaction, loss)?;
        }
        let mut aged = self.aged;
        put_together(&transaction, moment.now_s, &mut aged)?;
        transaction.commit()?;
        self.aged = aged;
        Ok(())
    }

    /// Ends the file: it is one plain file again.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(self, state: State) -> Result<(), SoakError> {
        self.set_state(state)?;
        // A reader in another process may hold the log; the file is complete all the same, together with the log.
        let _ = self.connection.execute_batch("PRAGMA journal_mode = DELETE;");
        if state == State::Complete {
            secrets_file::forget(&self.path);
        }
        Ok(())
    }
}

/// Adds to what was lost of a second.
fn write_loss(connection: &Connection, loss: &Loss) -> Result<(), SoakError> {
    connection
        .prepare_cached(
            "INSERT INTO loss VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (load, at_s) DO UPDATE SET lost = lost + excluded.lost, torn = torn + excluded.torn",
        )?
        .execute(params![loss.load, loss.at_s, loss.lost, loss.torn])?;
    Ok(())
}

/// Writes a fault as it is known now.
fn write_fault(connection: &Connection, fault: &Fault, secrets: &Secrets) -> Result<(), SoakError> {
    let effect = fault.effect.as_ref().map(serde_json::to_string).transpose()?;
    connection
        .prepare_cached("INSERT OR REPLACE INTO fault VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?
        .execute(params![
            fault.subject,
            fault.number,
            fault.due_s,
            fault.at_s,
            fault.until_s,
            fault.kind,
            secrets.hide_known(&fault.what),
            secrets.hide(&fault.command),
            fault.was_made,
            fault.server_died,
            effect
        ])?;
    Ok(())
}

/// Writes an event, or the end of one that was written while it went on.
fn write_event(connection: &Connection, event: &Event, secrets: &Secrets) -> Result<(), SoakError> {
    let (sentence, evidence) = (secrets.hide(&event.sentence), secrets.hide_known(&event.evidence));
    let kind = event.kind.word();
    let ended = match event.until_s {
        None => 0,
        Some(until_s) => connection
            .prepare_cached(
                "UPDATE event SET until_s = ?1, sentence = ?5
                 WHERE at_s = ?2 AND kind = ?3 AND subject IS ?4 AND until_s IS NULL",
            )?
            .execute(params![until_s, event.at_s, kind, event.subject, sentence])?,
    };
    if ended == 0 {
        connection
            .prepare_cached(
                "INSERT INTO event (at_s, until_s, subject, kind, sentence, evidence) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                event.at_s,
                event.until_s,
                event.subject,
                kind,
                sentence,
                evidence
            ])?;
    }
    Ok(())
}
