use std::path::Path;
use std::time::{Duration, SystemTime};

use pitot_results::rfc3339;
use pitot_results::secrets::Secrets;
use rusqlite::{Connection, OptionalExtension, params};

use super::age::{Aged, put_together};
use super::error::RecordError;
use super::layout::Kind;
use super::open::from_json;
use super::profiles::{self, Whose};
use super::writer::{Opening, Writer, json};
use crate::soak::{
    Endings, Event, EventKind, Fault, Info, Interval, Load, Loss, Reading, SECOND_S, State, Subject,
    SubjectProfile, Totals,
};

/// The writer of a soak's file. It holds a lock on the file (flock(2)) that ends with the process, and masks secrets in
/// all that it writes.
#[derive(Debug)]
pub struct SoakWriter {
    writer: Writer,
    aged: Aged,
}

/// What is written at the end of an interval, in one transaction.
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
    pub readings: Vec<Reading>,
    /// Events.
    pub events: Vec<Event>,
    /// Faults that have begun or ended, or whose effect is known.
    pub faults: Vec<Fault>,
    /// Losses of servers.
    pub losses: Vec<Loss>,
    /// What servers did.
    pub profiles: Vec<SubjectProfile>,
}

impl Moment {
    /// What there is of other servers and loads than these.
    pub fn without(&self, subject: i64, load: i64) -> Moment {
        let mut moment = self.clone();
        moment.intervals.retain(|interval| interval.load != load);
        moment.totals.retain(|(id, _)| *id != load);
        moment.endings.retain(|(id, _)| *id != subject);
        moment.readings.retain(|reading| reading.subject != subject);
        moment.events.retain(|event| event.subject != Some(subject));
        moment
    }
}

impl SoakWriter {
    /// Creates a file. Secrets of the command line are written to a separate file.
    ///
    /// # Errors
    /// If it exists, or cannot be written.
    pub fn create(path: &Path, info: &Info) -> Result<SoakWriter, RecordError> {
        let asked = info.to_json();
        let secrets = info.secrets();
        let masked = secrets.hide_json(&asked, |info| serde_json::from_value::<Info>(info.clone()).is_ok());
        let started = Duration::try_from_secs_f64(info.started_unix_s).unwrap_or_default();
        let opening = Opening {
            kind: Kind::Soak,
            command_line: &info.command_line(),
            version: &info.version,
            started_at: &rfc3339(SystemTime::UNIX_EPOCH + started),
            asked: &asked,
            masked: &masked,
            plan_source: "",
            seed: 0,
            server_cpus: "",
            load_cpus: "",
            warnings: &[],
            server_versions: &[],
            host: &info.machine,
        };
        let writer = Writer::create(path, &opening, secrets, |_, _| Ok(()))?;
        Ok(SoakWriter { writer, aged: Aged::default() })
    }

    /// The soak in the file, through the writer's connection: opening the file again would drop the writer's locks.
    #[cfg(test)]
    pub(super) fn read(&self) -> crate::soak::Soak {
        super::soak_read::read(&self.writer.connection.unchecked_transaction().unwrap()).unwrap()
    }

    /// What is written need not survive a power cut.
    #[cfg(test)]
    pub(super) fn unsynchronised(self) -> SoakWriter {
        self.writer.connection.pragma_update(None, "synchronous", "OFF").unwrap();
        self
    }

    /// Opens the file of a soak that goes on. `info` is what it was asked for, with its secrets.
    ///
    /// # Errors
    /// If it is no such file, cannot be written, or another process is writing it.
    pub fn resume(path: &Path, info: &Info) -> Result<SoakWriter, RecordError> {
        Ok(SoakWriter { writer: Writer::resume(path, Kind::Soak, info.secrets())?, aged: Aged::default() })
    }

