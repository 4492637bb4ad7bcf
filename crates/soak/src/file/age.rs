//! Old intervals are put together to longer ones.

use std::collections::BTreeMap;

use pitot_meter::Histogram;
use rusqlite::{Transaction, params};

use super::error::SoakError;

/// A kind of intervals: from an age on, they are put together to those of the next kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Length of its intervals, seconds; 0 for those that are as they were measured.
    pub length_s: f64,
    /// Age, seconds, from which they are put together; infinite for the last.
    pub until_s: f64,
}

/// From the youngest to the oldest.
pub const LEVELS: [Level; 3] = [
    Level { length_s: 0.0, until_s: 3600.0 },
    Level { length_s: 60.0, until_s: 86_400.0 },
    Level { length_s: 600.0, until_s: f64::INFINITY },
];

/// Until when the intervals of each level but the last were put together, seconds.
pub(super) type Aged = [f64; LEVELS.len() - 1];

/// Puts together what is old enough at `now_s`. Only whole stretches of the next level are taken, so that each of its
/// intervals is written once.
pub(super) fn put_together(
    transaction: &Transaction<'_>,
    now_s: f64,
    aged: &mut Aged,
) -> Result<(), SoakError> {
    for (level, (pair, aged_s)) in (0i64..).zip(LEVELS.windows(2).zip(aged)) {
        let [young, old] = pair else { continue };
        let end_s = ((now_s - young.until_s) / old.length_s).floor() * old.length_s;
        if end_s > *aged_s {
            intervals(transaction, level, old.length_s, end_s)?;
            samples(transaction, level, old.length_s, end_s)?;
            *aged_s = end_s;
        }
    }
    Ok(())
}

/// What is added up of several intervals.
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

fn stretch(start_s: f64, length_s: f64) -> i64 {
    (start_s / length_s).floor() as i64
}

fn intervals(transaction: &Transaction<'_>, level: i64, length_s: f64, end_s: f64) -> Result<(), SoakError> {
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
            sum.response.merge(&Histogram::decode(&text).map_err(|_| SoakError::Histogram)?);
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

fn samples(transaction: &Transaction<'_>, level: i64, length_s: f64, end_s: f64) -> Result<(), SoakError> {
    // The mean of a stretch weighs each sample by its length. The stretch begins with its first sample.
    transaction
        .prepare_cached(
            "INSERT INTO sample
             SELECT subject, figure, level + 1, min(start_s), sum(length_s),
                    sum(mean * length_s) / sum(length_s), min(min), max(max)
             FROM sample WHERE level = ?1 AND start_s < ?2
             GROUP BY subject, figure, CAST(start_s / ?3 AS INTEGER)",
        )?
        .execute(params![level, end_s, length_s])?;
    transaction
        .prepare_cached("DELETE FROM sample WHERE level = ?1 AND start_s < ?2")?
        .execute(params![level, end_s])?;
    Ok(())
}
