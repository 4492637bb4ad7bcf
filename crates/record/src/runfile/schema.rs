use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::database::Format;

/// How a run file is known, and what is read of it. The application is "Pito": file(1) and others recognise a run file by it.
pub(super) const FORMAT: Format = Format {
    application_id: 0x5069_746F,
    layout: 7,
    tables: &[
        ("run", 1),
        ("fact", 1),
        ("skip", 1),
        ("cell", 1),
        ("factor", 1),
        ("repetition", 1),
        ("sample", 1),
        ("slice", 5),
        ("fault", 7),
    ],
    view: Some("result"),
};

pub(super) fn create(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.execute_batch(include_str!("schema.sql"))?;
    connection.pragma_update(None, "application_id", FORMAT.application_id)?;
    connection.pragma_update(None, "user_version", FORMAT.layout)
}

/// Brings an older file to the layout of this version, so that a run can be resumed in it.
pub(super) fn upgrade(connection: &Connection, found: u32) -> Result<(), rusqlite::Error> {
    let steps = [
        (2, "ALTER TABLE sample ADD COLUMN server_private_bytes INTEGER"),
        (3, "ALTER TABLE repetition RENAME COLUMN last_words TO output_tail"),
    ];
    for (layout, step) in steps.iter().filter(|(layout, _)| *layout > found) {
        connection.execute_batch(&format!("BEGIN; {step}; PRAGMA user_version = {layout}; COMMIT;"))?;
    }
    if found < 4 {
        allow_rate_missed(connection)?;
    }
    if found < 5 {
        add_slices(connection)?;
    }
    if found < 6 {
        connection.execute_batch(
            "BEGIN; ALTER TABLE repetition ADD COLUMN warmup_s REAL; PRAGMA user_version = 6; COMMIT;",
        )?;
    }
    if found < 7 {
        add_table(connection, "fault", 7)?;
    }
    Ok(())
}

/// Adds a table of the schema as it stands there.
fn add_table(connection: &Connection, name: &str, layout: u32) -> Result<(), rusqlite::Error> {
    let table = table(name);
    connection.execute_batch(&format!("BEGIN; {table} PRAGMA user_version = {layout}; COMMIT;"))
}

/// The statement that creates a table of the schema.
fn table(name: &str) -> &'static str {
    let schema = include_str!("schema.sql");
    let from = schema.find(&format!("CREATE TABLE {name} ")).expect("the schema has the table");
    schema[from..].split_inclusive(';').next().unwrap_or_default()
}

/// True if a file of this layout knows of faults.
pub(super) fn has_faults(layout: u32) -> bool {
    layout >= 7
}

/// True if a file of this layout knows how long warm-ups took that ended by themselves.
pub(super) fn has_warmup(layout: u32) -> bool {
    layout >= 6
}

/// Layout 5: cells that are measured in slices.
fn add_slices(connection: &Connection) -> Result<(), rusqlite::Error> {
    let table = table("slice");
    connection.execute_batch(&format!(
        "BEGIN;
         ALTER TABLE cell ADD COLUMN measure TEXT NOT NULL DEFAULT 'fresh';
         ALTER TABLE cell ADD COLUMN fresh_reason TEXT NOT NULL DEFAULT '';
         ALTER TABLE cell ADD COLUMN control_of INTEGER REFERENCES cell (id);
         {table}
         PRAGMA user_version = 5;
         COMMIT;"
    ))
}

/// True if a file of this layout knows of slices.
pub(super) fn has_slices(layout: u32) -> bool {
    layout >= 5
}

/// Layout 4: one more word in the CHECK on `repetition.verdict`. The rows stay as they are, so the table's text is changed
/// in place, as SQLite's page on ALTER TABLE describes it.
fn allow_rate_missed(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
    connection.execute_batch(
        "BEGIN;
         PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(sql, '''network-bound'', ', '''network-bound'', ''rate-missed'', ')
             WHERE type = 'table' AND name = 'repetition';
         PRAGMA user_version = 4;
         COMMIT;
         PRAGMA writable_schema = RESET;",
    )?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    Ok(())
}

/// The column of `repetition` with the output of programs that failed, in a file of this layout.
pub(super) fn output_tail_column(layout: u32) -> &'static str {
    if layout < 3 { "last_words" } else { "output_tail" }
}

/// The hosts of a run other than the lab's own: a table of those runs alone that have any.
pub(super) const HOSTS: &str = "
CREATE TABLE IF NOT EXISTS host (
    position        INTEGER PRIMARY KEY,
    name            TEXT NOT NULL,
    does            TEXT NOT NULL,             -- server, load, server and load
    clock_offset_ns INTEGER NOT NULL,          -- how far its clock was ahead of the lab's
    clock_error_ns  INTEGER NOT NULL,
    round_trip_ns   INTEGER NOT NULL,
    facts           TEXT NOT NULL              -- a list of group, name and value, as JSON
) STRICT";
