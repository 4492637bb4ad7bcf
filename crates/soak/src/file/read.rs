use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::path::Path;

use pitot_record::database::{self, DatabaseError};
use pitot_record::secrets_file;
use pitot_results::{COUNT_MAX, Failure, check_numbers};
use rusqlite::Connection;

use super::error::SoakError;
use super::layout::FORMAT;
use crate::record::{
    Endings, Event, EventKind, Fault, Interval, Load, Loss, SECOND_S, Sample, Soak, State, Subject,
};

/// Whether there is the file of a soak at that path.
pub fn is_soak(path: &Path) -> bool {
    let checked = database::open_to_read(path).and_then(|connection| FORMAT.check(&connection));
    matches!(checked, Ok(_) | Err(DatabaseError::Newer { .. } | DatabaseError::Unsafe(_)))
}

/// Whether a lab holds the file now.
pub fn is_running(path: &Path) -> bool {
    // A lock that is shared keeps out a writer for a moment only. This process's own would be lost by opening it.
    let is_locked = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    database::is_written_here(path) || File::open(path).is_ok_and(is_locked)
}

impl Soak {
    /// Reads a soak of another process, and says whether it is running or was killed.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn look(path: &Path) -> Result<Soak, SoakError> {
        let runs = is_running(path);
        let mut soak = Soak::open(path)?;
        if soak.state == State::Running && !runs {
            soak.state = State::Killed;
        }
        Ok(soak)
    }

    /// Reads a soak that is to be resumed, with the secrets of its command line.
    ///
    /// # Errors
    /// As [`open`](Self::open), or if its secrets are not beside it.
    pub fn open_to_resume(path: &Path) -> Result<Soak, Failure> {
        let unread = |e: SoakError| {
            Failure::misuse(
                format!("{}: {e}", path.display()),
                "name the file of a soak that was stopped or killed",
            )
        };
        let mut soak = Soak::open(path).map_err(unread)?;
        let mut info = serde_json::to_value(&soak.info).map_err(|e| unread(e.into()))?;
        secrets_file::restore(path, &soak.info.id(), &mut info)?;
        soak.info = serde_json::from_value(info).map_err(|e| unread(e.into()))?;
        Ok(soak)
    }

    /// Reads a soak, also while another process runs it. Its file may come from anywhere. Secrets are masked in it.
    ///
    /// # Errors
    /// If it is no file of a soak, or cannot be read.
    pub fn open(path: &Path) -> Result<Soak, SoakError> {
        let of = |error| SoakError::of(path, error);
        let connection = database::open_to_read(path).map_err(of)?;
        // One moment of a file that is being written.
        let transaction = connection.unchecked_transaction()?;
        FORMAT.check(&transaction).map_err(of)?;
        database::check_pages(&transaction).map_err(of)?;
        let soak = read(&transaction)?;
        check(&soak).map_err(SoakError::Unsafe)?;
        Ok(soak)
    }
}

/// A century: no soak is longer, and no moment of one is later.
const LENGTH_S_MAX: f64 = 3.2e9;

