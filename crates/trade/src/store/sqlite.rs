//! SQLite: a file with a write-ahead log, one connection for writing and several for reading.
//!
//! Statements are executed in place, on a thread for blocking work, so a transaction is a future that never waits. A commit is
//! synced to the disk (`synchronous = FULL`), as by default in PostgreSQL.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, ToSql};
use tokio::sync::Semaphore;

use super::contract::{Cost, RETRIES_MAX, Store, StoreFuture, now_ms};
use crate::action::{Action, Outcome};
use crate::audit::{self, Audit};
use crate::perform;
use crate::population::{self, Population};
use crate::transaction::{Row, StoreError, Transaction, Value};

/// How long to wait for another process that locks the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A file.
#[derive(Debug)]
pub struct Sqlite {
    path: PathBuf,
    writer: Arc<Pool>,
    readers: Arc<Pool>,
}

#[derive(Debug)]
struct Pool {
    free: Mutex<Vec<Connection>>,
    permits: Semaphore,
}

impl Pool {
    fn new(connections: Vec<Connection>) -> Arc<Pool> {
        Arc::new(Pool { permits: Semaphore::new(connections.len()), free: Mutex::new(connections) })
    }

    fn take(&self) -> Option<Connection> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn give(&self, connection: Connection) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

struct Open<'a> {
    connection: &'a mut Connection,
    statements: u64,
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Int(int) => ToSqlOutput::Borrowed(ValueRef::Integer(*int)),
            Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

impl Transaction for Open<'_> {
    fn rows(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> + Send {
        self.statements += 1;
        std::future::ready(rows(self.connection, sql, values).map_err(error))
    }
}

fn rows(connection: &Connection, sql: &str, values: &[Value]) -> rusqlite::Result<Vec<Row>> {
    let mut statement = connection.prepare_cached(sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query(rusqlite::params_from_iter(values))?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let value = |column| {
            Ok(match row.get_ref(column)? {
                ValueRef::Integer(int) => Value::Int(int),
                ValueRef::Real(real) => Value::Int(real as i64),
                ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Null | ValueRef::Blob(_) => Value::Null,
            })
        };
        all.push(Row((0..columns).map(value).collect::<rusqlite::Result<_>>()?));
    }
    Ok(all)
}

fn error(e: rusqlite::Error) -> StoreError {
    match e.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Conflict("busy"),
        Some(ErrorCode::CannotOpen | ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => {
            StoreError::Lost(e.to_string())
        }
        _ => StoreError::Other(e.to_string()),
    }
}

/// Runs a future that never waits.
fn at_once<T>(future: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(StoreError::Other("a statement of SQLite was pending".into())),
    }
}

/// Runs a transaction; it is rolled back unless it is right to the end.
fn transact<T>(
    connection: &mut Connection,
    begin: &str,
    work: impl FnOnce(&mut Open<'_>) -> Result<T, StoreError>,
) -> (Result<T, StoreError>, u64) {
    if let Err(e) = connection.execute_batch(begin) {
        return (Err(error(e)), 0);
    }
    let mut open = Open { connection, statements: 0 };
    let done = work(&mut open);
    let Open { connection, statements } = open;
    let ended = match done {
        Ok(done) => connection.execute_batch("COMMIT").map(|()| done).map_err(error),
        Err(e) => Err(e),
    };
    if ended.is_err() && !connection.is_autocommit() {
        // It fails only where there is nothing left to roll back.
        let _ = connection.execute_batch("ROLLBACK");
    }
    (ended, statements)
}

impl Sqlite {
    /// Opens a file, which is created if it does not exist, with `readers` connections for reading.
    ///
    /// # Errors
    /// One line, if it cannot be opened or is not a database.
    pub fn open(path: &Path, readers: usize) -> Result<Sqlite, String> {
        let connect = || -> rusqlite::Result<Connection> {
            let connection = Connection::open(path)?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.set_prepared_statement_cache_capacity(100);
            Ok(connection)
        };
        let several = |n: usize| (0..n.max(1)).map(|_| connect()).collect::<rusqlite::Result<Vec<_>>>();
        Ok(Sqlite {
            path: path.into(),
            writer: Pool::new(several(1).map_err(|e| e.to_string())?),
            readers: Pool::new(several(readers).map_err(|e| e.to_string())?),
        })
    }

    /// Runs work on a connection of a pool, on a thread for blocking work. Returns how long it waited for that, too.
    async fn on<T: Send + 'static>(
        pool: &Arc<Pool>,
        work: impl FnOnce(&mut Connection) -> T + Send + 'static,
    ) -> (Result<T, StoreError>, Duration) {
        let asked = Instant::now();
        let lost = || StoreError::Lost("its connections are closed".into());
        let Ok(permit) = pool.permits.acquire().await else { return (Err(lost()), asked.elapsed()) };
        let of = Arc::clone(pool);
        let waited = asked.elapsed();
        let done = tokio::task::spawn_blocking(move || {
            let mut connection = of.take()?;
            let done = work(&mut connection);
            of.give(connection);
            Some(done)
        })
        .await;
        drop(permit);
        (done.ok().flatten().ok_or_else(lost), waited)
    }
}

