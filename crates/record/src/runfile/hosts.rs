//! The hosts of a run other than the lab's own: tables of those runs alone that have any.

use rusqlite::{Connection, OptionalExtension, params};

use super::error::RunFileError;
use crate::run::HostRecord;
use pitot_host::Fingerprint;

/// What hosts were after the last repetition.
const AFTER: &str = "
CREATE TABLE IF NOT EXISTS host_after (
    name            TEXT PRIMARY KEY,          -- its name in the table `host`
    facts           TEXT NOT NULL              -- a list of group, name and value, as JSON
) STRICT";

/// Notes what hosts are now. One that was lost says nothing.
pub(super) fn write_after(connection: &Connection, hosts: &[HostRecord]) -> Result<(), rusqlite::Error> {
    for host in hosts.iter().filter(|host| !host.facts.facts.is_empty()) {
        connection.execute_batch(AFTER)?;
        let facts = serde_json::to_string(&host.facts).expect("plain data has a JSON form");
        connection.execute("INSERT OR REPLACE INTO host_after VALUES (?1, ?2)", params![host.name, facts])?;
    }
    Ok(())
}

/// The hosts in their order.
pub(super) fn read(connection: &Connection) -> Result<Vec<HostRecord>, RunFileError> {
    if !exists(connection, "host")? {
        return Ok(Vec::new());
    }
    let has_after = exists(connection, "host_after")?;
    let after = if has_after { "(SELECT facts FROM host_after a WHERE a.name = host.name)" } else { "NULL" };
    let mut query = connection.prepare(&format!(
        "SELECT name, does, clock_offset_ns, clock_error_ns, round_trip_ns, facts, {after} FROM host ORDER BY position"
    ))?;
    let rows = query.query_map([], |row| {
        let facts = |text: String| serde_json::from_str::<Fingerprint>(&text).unwrap_or_default();
        Ok(HostRecord {
            is_own: false,
            name: row.get(0)?,
            does: row.get(1)?,
            clock_offset_ns: row.get(2)?,
            clock_error_ns: row.get(3)?,
            round_trip_ns: row.get(4)?,
            facts: facts(row.get(5)?),
            facts_after: row.get::<_, Option<String>>(6)?.map(facts),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Whether a file has a table.
pub(super) fn exists(connection: &Connection, table: &str) -> Result<bool, rusqlite::Error> {
    let found = connection
        .query_row("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1", [table], |_| Ok(()))
        .optional()?;
    Ok(found.is_some())
}