/// What everything that reads a soak relies on: times are on its axis, figures are finite, and counts can be added up. The error is
/// a sentence.
fn check(soak: &Soak) -> Result<(), String> {
    // Some moments are shortly before its begin.
    let moment = |what: &str, s: f64| match (-LENGTH_S_MAX..=LENGTH_S_MAX).contains(&s) {
        true => Ok(()),
        false => Err(format!("{what} is {s} s")),
    };
    let length = |what: &str, s: f64| match (0.0..=LENGTH_S_MAX).contains(&s) {
        true => Ok(()),
        false => Err(format!("{what} is {s} s")),
    };
    let count = |what: &str, n: u64| match n <= COUNT_MAX {
        true => Ok(()),
        false => Err(format!("{what} are {n}")),
    };
    for interval in &soak.intervals {
        moment("the begin of an interval", interval.start_s)?;
        length("the length of an interval", interval.length_s)?;
        for n in [interval.completed, interval.errors, interval.missed, interval.received, interval.open] {
            count("the counts of an interval", n)?;
        }
    }
    for load in &soak.loads {
        let totals = serde_json::to_value(&load.totals).unwrap_or_default();
        check_numbers(&totals).map_err(|e| format!("the counts of a load: {e}"))?;
    }
    for subject in &soak.subjects {
        count("the ends of a server", subject.endings.deaths.max(subject.endings.restarts))?;
    }
    for sample in &soak.samples {
        moment("the begin of a sample", sample.start_s)?;
        length("the length of a sample", sample.length_s)?;
        let is_figure = |value: f64| value.abs() <= COUNT_MAX as f64;
        if !(is_figure(sample.mean) && is_figure(sample.min) && is_figure(sample.max)) {
            return Err(format!("a sample of `{}` is no figure", sample.figure.escape_debug()));
        }
    }
    for event in &soak.events {
        moment("the time of an event", event.at_s)?;
        moment("the end of an event", event.until_s.unwrap_or(0.0))?;
    }
    for fault in &soak.faults {
        moment("the time of a fault", fault.at_s.max(fault.due_s))?;
        moment("the end of a fault", fault.until_s.unwrap_or(0.0))?;
        count("the requests that a fault has lost", fault.lost)?;
        let effect = serde_json::to_value(&fault.effect).unwrap_or_default();
        check_numbers(&effect).map_err(|e| format!("the effect of a fault: {e}"))?;
    }
    for loss in &soak.losses {
        moment("the time of a loss", loss.at_s)?;
        length("the length of a loss", loss.length_s)?;
        count("the requests that were lost", loss.lost.max(loss.torn))?;
    }
    Ok(())
}