impl Store for Sqlite {
    fn prepare<'a>(
        &'a self,
        population: &'a Population,
        reset: bool,
    ) -> StoreFuture<'a, Result<(), StoreError>> {
        let population = *population;
        Box::pin(async move {
            let work = move |connection: &mut Connection| {
                let (done, _) = transact(connection, "BEGIN IMMEDIATE", |tx| {
                    for sql in population::TABLES {
                        let sql = sql.replace("{id}", "INTEGER PRIMARY KEY AUTOINCREMENT");
                        tx.connection.execute_batch(&sql).map_err(error)?;
                    }
                    for sql in population::EMPTY.iter().filter(|_| reset) {
                        tx.connection.execute_batch(sql).map_err(error)?;
                    }
                    at_once(population::populate(tx, &population, now_ms())).map(drop)
                });
                done
            };
            Sqlite::on(&self.writer, work).await.0?
        })
    }

    fn run(&self, action: Arc<Action>) -> StoreFuture<'_, (Result<Outcome, StoreError>, Cost)> {
        Box::pin(async move {
            let (pool, begin) = if action.what.reads_only() {
                (&self.readers, "BEGIN DEFERRED")
            } else {
                (&self.writer, "BEGIN IMMEDIATE")
            };
            let work = move |connection: &mut Connection| {
                let mut cost = Cost::default();
                let began = Instant::now();
                loop {
                    let (done, statements) =
                        transact(connection, begin, |tx| at_once(perform::perform(tx, &action)));
                    cost.statements += statements;
                    if let Err(StoreError::Conflict(kind)) = done
                        && (cost.conflicts.len() as u32) < RETRIES_MAX
                    {
                        cost.conflicts.push(kind);
                        continue;
                    }
                    cost.database = began.elapsed();
                    return (done, cost);
                }
            };
            match Sqlite::on(pool, work).await {
                (Ok((done, cost)), wait) => (done, Cost { wait, ..cost }),
                (Err(e), wait) => (Err(e), Cost { wait, ..Cost::default() }),
            }
        })
    }

    fn audit(&self) -> StoreFuture<'_, Result<Audit, StoreError>> {
        Box::pin(async {
            let work = |connection: &mut Connection| {
                transact(connection, "BEGIN DEFERRED", |tx| at_once(audit::audit(tx))).0
            };
            Sqlite::on(&self.readers, work).await.0?
        })
    }

    fn counts(&self) -> StoreFuture<'_, Vec<(String, i64)>> {
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |meta| meta.len() as i64);
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        let counts =
            vec![("file_bytes".into(), length(&self.path)), ("wal_bytes".into(), length(Path::new(&log)))];
        Box::pin(std::future::ready(counts))
    }

    fn waits(&self) -> StoreFuture<'_, Vec<(String, i64)>> {
        let busy = |pool: &Pool, n: usize| (n - pool.permits.available_permits().min(n)) as i64;
        let waits = match busy(&self.writer, 1) {
            0 => Vec::new(),
            n => vec![("writer in use".to_owned(), n)],
        };
        Box::pin(std::future::ready(waits))
    }

    fn version(&self) -> StoreFuture<'_, String> {
        Box::pin(std::future::ready(format!("SQLite {}", rusqlite::version())))
    }
}
