//! PostgreSQL: a pool of connections, prepared statements, transactions at a level that is chosen.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Timeouts};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, IsolationLevel, NoTls};

use super::contract::{Cost, RETRIES_MAX, Store, StoreFuture, now_ms};
use crate::action::{Action, Outcome};
use crate::audit::{self, Audit};
use crate::perform;
use crate::plan::Isolation;
use crate::population::{self, Population};
use crate::random;
use crate::transaction::{Row, StoreError, Transaction, Value};

/// How long a request waits for a connection of the pool, or for the server.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// States of a server that is temporarily unavailable.
const LOST: [&SqlState; 4] = [
    &SqlState::ADMIN_SHUTDOWN,
    &SqlState::CRASH_SHUTDOWN,
    &SqlState::CANNOT_CONNECT_NOW,
    &SqlState::TOO_MANY_CONNECTIONS,
];

/// A PostgreSQL server.
pub struct Postgres {
    pool: Pool,
    /// A separate connection that observes the server.
    watch: Pool,
    isolation: IsolationLevel,
}

struct Open<'a> {
    transaction: deadpool_postgres::Transaction<'a>,
    statements: u64,
}

impl Transaction for Open<'_> {
    fn rows(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> + Send {
        self.statements += 1;
        async move {
            let statement = self.transaction.prepare_cached(sql).await.map_err(|e| error(&e))?;
            let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(parameter).collect();
            let rows = self.transaction.query(&statement, &values).await.map_err(|e| error(&e))?;
            rows.iter().map(|row| row_of(row).map_err(|e| error(&e))).collect()
        }
    }
}

fn parameter(value: &Value) -> &(dyn ToSql + Sync) {
    match value {
        Value::Null => &None::<&str>,
        Value::Int(int) => int,
        Value::Text(text) => text,
    }
}

fn row_of(row: &tokio_postgres::Row) -> Result<Row, tokio_postgres::Error> {
    let value = |(column, of): (usize, &tokio_postgres::Column)| {
        Ok(match *of.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(column)?.map(Value::Int),
            Type::INT4 => row.try_get::<_, Option<i32>>(column)?.map(|int| Value::Int(int.into())),
            _ => row.try_get::<_, Option<String>>(column)?.map(Value::Text),
        }
        .unwrap_or(Value::Null))
    };
    row.columns().iter().enumerate().map(value).collect::<Result<_, _>>().map(Row)
}

fn error(e: &tokio_postgres::Error) -> StoreError {
    let what = || match e.as_db_error() {
        Some(db) => db.message().to_owned(),
        None => {
            let cause = std::error::Error::source(e).map_or(String::new(), |cause| format!(": {cause}"));
            format!("{e}{cause}")
        }
    };
    match e.code() {
        Some(&SqlState::T_R_SERIALIZATION_FAILURE) => StoreError::Conflict("serialization"),
        Some(&SqlState::T_R_DEADLOCK_DETECTED) => StoreError::Conflict("deadlock"),
        // The same key of an order, or the same name, at the same time: the next attempt finds it.
        Some(&SqlState::UNIQUE_VIOLATION) => StoreError::Conflict("unique"),
        Some(code) if LOST.contains(&code) => StoreError::Lost(what()),
        Some(_) => StoreError::Other(what()),
        None => StoreError::Lost(what()),
    }
}

impl Postgres {
    /// A pool of at most `connections` to the server of a URL. Nothing is connected yet.
    ///
    /// # Errors
    /// One line, if it is not the URL of a PostgreSQL server.
    pub fn new(url: &str, connections: usize, isolation: Isolation) -> Result<Postgres, String> {
        let mut config: Config = url.parse().map_err(|e: tokio_postgres::Error| {
            std::error::Error::source(&e).map_or_else(|| e.to_string(), ToString::to_string)
        })?;
        config.application_name("pitot-trade");
        config.connect_timeout(WAIT_MAX);
        let wait = Some(WAIT_MAX);
        let pool = |most: usize| {
            let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
            Pool::builder(Manager::from_config(config.clone(), NoTls, recycling))
                .max_size(most)
                .runtime(deadpool_postgres::Runtime::Tokio1)
                .timeouts(Timeouts { wait, create: wait, recycle: wait })
                .build()
                .map_err(|e| e.to_string())
        };
        let isolation = match isolation {
            Isolation::ReadCommitted => IsolationLevel::ReadCommitted,
            Isolation::RepeatableRead => IsolationLevel::RepeatableRead,
            Isolation::Serializable => IsolationLevel::Serializable,
        };
        Ok(Postgres { pool: pool(connections.max(1))?, watch: pool(1)?, isolation })
    }

    async fn connection(&self) -> Result<Object, StoreError> {
        self.pool.get().await.map_err(|e| match e {
            deadpool_postgres::PoolError::Backend(e) => error(&e),
            other => StoreError::Lost(other.to_string()),
        })
    }

