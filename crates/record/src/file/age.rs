//! Merges old intervals into longer ones.

use std::collections::BTreeMap;

use pitot_meter::Histogram;
use rusqlite::{Transaction, params};

use super::error::RecordError;
use crate::soak::{Fault, SECOND_S};

/// A level of intervals, which are merged into the next level from an age on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Length of its intervals, seconds; 0 for measured intervals.
    pub length_s: f64,
    /// Age from which they are merged, seconds; infinite for the last.
    pub until_s: f64,
}

/// From the youngest to the oldest.
pub const LEVELS: [Level; 3] = [
    Level { length_s: 0.0, until_s: 3600.0 },
    Level { length_s: 60.0, until_s: 86_400.0 },
    Level { length_s: 600.0, until_s: f64::INFINITY },
];

/// Until when the intervals of each level but the last were merged, seconds.
pub(super) type Aged = [f64; LEVELS.len() - 1];

/// Merges what is old enough at `now_s`, in whole intervals of the next level, so that each is written once.
pub(super) fn put_together(
    transaction: &Transaction<'_>,
    now_s: f64,
    aged: &mut Aged,
) -> Result<(), RecordError> {
    for (level, (pair, aged_s)) in (0i64..).zip(LEVELS.windows(2).zip(aged)) {
        let [young, old] = pair else { continue };
        let end_s = ((now_s - young.until_s) / old.length_s).floor() * old.length_s;
        if end_s > *aged_s {
            intervals(transaction, level, old.length_s, end_s)?;
            readings(transaction, level, old.length_s, end_s)?;
            losses(transaction, level, old.length_s, end_s)?;
            *aged_s = end_s;
        }
    }
    Ok(())
}

/// The sum of several intervals.
#[derive(Default)]
struct Sum {
    begin_s: Option<f64>,
    length_s: f64,
    completed: u64,
    errors: u64,
    missed: u64,
    received: u64,
    open: u64,
    response: Histogram,
}

fn damaged() -> RecordError {
    RecordError::Damaged("a histogram of response times cannot be read".into())
}

fn stretch(start_s: f64, length_s: f64) -> i64 {
    (start_s / length_s).floor() as i64
}