/// Reads a soak within a transaction.
pub(super) fn read(transaction: &Connection) -> Result<Soak, SoakError> {
    let (info, state): (String, String) =
        transaction.query_row("SELECT info, state FROM soak", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let endings = if table_exists(transaction, "endings")? { endings(transaction)? } else { HashMap::new() };
    let subjects = list(transaction, "SELECT id, name, command FROM subject ORDER BY id", |row| {
        let id = row.get(0)?;
        let endings = endings.get(&id).copied().unwrap_or_default();
        Ok(Subject { id, name: row.get(1)?, command: row.get(2)?, endings })
    })?;
    let mut loads = Vec::new();
    for (load, totals) in
        list(transaction, "SELECT id, subject, name, command, totals FROM load ORDER BY id", |row| {
            let load = Load {
                id: row.get(0)?,
                subject: row.get(1)?,
                name: row.get(2)?,
                command: row.get(3)?,
                ..Load::default()
            };
            Ok((load, row.get::<_, String>(4)?))
        })?
    {
        loads.push(Load { totals: serde_json::from_str(&totals)?, ..load });
    }
    let intervals = list(
        transaction,
        "SELECT load, start_s, length_s, completed, errors, missed, received, open, response
         FROM interval ORDER BY load, start_s",
        |row| {
            Ok(Interval {
                load: row.get(0)?,
                start_s: row.get(1)?,
                length_s: row.get(2)?,
                completed: row.get(3)?,
                errors: row.get(4)?,
                missed: row.get(5)?,
                received: row.get(6)?,
                open: row.get(7)?,
                response: row.get(8)?,
            })
        },
    )?;
    let samples = list(
        transaction,
        "SELECT subject, figure.name, start_s, length_s, mean, min, max
         FROM sample JOIN figure ON figure.id = sample.figure ORDER BY subject, figure.name, start_s",
        |row| {
            Ok(Sample {
                subject: row.get(0)?,
                figure: row.get(1)?,
                start_s: row.get(2)?,
                length_s: row.get(3)?,
                mean: row.get(4)?,
                min: row.get(5)?,
                max: row.get(6)?,
            })
        },
    )?;
    let events = list(
        transaction,
        "SELECT at_s, until_s, subject, kind, sentence, evidence FROM event ORDER BY at_s, id",
        |row| {
            let kind: String = row.get(3)?;
            Ok(EventKind::of(&kind).map(|kind| Event {
                at_s: row.get(0).unwrap_or_default(),
                until_s: row.get(1).unwrap_or_default(),
                subject: row.get(2).unwrap_or_default(),
                kind,
                sentence: row.get(4).unwrap_or_default(),
                evidence: row.get(5).unwrap_or_default(),
            }))
        },
    )?;
    let faults = if table_exists(transaction, "fault")? { faults(transaction)? } else { Vec::new() };
    let losses = if table_exists(transaction, "loss")? { losses(transaction)? } else { Vec::new() };
    Ok(Soak {
        faults,
        losses,
        info: serde_json::from_str(&info)?,
        state: serde_json::from_value(state.into())?,
        subjects,
        loads,
        intervals,
        samples,
        events: events.into_iter().flatten().collect(),
    })
}

/// A file of layout 1 has no faults, one of layout 2 no losses, one of layout 3 does not count what ended, and one of layout 4 has
/// what was lost by the second alone.
fn table_exists(connection: &Connection, name: &str) -> Result<bool, SoakError> {
    let query = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    Ok(connection.query_row(query, [name], |row| row.get::<_, i64>(0))? > 0)
}

fn endings(connection: &Connection) -> Result<HashMap<i64, Endings>, SoakError> {
    let rows = list(connection, "SELECT subject, deaths, restarts FROM endings", |row| {
        Ok((row.get(0)?, Endings { deaths: row.get(1)?, restarts: row.get(2)? }))
    })?;
    Ok(rows.into_iter().collect())
}

fn losses(connection: &Connection) -> Result<Vec<Loss>, SoakError> {
    let mut losses = list(connection, "SELECT load, at_s, lost, torn FROM loss", |row| {
        let (load, at_s) = (row.get(0)?, row.get(1)?);
        Ok(Loss { load, at_s, length_s: SECOND_S, lost: row.get(2)?, torn: row.get(3)? })
    })?;
    if table_exists(connection, "loss_interval")? {
        let query = "SELECT load, start_s, length_s, lost, torn FROM loss_interval";
        losses.extend(list(connection, query, |row| {
            let (load, at_s, length_s) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(Loss { load, at_s, length_s, lost: row.get(3)?, torn: row.get(4)? })
        })?);
    }
    losses.sort_by(|a, b| a.at_s.total_cmp(&b.at_s).then(a.load.cmp(&b.load)));
    Ok(losses)
}

fn faults(connection: &Connection) -> Result<Vec<Fault>, SoakError> {
    let lost = match table_exists(connection, "fault_loss")? {
        true => {
            "SELECT lost FROM fault_loss own
             WHERE own.subject = fault.subject AND own.number = fault.number AND own.due_s = fault.due_s"
        }
        false => "SELECT 0",
    };
    let query = format!(
        "SELECT subject, number, due_s, at_s, until_s, kind, what, command, was_made, server_died, effect, ifnull(({lost}), 0)
         FROM fault ORDER BY at_s, subject, number"
    );
    let rows = list(connection, &query, |row| {
        let fault = Fault {
            subject: row.get(0)?,
            number: row.get(1)?,
            due_s: row.get(2)?,
            at_s: row.get(3)?,
            until_s: row.get(4)?,
            kind: row.get(5)?,
            what: row.get(6)?,
            command: row.get(7)?,
            was_made: row.get(8)?,
            server_died: row.get(9)?,
            effect: None,
            lost: row.get(11)?,
        };
        Ok((fault, row.get::<_, Option<String>>(10)?))
    })?;
    let fault = |(fault, effect): (Fault, Option<String>)| {
        let effect = effect.map(|text| serde_json::from_str(&text)).transpose()?;
        Ok(Fault { effect, ..fault })
    };
    rows.into_iter().map(fault).collect()
}

fn list<T>(
    connection: &Connection,
    query: &str,
    row: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, SoakError> {
    let mut statement = connection.prepare(query)?;
    let rows = statement.query_map([], row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}