    /// The soak's identity.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn id(&self) -> Result<String, RecordError> {
        Ok(self.writer.connection.query_row("SELECT id FROM run", [], |row| row.get(0))?)
    }

    /// Faults that went on when the lab was killed were taken back then.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn end_faults(&self, at_s: f64) -> Result<(), RecordError> {
        let end =
            "UPDATE subject_fault SET until_s = max(at_s, ?1), what = 'it was taken back when the lab was killed'
                   WHERE until_s IS NULL";
        self.writer.connection.execute(end, params![at_s])?;
        Ok(())
    }

    /// What went on when the lab was killed, as a hang does, ended then with the servers and loads.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn end_events(&self, at_s: f64) -> Result<(), RecordError> {
        let end = "UPDATE event SET until_s = max(at_s, ?1) WHERE until_s IS NULL AND kind = ?2";
        for kind in EventKind::WITH_END {
            self.writer.connection.execute(end, params![at_s, kind.word()])?;
        }
        Ok(())
    }

    /// Notes a server, or what starts it now. Returns how often it has ended so far.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn put_subject(&mut self, subject: &Subject) -> Result<Endings, RecordError> {
        self.writer.secrets.learn(&subject.command);
        let (name, command) =
            (self.writer.secrets.hide(&subject.name), self.writer.secrets.hide(&subject.command));
        self.writer.connection.execute(
            "INSERT INTO subject VALUES (?1, ?2, ?3, 0, 0) ON CONFLICT (id) DO UPDATE SET command = excluded.command",
            params![subject.id, name, command],
        )?;
        let query = "SELECT deaths, restarts FROM subject WHERE id = ?1";
        let endings = |row: &rusqlite::Row<'_>| Ok(Endings { deaths: row.get(0)?, restarts: row.get(1)? });
        Ok(self.writer.connection.query_row(query, params![subject.id], endings)?)
    }

    /// Notes a load, or its present command. Returns its counts so far.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn put_load(&mut self, load: &Load) -> Result<Totals, RecordError> {
        self.writer.secrets.learn(&load.command);
        let (name, command) = (self.writer.secrets.hide(&load.name), self.writer.secrets.hide(&load.command));
        self.writer.connection.execute(
            "INSERT INTO load VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO UPDATE SET command = excluded.command",
            params![load.id, load.subject, name, command, json(&Totals::default())],
        )?;
        let totals: String = self.writer.connection.query_row(
            "SELECT totals FROM load WHERE id = ?1",
            params![load.id],
            |r| r.get(0),
        )?;
        from_json("the counts of a load", &totals)
    }

    /// Writes what has come about since the last time.
    ///
    /// # Errors
    /// If the file cannot be written: then nothing of it is.
    pub fn write(&mut self, moment: &Moment) -> Result<(), RecordError> {
        let transaction = self.writer.connection.transaction()?;
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
                .execute(params![load, json(totals)])?;
        }
        for (subject, endings) in &moment.endings {
            transaction
                .prepare_cached("UPDATE subject SET deaths = ?2, restarts = ?3 WHERE id = ?1")?
                .execute(params![subject, endings.deaths, endings.restarts])?;
        }
        for reading in &moment.readings {
            let known: Option<i64> = transaction
                .prepare_cached("SELECT id FROM metric WHERE name = ?1")?
                .query_row(params![reading.metric], |row| row.get(0))
                .optional()?;
            let metric = match known {
                Some(id) => id,
                None => {
                    transaction.execute("INSERT INTO metric (name) VALUES (?1)", params![reading.metric])?;
                    transaction.last_insert_rowid()
                }
            };
            transaction
                .prepare_cached("INSERT INTO reading VALUES (?1, ?2, 0, ?3, ?4, ?5, ?6, ?7)")?
                .execute(params![
                    reading.subject,
                    metric,
                    reading.start_s,
                    reading.length_s,
                    reading.mean,
                    reading.min,
                    reading.max
                ])?;
        }
        for event in &moment.events {
            write_event(&transaction, event, &self.writer.secrets)?;
        }
        for fault in &moment.faults {
            write_fault(&transaction, fault, &self.writer.secrets)?;
        }
        for loss in &moment.losses {
            write_loss(&transaction, loss)?;
        }
        for SubjectProfile { subject, at_s, profile } in &moment.profiles {
            profiles::insert(&transaction, Whose::Subject { id: *subject, at_s: *at_s }, profile)?;
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
    pub fn finish(self, state: State) -> Result<(), RecordError> {
        self.writer.finish(state.into(), &rfc3339(SystemTime::now()), None)
    }
}

/// Adds to what was lost of a second.
fn write_loss(connection: &Connection, loss: &Loss) -> Result<(), RecordError> {
    connection
        .prepare_cached(
            "INSERT INTO loss VALUES (0, ?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (level, load, start_s) DO UPDATE SET lost = lost + excluded.lost, torn = torn + excluded.torn",
        )?
        .execute(params![loss.load, loss.at_s, SECOND_S, loss.lost, loss.torn])?;
    Ok(())
}

/// Writes a fault as it is known now.
fn write_fault(connection: &Connection, fault: &Fault, secrets: &Secrets) -> Result<(), RecordError> {
    let effect = fault.effect.as_ref().map(json);
    connection
        .prepare_cached(
            "INSERT INTO subject_fault VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0)
             ON CONFLICT (subject, number, due_s) DO UPDATE SET at_s = excluded.at_s, until_s = excluded.until_s,
                 kind = excluded.kind, what = excluded.what, command = excluded.command, was_made = excluded.was_made,
                 server_died = excluded.server_died, effect = excluded.effect",
        )?
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
fn write_event(connection: &Connection, event: &Event, secrets: &Secrets) -> Result<(), RecordError> {
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
