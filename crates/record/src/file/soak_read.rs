use std::path::Path;

use pitot_results::{COUNT_MAX, Failure, check_numbers};
use rusqlite::Connection;

use super::error::RecordError;
use super::layout::Kind;
use super::open::{self, from_json, is_running, read_facts};
use super::profiles::of_subjects;
use crate::run::RunState;
use crate::secrets_file;
use crate::soak::{
    Endings, Event, EventKind, Fault, Info, Interval, Load, Loss, Reading, Soak, State, Subject,
    SubjectProfile,
};

impl Soak {
    /// Reads a soak of another process, and checks whether it is running or was killed.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn look(path: &Path) -> Result<Soak, RecordError> {
        let runs = is_running(path);
        let mut soak = Soak::open(path)?;
        if soak.state == State::Running && !runs {
            soak.state = State::Killed;
        }
        Ok(soak)
    }

    /// Reads a soak to resume it, with the secrets of its command line.
    ///
    /// # Errors
    /// As [`open`](Self::open), or if the file with its secrets is missing.
    pub fn open_to_resume(path: &Path) -> Result<Soak, Failure> {
        let mut soak = Soak::open(path)?;
        let mut info = soak.info.to_json();
        secrets_file::restore(path, &soak.id, &mut info)?;
        let info: Info = serde_json::from_value(info)
            .map_err(|e| RecordError::of_json("the settings of the soak with its secrets", &e))?;
        soak.info = Info { machine: soak.info.machine, ..info };
        Ok(soak)
    }

    /// Reads a soak, which may be running in another process. The file is not trusted. Its secrets are masked.
    ///
    /// # Errors
    /// If it is not the file of a soak, or cannot be read.
    pub fn open(path: &Path) -> Result<Soak, RecordError> {
        open::read(path, Kind::Soak, |connection, _| {
            let mut soak = read(connection)?;
            check(&soak).map_err(RecordError::Damaged)?;
            soak.set_control_apart();
            Ok(soak)
        })
    }
}

/// A century, the maximum length of a soak.
const LENGTH_S_MAX: f64 = 3.2e9;

/// Checks that times are on the soak's axis, figures are finite, and counts can be summed. The error is a sentence.
fn check(soak: &Soak) -> Result<(), String> {
    // Some times are shortly before its begin.
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
    for reading in &soak.readings {
        moment("the begin of a reading", reading.start_s)?;
        length("the length of a reading", reading.length_s)?;
        let is_figure = |value: f64| value.abs() <= COUNT_MAX as f64;
        if !(is_figure(reading.mean) && is_figure(reading.min) && is_figure(reading.max)) {
            return Err(format!("a reading of `{}` is not a finite number", reading.metric.escape_debug()));
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
    for SubjectProfile { at_s, .. } in &soak.profiles {
        moment("the time of a profile", *at_s)?;
    }
    for loss in &soak.losses {
        moment("the time of a loss", loss.at_s)?;
        length("the length of a loss", loss.length_s)?;
        count("the requests that were lost", loss.lost.max(loss.torn))?;
    }
    Ok(())
}

/// Reads a soak within a transaction.
pub(super) fn read(transaction: &Connection) -> Result<Soak, RecordError> {
    let query = "SELECT id, plan, state FROM run";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let (id, info, state): (String, String, String) = transaction.query_row(query, [], row)?;
    let info: Info = from_json("the settings of the soak", &info)?;
    let query = "SELECT id, name, command, deaths, restarts FROM subject ORDER BY id";
    let subjects = list(transaction, query, |row| {
        let endings = Endings { deaths: row.get(3)?, restarts: row.get(4)? };
        Ok(Subject { id: row.get(0)?, name: row.get(1)?, command: row.get(2)?, endings })
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
        loads.push(Load { totals: from_json("the counts of a load", &totals)?, ..load });
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
    let readings = list(
        transaction,
        "SELECT subject, metric.name, start_s, length_s, mean, min, max
         FROM reading JOIN metric ON metric.id = reading.metric ORDER BY subject, metric.name, start_s",
        |row| {
            Ok(Reading {
                subject: row.get(0)?,
                metric: row.get(1)?,
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
    Ok(Soak {
        id,
        faults: faults(transaction)?,
        losses: losses(transaction)?,
        profiles: of_subjects(transaction)?,
        info: Info { machine: read_facts(transaction, "before")?, ..info },
        state: RunState::of(&state).into(),
        subjects,
        loads,
        intervals,
        readings,
        events: events.into_iter().flatten().collect(),
        control: None,
    })
}

fn losses(connection: &Connection) -> Result<Vec<Loss>, RecordError> {
    let query = "SELECT load, start_s, length_s, lost, torn FROM loss ORDER BY start_s, load";
    list(connection, query, |row| {
        let (load, at_s, length_s) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Loss { load, at_s, length_s, lost: row.get(3)?, torn: row.get(4)? })
    })
}

fn faults(connection: &Connection) -> Result<Vec<Fault>, RecordError> {
    let query = "SELECT subject, number, due_s, at_s, until_s, kind, what, command, was_made, server_died, effect, lost
         FROM subject_fault ORDER BY at_s, subject, number";
    let rows = list(connection, query, |row| {
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
        let effect = effect.map(|text| from_json("the effect of a fault", &text)).transpose()?;
        Ok(Fault { effect, ..fault })
    };
    rows.into_iter().map(fault).collect()
}

fn list<T>(
    connection: &Connection,
    query: &str,
    row: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, RecordError> {
    let mut statement = connection.prepare(query)?;
    let rows = statement.query_map([], row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}
