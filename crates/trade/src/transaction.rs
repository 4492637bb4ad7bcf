//! A transaction that is open: one method, over which actions, population and audit are written.
//!
//! The two databases speak the same SQL here, with `$1`, `$2`, ... in the order of their first appearance.

use std::future::Future;

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
    /// It conflicts with other transactions and can be retried. The kind, as it is counted.
    Conflict(&'static str),
    /// The database is not there, or not any more.
    Lost(String),
    /// Another error, in the words of the database.
    Other(String),
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StoreError::Conflict(kind) => write!(f, "conflict with another transaction ({kind})"),
            StoreError::Lost(what) => write!(f, "cannot reach the database: {what}"),
            StoreError::Other(what) => f.write_str(what),
        }
    }
}
