//! The client's side of PostgreSQL's frontend/backend protocol, version 3.0 (PostgreSQL documentation, chapter
//! "Frontend/Backend Protocol").
//!
//! A request is a query, and `ReadyForQuery` is the end of its reply, so that queries can be pipelined: each is followed by a
//! `Sync` of its own, or is a simple query, which implies one. The messages are those that libpq sends for the same query, so
//! that a server has the same work of it as of a program that uses libpq.

mod build;
mod conn;
mod login;
mod options;
mod plan;
mod query;
mod reader;
mod sqlstate;
#[cfg(test)]
mod tests;
mod write;

use super::entry::ClientEntry;

/// The entry of the registry.
pub(super) const ENTRY: ClientEntry = ClientEntry {
    scheme: "postgres",
    summary: "queries to PostgreSQL: simple, extended or prepared, with numbers drawn by chance",
    doc: "The path is the database, that of the user's name if there is none. The URL may hold the user (postgres by default) \
          and a password, for the methods trust, password, md5 and scram-sha-256. The query follows query=, where + stands \
          for a blank, or is the --command or the --body; --requests script.sql plays statements in order, as pgbench -f does. A reply ends with ReadyForQuery; errors are counted by SQLSTATE, and rows too. \
          sslmode=require and verify-full ask for TLS (SSLRequest), to which the options of TLS apply.",
    port: Some(5432),
    tls: None,
    requests_per_connection_max: None,
    url_options: options::URL_OPTIONS,
    has_statuses: false,
    has_methods: false,
    logs_in: true,
    has_commands: true,
    takes_body_files: true,
    has_sessions: true,
    example: "postgres://postgres@127.0.0.1:5432/postgres?query=SELECT+1",
    build: build::build,
};
