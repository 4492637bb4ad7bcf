use std::sync::Arc;

use super::login::Account;
use super::options::SslMode;
use super::query::Query;
use crate::choice::RequestChoice;
use crate::said::Said;
use crate::session::Scripts;

/// What all connections share.
#[derive(Debug)]
pub(super) struct Postgres {
    pub(super) account: Account,
    /// The first message of a connection.
    pub(super) startup: &'static [u8],
    /// What prepares all statements; nothing if they are not prepared.
    pub(super) prepare: &'static [u8],
    pub(super) is_simple: bool,
    pub(super) sslmode: SslMode,
    /// The queries, or the statements of all scripts, one after the other.
    pub(super) requests: Vec<Request>,
    pub(super) plays: Plays,
    /// What the server refused first.
    pub(super) said: Said,
}

/// What decides which query comes next.
#[derive(Debug)]
pub(super) enum Plays {
    Requests(RequestChoice),
    Scripts(Arc<Scripts>),
}

/// A query, and what a right reply to it is.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) query: Query,
    pub(super) rows: Option<u64>,
    /// The first column of each row.
    pub(super) value: Option<&'static [u8]>,
}
