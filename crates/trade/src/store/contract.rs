use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::action::{Action, Outcome};
use crate::audit::Audit;
use crate::population::Population;
use crate::transaction::StoreError;

/// How often a transaction that was refused for others is tried again.
pub(crate) const RETRIES_MAX: u32 = 30;

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
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A database.
pub trait Store: Send + Sync {
    /// Makes the tables if they are not there, empties them on demand, and fills them if they are empty.
    fn prepare<'a>(
        &'a self,
        population: &'a Population,
        reset: bool,
    ) -> StoreFuture<'a, Result<(), StoreError>>;

    /// Performs an action in one transaction, which is retried after conflicts.
    fn run(&self, action: Arc<Action>) -> StoreFuture<'_, (Result<Outcome, StoreError>, Cost)>;

    /// Recomputes everything from the tables, in one transaction that sees one state of them.
    fn audit(&self) -> StoreFuture<'_, Result<Audit, StoreError>>;

    /// Counts of the database for the statistics: names and numbers.
    fn counts(&self) -> StoreFuture<'_, Vec<(String, i64)>>;

    /// What the connections to the database wait for at this moment: kinds, and how many.
    fn waits(&self) -> StoreFuture<'_, Vec<(String, i64)>>;

    /// The name of the product and its version.
    fn version(&self) -> StoreFuture<'_, String>;
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |t| t.as_millis() as i64)
}
