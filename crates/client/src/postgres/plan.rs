use std::sync::Arc;

use super::login::Account;
use super::options::SslMode;
use super::query::Query;
use crate::choice::RequestChoice;
use crate::said::Said;
use crate::session::Scripts;

/// Shared by all connections.
#[derive(Debug)]
pub(super) struct Postgres {
    pub(super) account: Account,
    /// The first message of a connection.
    pub(super) startup: &'static [u8],
    /// The messages that prepare all statements; empty if none are prepared.
    pub(super) prepare: &'static [u8],
    pub(super) is_simple: bool,
    pub(super) sslmode: SslMode,
    /// The queries, or the statements of all scripts, concatenated.
    pub(super) requests: Vec<Request>,
    pub(super) plays: Plays,
    /// The first refusal of the server.
    pub(super) said: Said,
}

/// Decides which query comes next.
#[derive(Debug)]
pub(super) enum Plays {
    Requests(RequestChoice),
    Scripts(Arc<Scripts>),
}

/// A query, and its right reply.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) query: Query,
    pub(super) rows: Option<u64>,
    /// The first column of each row.
    pub(super) value: Option<&'static [u8]>,
}
