//! How a record is known.

use rusqlite::Connection;

use crate::database::Format;

/// The application is "Pito": file(1) and others recognise a record by it. Layouts 1 to 7 are from before the first release.
/// Whoever raises `layout` lets [`Format::check`] open the one before it and brings it forward here: a step of SQL for each
/// layout, which `--resume` carries out in the file and a reader in a copy of it.
pub(super) const FORMAT: Format = Format {
    application_id: 0x5069_746F,
    layout: 8,
    tables: &[
        "run",
        "fact",
        "host",
        "skip",
        "cell",
        "factor",
        "repetition",
        "sample",
        "slice",
        "fault",
        "subject",
        "load",
        "interval",
        "metric",
        "reading",
        "event",
        "subject_fault",
        "loss",
    ],
    view: "result",
};

/// What was recorded, as `run.kind` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A plan was carried out.
    Run,
    /// Servers stood under load for long.
    Soak,
}

impl Kind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Kind::Run => "run",
            Kind::Soak => "soak",
        }
    }
}

pub(super) fn create(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.execute_batch(include_str!("schema.sql"))?;
    connection.pragma_update(None, "application_id", FORMAT.application_id)?;
    connection.pragma_update(None, "user_version", FORMAT.layout)
}
