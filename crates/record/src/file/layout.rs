//! The layout of a record.

use rusqlite::Connection;

use crate::database::Format;

/// The application id is "Pito", by which file(1) recognises a record. Layouts 1 to 7 are from before the first release.
/// To raise `layout`, let [`Format::check`] open the previous one and upgrade it here: a step of SQL for each layout,
/// which `--resume` runs on the file and a reader on a copy of it.
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

/// Columns of table `slice`. Files of the first versions of this layout lack the last, `pace_ns`.
pub(super) const SLICE_COLUMNS: usize = 21;

/// What was recorded: `run.kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A run of a plan.
    Run,
    /// A soak.
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
