//! Which host carried out what, of a run that was scattered over several: tables of those runs alone.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::hosts::exists;
use super::schema;
use crate::run::HostRecord;

/// The host of each repetition.
const CARRIED_OUT: &str = "
CREATE TABLE IF NOT EXISTS carried_out (
    repetition_id   INTEGER PRIMARY KEY REFERENCES repetition (id),
    host            TEXT NOT NULL              -- its name in the table `host`
) STRICT";

/// Notes who carried out a repetition; nothing if that is the lab's own machine.
pub(super) fn write(connection: &Connection, repetition: i64, host: &str) -> Result<(), rusqlite::Error> {
    if host.is_empty() {
        return Ok(());
    }
    connection.execute_batch(CARRIED_OUT)?;
    connection.execute("INSERT INTO carried_out VALUES (?1, ?2)", params![repetition, host])?;
    Ok(())
}

/// By repetition: who carried it out.
pub(super) fn read(connection: &Connection) -> Result<HashMap<i64, String>, rusqlite::Error> {
    if !exists(connection, "carried_out")? {
        return Ok(HashMap::new());
    }
    let mut query = connection.prepare("SELECT repetition_id, host FROM carried_out")?;
    query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Adds a host whose name is not in the file yet.
pub(super) fn write_host(connection: &Connection, host: &HostRecord) -> Result<(), rusqlite::Error> {
    connection.execute_batch(schema::HOSTS)?;
    connection.execute(
        "INSERT INTO host SELECT (SELECT count(*) FROM host), ?1, ?2, ?3, ?4, ?5, ?6
             WHERE NOT EXISTS (SELECT 1 FROM host WHERE name = ?1)",
        params![
            host.name,
            host.does,
            host.clock_offset_ns,
            host.clock_error_ns as i64,
            host.round_trip_ns as i64,
            serde_json::to_string(&host.facts).expect("plain data has a JSON form"),
        ],
    )?;
    Ok(())
}