fn intervals(
    transaction: &Transaction<'_>,
    level: i64,
    length_s: f64,
    end_s: f64,
) -> Result<(), RecordError> {
    let mut sums: BTreeMap<(i64, i64), Sum> = BTreeMap::new();
    {
        let mut query = transaction.prepare_cached(
            "SELECT load, start_s, length_s, completed, errors, missed, received, open, response
             FROM interval WHERE level = ?1 AND start_s < ?2 ORDER BY load, start_s",
        )?;
        let mut rows = query.query(params![level, end_s])?;
        while let Some(row) = rows.next()? {
            let start_s: f64 = row.get(1)?;
            let sum = sums.entry((row.get(0)?, stretch(start_s, length_s))).or_default();
            sum.begin_s.get_or_insert(start_s);
            sum.length_s += row.get::<_, f64>(2)?;
            sum.completed += row.get::<_, u64>(3)?;
            sum.errors += row.get::<_, u64>(4)?;
            sum.missed += row.get::<_, u64>(5)?;
            sum.received += row.get::<_, u64>(6)?;
            sum.open = row.get(7)?;
            let text: String = row.get(8)?;
            sum.response.merge(&Histogram::decode(&text).map_err(|_| damaged())?);
        }
    }
    for ((load, _), sum) in &sums {
        transaction
            .prepare_cached("INSERT INTO interval VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?
            .execute(params![
                load,
                level + 1,
                sum.begin_s,
                sum.length_s,
                sum.completed,
                sum.errors,
                sum.missed,
                sum.received,
                sum.open,
                sum.response.encode()
            ])?;
    }
    transaction
        .prepare_cached("DELETE FROM interval WHERE level = ?1 AND start_s < ?2")?
        .execute(params![level, end_s])?;
    Ok(())
}

fn readings(transaction: &Transaction<'_>, level: i64, length_s: f64, end_s: f64) -> Result<(), RecordError> {
    // The mean weights each reading by its length. The interval begins with its first reading.
    transaction
        .prepare_cached(
            "INSERT INTO reading
             SELECT subject, metric, level + 1, min(start_s), sum(length_s),
                    sum(mean * length_s) / sum(length_s), min(min), max(max)
             FROM reading WHERE level = ?1 AND start_s < ?2
             GROUP BY subject, metric, CAST(start_s / ?3 AS INTEGER)",
        )?
        .execute(params![level, end_s, length_s])?;
    transaction
        .prepare_cached("DELETE FROM reading WHERE level = ?1 AND start_s < ?2")?
        .execute(params![level, end_s])?;
    Ok(())
}

/// Adds late losses to their interval, however old it is.
fn losses(transaction: &Transaction<'_>, level: i64, length_s: f64, end_s: f64) -> Result<(), RecordError> {
    // The youngest are seconds.
    if level == 0 {
        add_to_faults(transaction, end_s)?;
    }
    transaction
        .prepare_cached(
            "INSERT INTO loss
             SELECT ?1 + 1, load, CAST(start_s / ?3 AS INTEGER) * ?3, ?3, sum(lost), sum(torn) FROM loss
             WHERE level = ?1 AND start_s < ?2 GROUP BY load, CAST(start_s / ?3 AS INTEGER)
             ON CONFLICT (level, load, start_s)
             DO UPDATE SET lost = lost + excluded.lost, torn = torn + excluded.torn",
        )?
        .execute(params![level, end_s, length_s])?;
    transaction
        .prepare_cached("DELETE FROM loss WHERE level = ?1 AND start_s < ?2")?
        .execute(params![level, end_s])?;
    Ok(())
}

/// Adds losses of seconds that are about to be merged to their faults, since afterwards the seconds are unknown.
fn add_to_faults(transaction: &Transaction<'_>, end_s: f64) -> Result<(), RecordError> {
    // By server: the end of each second, and its losses.
    let mut lost: BTreeMap<i64, Vec<(f64, u64)>> = BTreeMap::new();
    {
        let mut query = transaction.prepare_cached(
            "SELECT load.subject, loss.start_s, loss.lost FROM loss JOIN load ON load.id = loss.load
             WHERE loss.level = 0 AND loss.start_s < ?1",
        )?;
        let mut rows = query.query(params![end_s])?;
        while let Some(row) = rows.next()? {
            let over_s = row.get::<_, f64>(1)? + SECOND_S;
            lost.entry(row.get(0)?).or_default().push((over_s, row.get(2)?));
        }
    }
    for (subject, lost) in lost {
        let faults = faults_made(transaction, subject)?;
        for (index, fault) in faults.iter().enumerate() {
            let next = faults[index..].iter().find(|other| other.at_s > fault.at_s);
            let (from_s, until_s) = fault.loss_stretch(next.map(|next| next.at_s));
            let own = lost.iter().filter(|(over_s, _)| *over_s > from_s && *over_s <= until_s);
            let count: u64 = own.map(|(_, lost)| lost).sum();
            if count > 0 {
                transaction
                    .prepare_cached(
                        "UPDATE subject_fault SET lost = lost + ?4 WHERE subject = ?1 AND number = ?2 AND due_s = ?3",
                    )?
                    .execute(params![subject, fault.number, fault.due_s, count])?;
            }
        }
    }
    Ok(())
}

/// The faults of a server by their begin: their names and times.
fn faults_made(transaction: &Transaction<'_>, subject: i64) -> Result<Vec<Fault>, RecordError> {
    let mut query = transaction.prepare_cached(
        "SELECT number, due_s, at_s, until_s FROM subject_fault WHERE subject = ?1 AND was_made ORDER BY at_s",
    )?;
    let faults = query.query_map(params![subject], |row| {
        Ok(Fault {
            number: row.get(0)?,
            due_s: row.get(1)?,
            at_s: row.get(2)?,
            until_s: row.get(3)?,
            ..Fault::default()
        })
    })?;
    Ok(faults.collect::<Result<_, _>>()?)
}
