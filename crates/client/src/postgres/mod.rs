//! The client side of PostgreSQL's frontend/backend protocol, version 3.0 (PostgreSQL documentation, chapter
//! "Frontend/Backend Protocol").
//!
//! A request is a query, and `ReadyForQuery` ends its reply. Queries can be pipelined: each has its own `Sync`, or is a simple
//! query, which implies one. The messages are those of libpq for the same query, so the server has the same work.

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

pub(super) const ENTRY: ClientEntry = ClientEntry {
    scheme: "postgres",
    summary: "queries to PostgreSQL: simple, extended or prepared, with random numbers",
    doc: "The path is the database (default: the user's name). The URL may contain a user (default postgres) and a \
          password, for the methods trust, password, md5 and scram-sha-256. The query follows query=, where + is a space, \
          or is given by --command or --body. --requests script.sql plays statements in order, like pgbench -f. A reply \
          ends with ReadyForQuery. Errors are counted by SQLSTATE, and rows are counted. sslmode=require and verify-full \
          request TLS (SSLRequest), to which the TLS options apply.",
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
