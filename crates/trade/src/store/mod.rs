//! Where the data is: transactions over SQLite or PostgreSQL.
//!
//! The two databases speak the same SQL here, with `$1`, `$2`, ... in the order of their first appearance.

mod postgres;
mod sqlite;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use postgres::Postgres;
pub use sqlite::Sqlite;

use crate::action::{Action, Outcome};
use crate::audit::Audit;
use crate::population::Population;
pub(crate) use sqlite::now_ms;

/// How often a transaction that was refused for others is tried again.
pub(crate) const RETRIES_MAX: u32 = 30;

/// A value of a column or a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// NULL.
    Null,
    /// A BIGINT.
    Int(i64),
    /// A TEXT.
    Text(String),
}

impl From<i64> for Value {
    fn from(int: i64) -> Value {
        Value::Int(int)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Value {
        Value::Text(text.clone())
    }
}

/// One row of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row(pub Vec<Value>);

impl Row {
    /// The number in a column; 0 for NULL.
    pub fn int(&self, column: usize) -> i64 {
        if let Some(Value::Int(int)) = self.0.get(column) { *int } else { 0 }
    }

    /// The text in a column; empty for NULL.
    pub fn text(&self, column: usize) -> String {
        if let Some(Value::Text(text)) = self.0.get(column) { text.clone() } else { String::new() }
    }
}

/// A transaction that is open.
pub trait Transaction: Send {
    /// Executes one prepared statement and returns its rows.
    fn rows(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> + Send;
}

/// Why a statement or a transaction came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// Other transactions stand in its way: it may be tried again. The kind, as it is counted.
    Conflict(&'static str),
    /// The database is not there, or not any more.
    Lost(String),
    /// What the database says is wrong.
    Other(String),
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StoreError::Conflict(kind) => write!(f, "it conflicts with another transaction ({kind})"),
            StoreError::Lost(what) => write!(f, "the database cannot be reached: {what}"),
            StoreError::Other(what) => f.write_str(what),
        }
    }
}

/// What an action has cost in the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Statements, without BEGIN and COMMIT.
    pub statements: u64,
    /// From the first statement of the transaction to the end of its COMMIT, of all attempts.
    pub database: Duration,
    /// Waiting for a connection, and with SQLite for its writer.
    pub wait: Duration,
    /// Attempts that were refused, by kind.
    pub conflicts: Vec<&'static str>,
}

/// What [`Store`] returns.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A database.
pub trait Store: Send + Sync {
    /// Makes the tables if they are not there, empties them on demand, and fills them if they are empty.
    fn prepare<'a>(&'a self, population: &'a Population, reset: bool) -> Answer<'a, Result<(), StoreError>>;

    /// Carries out an action in one transaction, which is tried again after conflicts.
    fn run(&self, action: Arc<Action>) -> Answer<'_, (Result<Outcome, StoreError>, Cost)>;

    /// Recomputes everything from the tables, in one transaction that sees one state of them.
    fn audit(&self) -> Answer<'_, Result<Audit, StoreError>>;

    /// What the database counts by itself, for the statistics: names and numbers.
    fn counts(&self) -> Answer<'_, Vec<(String, i64)>>;

    /// What the connections to the database wait for at this moment: kinds, and how many.
    fn waits(&self) -> Answer<'_, Vec<(String, i64)>>;

    /// The name of the product and its version.
    fn version(&self) -> Answer<'_, String>;
}
