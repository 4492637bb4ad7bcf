//! The hosts of a run other than the lab's.

use rusqlite::{Connection, params};

use super::error::RecordError;
use super::writer::json;
use crate::run::HostRecord;
use pitot_host::Fingerprint;

/// Adds a host whose name is not in the file yet.
pub(super) fn write(connection: &Connection, host: &HostRecord) -> Result<(), rusqlite::Error> {
    connection.execute(
        "INSERT INTO host SELECT (SELECT count(*) FROM host), ?1, ?2, ?3, ?4, ?5, ?6, NULL
             WHERE NOT EXISTS (SELECT 1 FROM host WHERE name = ?1)",
        params![
            host.name,
            host.does,
            host.clock_offset_ns,
            host.clock_error_ns as i64,
            host.round_trip_ns as i64,
            json(&host.facts),
        ],
    )?;
    Ok(())
}

/// Records hosts after the last repetition, except lost ones.
pub(super) fn write_after(connection: &Connection, hosts: &[HostRecord]) -> Result<(), rusqlite::Error> {
    for host in hosts.iter().filter(|host| !host.facts.facts.is_empty()) {
        let update = "UPDATE host SET facts_after = ?2 WHERE name = ?1";
        connection.execute(update, params![host.name, json(&host.facts)])?;
    }
    Ok(())
}

/// The hosts in their order.
pub(super) fn read(connection: &Connection) -> Result<Vec<HostRecord>, RecordError> {
    let mut query = connection.prepare(
        "SELECT name, does, clock_offset_ns, clock_error_ns, round_trip_ns, facts, facts_after FROM host
         ORDER BY position",
    )?;
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