    async fn attempt(&self, action: &Action, cost: &mut Cost) -> Result<Outcome, StoreError> {
        let asked = Instant::now();
        let connection = self.connection().await;
        cost.wait += asked.elapsed();
        let mut connection = connection?;
        let began = Instant::now();
        let done = self.transact(&mut connection, action, cost).await;
        cost.database += began.elapsed();
        done
    }

    async fn transact(
        &self,
        connection: &mut Object,
        action: &Action,
        cost: &mut Cost,
    ) -> Result<Outcome, StoreError> {
        let transaction = connection
            .build_transaction()
            .isolation_level(self.isolation)
            .read_only(action.what.reads_only())
            .start()
            .await
            .map_err(|e| error(&e))?;
        let mut open = Open { transaction, statements: 0 };
        let done = perform::perform(&mut open, action).await;
        cost.statements += open.statements;
        // What is dropped without a commit is rolled back.
        let done = done?;
        open.transaction.commit().await.map_err(|e| error(&e))?;
        Ok(done)
    }

    /// Makes and fills the tables.
    async fn fill(&self, population: &Population, reset: bool) -> Result<(), StoreError> {
        let mut connection = self.connection().await?;
        let transaction = connection.transaction().await.map_err(|e| error(&e))?;
        for sql in population::TABLES {
            let sql = sql.replace("{id}", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY");
            transaction.batch_execute(&sql).await.map_err(|e| error(&e))?;
        }
        for sql in population::EMPTY.iter().filter(|_| reset) {
            transaction.batch_execute(sql).await.map_err(|e| error(&e))?;
        }
        let mut open = Open { transaction, statements: 0 };
        population::populate(&mut open, population, now_ms()).await?;
        open.transaction.commit().await.map_err(|e| error(&e))
    }

    async fn numbers(&self, sql: &str) -> Option<Vec<(String, i64)>> {
        let rows = self.watch.get().await.ok()?.query(sql, &[]).await.ok()?;
        Some(rows.iter().filter_map(|row| Some((row.try_get(0).ok()?, row.try_get(1).ok()?))).collect())
    }
}

impl Store for Postgres {
    fn prepare<'a>(
        &'a self,
        population: &'a Population,
        reset: bool,
    ) -> StoreFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.fill(population, reset).await?;
            self.connection().await?.batch_execute("ANALYZE").await.map_err(|e| error(&e))
        })
    }

    fn run(&self, action: Arc<Action>) -> StoreFuture<'_, (Result<Outcome, StoreError>, Cost)> {
        Box::pin(async move {
            let mut cost = Cost::default();
            loop {
                let done = self.attempt(&action, &mut cost).await;
                let attempts = cost.conflicts.len() as u32;
                let Err(StoreError::Conflict(kind)) = done else { return (done, cost) };
                if attempts >= RETRIES_MAX {
                    return (done, cost);
                }
                cost.conflicts.push(kind);
                // Those that were in each other's way do not meet again at once.
                let most_us = 500 << attempts.min(9);
                tokio::time::sleep(Duration::from_micros(random::bits() % most_us)).await;
            }
        })
    }

    fn audit(&self) -> StoreFuture<'_, Result<Audit, StoreError>> {
        Box::pin(async {
            let mut connection = self.connection().await?;
            let transaction = connection
                .build_transaction()
                .isolation_level(IsolationLevel::RepeatableRead)
                .read_only(true)
                .start()
                .await
                .map_err(|e| error(&e))?;
            audit::audit(&mut Open { transaction, statements: 0 }).await
        })
    }

    fn counts(&self) -> StoreFuture<'_, Vec<(String, i64)>> {
        const SQL: &str = "SELECT v.name, v.count FROM pg_stat_database d, LATERAL (VALUES \
             ('commits', d.xact_commit), ('rollbacks', d.xact_rollback), ('deadlocks', d.deadlocks), \
             ('blocks_read', d.blks_read), ('blocks_hit', d.blks_hit), ('rows_returned', d.tup_returned), \
             ('rows_fetched', d.tup_fetched), ('rows_inserted', d.tup_inserted), ('rows_updated', d.tup_updated), \
             ('rows_deleted', d.tup_deleted), ('temp_bytes', d.temp_bytes)) AS v (name, count) \
             WHERE d.datname = current_database()";
        Box::pin(async { self.numbers(SQL).await.unwrap_or_default() })
    }

    fn waits(&self) -> StoreFuture<'_, Vec<(String, i64)>> {
        const SQL: &str = "SELECT COALESCE(wait_event_type || ' ' || wait_event, 'CPU'), COUNT(*) \
             FROM pg_stat_activity WHERE state <> 'idle' AND application_name = 'pitot-trade' \
             AND pid <> pg_backend_pid() GROUP BY 1";
        Box::pin(async { self.numbers(SQL).await.unwrap_or_default() })
    }

    fn version(&self) -> StoreFuture<'_, String> {
        Box::pin(async {
            let sql = "SELECT 'PostgreSQL ' || current_setting('server_version'), 0::bigint";
            let rows = self.numbers(sql).await.unwrap_or_default();
            rows.into_iter().next().map_or_else(|| "PostgreSQL".to_owned(), |(version, _)| version)
        })
    }
}
