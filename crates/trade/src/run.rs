//! The life of the server: the database, the socket, the signals, the end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pitot_results::{Failure, stderr};
use pitot_sys::signal::{Signal, SignalFd};
use pitot_sys::usage;
use serde_json::{Value as Json, json};
use tokio::net::TcpSocket;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, watch};

use crate::audit::Audit;
use crate::cluster::{Cluster, Guardian};
use crate::plan::{Database, Isolation, Orders, TradePlan};
use crate::population::Population;
use crate::queue;
use crate::stats::Stats;
use crate::store::{Postgres, Sqlite, Store};
use crate::transaction::StoreError;
use crate::web::{self, App};

/// The interval between two checks of a private cluster and of waiting connections.
const LOOK: Duration = Duration::from_millis(50);
/// The interval between two checks whether the tables are filled.
const FILL_LOOK: Duration = Duration::from_millis(2);
/// The timeout of the final audit with the published population; proportional for larger ones.
const AUDIT_TIMEOUT: Duration = Duration::from_secs(60);
/// How long it is tried again because the database is not there: one that crashed needs a while until it is.
const AUDIT_LOST: Duration = Duration::from_secs(10);
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// What a server did.
#[derive(Debug)]
pub struct Summary {
    /// All figures, as one JSON object.
    pub json: Json,
    /// The audit of the tables at the end, or why it failed.
    pub audit: Result<Audit, String>,
}

/// Serves until SIGINT, SIGTERM or SIGHUP. Calls `bound` once the address is bound, before anything else is opened or started:
/// privileges can be dropped there. Calls `ready` with the address once requests are answered.
///
/// It must be called while the process has one thread, if the plan needs a private cluster or a temporary file.
///
/// # Errors
/// An unusable database or address; the error of `bound`.
pub fn run(
    plan: &TradePlan,
    bound: impl FnOnce() -> Result<(), Failure>,
    ready: impl FnOnce(SocketAddr),
) -> Result<Summary, Failure> {
    let socket = bind(plan.listen).map_err(|e| cannot_listen(plan.listen, &e))?;
    bound()?;
    let guardian = match plan.database {
        Database::Temporary | Database::PrivatePostgres => Some(Guardian::start().map_err(|e| {
            Failure::run(
                format!("cannot create a private directory: {e}"),
                "set TMPDIR to a writable directory",
            )
        })?),
        _ => None,
    };
    // Threads inherit the signal mask, so signals are delivered to this one.
    let signals = SignalFd::new(&Signal::that_end())
        .map_err(|e| Failure::run(format!("cannot wait for signals: {e}"), "raise ulimit -n"))?;
    let (store, mut cluster, _guardian): (Arc<dyn Store>, _, _) = match (&plan.database, guardian) {
        (Database::PrivatePostgres, Some(guardian)) => {
            let cluster = Cluster::start(guardian, plan.pool)?;
            (postgres(&cluster.url(), plan)?, Some(cluster), None)
        }
        (Database::Postgres(url), _) => (postgres(url, plan)?, None, None),
        (Database::Sqlite(path), _) => (sqlite(path, plan)?, None, None),
        (_, Some(guardian)) => (sqlite(&guardian.dir().join("trade.db"), plan)?, None, Some(guardian)),
        (_, None) => return Err(Failure::run("no private directory", "name one with --database")),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(plan.threads.max(1))
        .enable_all()
        .build()
        .map_err(|e| Failure::run(format!("cannot start threads: {e}"), "raise ulimit -u"))?;
    let served = serve(plan, socket, &store, cluster.as_mut(), &signals, &runtime, ready);
    // Statements that hang do not keep the process.
    runtime.shutdown_timeout(Duration::from_secs(1));
    drop(store);
    if let Some(cluster) = cluster {
        cluster.stop();
    }
    served
}

/// Binds the address. Clients cannot connect before the tables are filled.
fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

fn cannot_listen(address: SocketAddr, e: &io::Error) -> Failure {
    Failure::misuse(
        format!("cannot listen on {address}: {e}"),
        "choose another --listen; a port below 1024 needs privileges",
    )
}

/// Recomputes everything from the tables of a database, without serving anything.
///
/// # Errors
/// The database cannot be used, or has no such tables.
pub fn audit_of(plan: &TradePlan) -> Result<Audit, Failure> {
    let store = match &plan.database {
        Database::Sqlite(path) if !path.exists() => {
            return Err(Failure::misuse(
                format!("{} does not exist", path.display()),
                "name the file that the server wrote",
            ));
        }
        Database::Sqlite(path) => sqlite(path, plan)?,
        Database::Postgres(url) => postgres(url, plan)?,
        Database::Temporary | Database::PrivatePostgres => {
            return Err(Failure::misuse("no database to audit", "name it with --database"));
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|e| Failure::run(format!("cannot start threads: {e}"), "raise ulimit -u"))?;
    runtime.block_on(store.audit()).map_err(|e| {
        Failure::misuse(
            format!("cannot audit the database: {e}"),
            "check that the database server runs and that `pitot serve trade` has created its tables",
        )
    })
}

fn postgres(url: &str, plan: &TradePlan) -> Result<Arc<dyn Store>, Failure> {
    let store = Postgres::new(url, plan.pool, plan.isolation).map_err(|e| {
        Failure::misuse(
            format!("invalid database URL: {e}"),
            "write it like postgres://user:password@host:5432/name",
        )
    })?;
    Ok(Arc::new(store))
}

fn sqlite(path: &std::path::Path, plan: &TradePlan) -> Result<Arc<dyn Store>, Failure> {
    if plan.isolation != Isolation::Serializable {
        return Err(Failure::misuse(
            "SQLite has one isolation level, serializable",
            "remove --isolation, or use --with-postgres",
        ));
    }
    let store = Sqlite::open(path, plan.pool).map_err(|e| {
        Failure::misuse(
            format!("cannot use {} as a database: {e}", path.display()),
            "name a writable SQLite database, or a file that does not exist yet",
        )
    })?;
    Ok(Arc::new(store))
}

/// Creates and fills the tables, which takes long with a large `--scale`, unless a signal comes first.
fn prepare(
    plan: &TradePlan,
    store: &Arc<dyn Store>,
    signals: &SignalFd,
    runtime: &Runtime,
) -> Result<(), Failure> {
    let (of, population, reset) = (Arc::clone(store), plan.population, plan.reset);
    let filling = runtime.spawn(async move { of.prepare(&population, reset).await });
    while !filling.is_finished() {
        if signals.wait(Some(FILL_LOOK)).is_some() {
            return Err(Failure::run(
                "stopped while filling the database",
                "start again to fill it; nothing was kept",
            ));
        }
    }
    let lost = |e: tokio::task::JoinError| Err(StoreError::Other(e.to_string()));
    runtime.block_on(filling).unwrap_or_else(lost).map_err(|e| unprepared(&e))
}

fn unprepared(e: &StoreError) -> Failure {
    Failure::misuse(
        format!("cannot prepare the database: {e}"),
        "check that the database server runs and that this user may create tables, or use --with-postgres to start one",
    )
}

fn serve(
    plan: &TradePlan,
    socket: TcpSocket,
    store: &Arc<dyn Store>,
    mut cluster: Option<&mut Cluster>,
    signals: &SignalFd,
    runtime: &Runtime,
    ready: impl FnOnce(SocketAddr),
) -> Result<Summary, Failure> {
    prepare(plan, store, signals, runtime)?;
    let version = runtime.block_on(store.version());
    let stats = Arc::new(Stats::default());
    let placed = Arc::new(Notify::new());
    let app = Arc::new(App::new(plan, Arc::clone(store), Arc::clone(&stats), Arc::clone(&placed)));
    let listener = runtime.block_on(async { socket.listen(BACKLOG) });
    let listener = listener.map_err(|e| cannot_listen(plan.listen, &e))?;
    let address = listener.local_addr().map_err(|e| cannot_listen(plan.listen, &e))?;
    let queue = (plan.orders == Orders::Queued
        || runtime.block_on(queue::drain(store, &stats)).is_none_or(|n| n > 0))
    .then(|| runtime.spawn(queue::work(Arc::clone(store), Arc::clone(&stats), placed)));
    let (stop, stopped) = watch::channel(false);
    let server = runtime.spawn(web::serve(listener, app, stopped));
    let counts_before = runtime.block_on(store.counts());
    let used_before = usage::of_this_process();
    let database_cpu_before = cluster.as_mut().map(|cluster| cluster.cpu_time());
    let began = Instant::now();
    ready(address);

    let mut failed = None;
    while signals.wait(Some(LOOK)).is_none() {
        runtime.block_on(async {
            if let Ok(waits) = tokio::time::timeout(LOOK, store.waits()).await {
                stats.waits(waits);
            }
        });
        if let Some(cluster) = &mut cluster {
            match cluster.revive() {
                Ok(false) => {}
                Ok(true) => {
                    stderr::line(format_args!("pitot: PostgreSQL ended unexpectedly and was restarted"));
                }
                Err(e) => {
                    failed = Some(e);
                    break;
                }
            }
        }
    }
    let duration = began.elapsed();
    let used = usage::of_this_process();
    let database_cpu = cluster
        .as_mut()
        .zip(database_cpu_before)
        .map(|(cluster, before)| cluster.cpu_time().saturating_sub(before));
    let _ = stop.send(true);
    let forced = runtime.block_on(async { tokio::time::timeout(plan.grace, server).await.is_err() });
    if let Some(queue) = queue {
        queue.abort();
    }
    if let Some(e) = failed {
        return Err(e);
    }
    let audit = runtime.block_on(audit_at_end(store, plan.population.users));
    let counts = runtime.block_on(store.counts());
    let delta: serde_json::Map<String, Json> = counts
        .into_iter()
        .map(|(name, after)| {
            let before = counts_before.iter().find(|(n, _)| *n == name).map_or(0, |(_, n)| *n);
            // PostgreSQL resets its statistics after a crash (PostgreSQL documentation, 28.2.1).
            (name, json!(if after < before { after } else { after - before }))
        })
        .collect();
    let cpu = |of: fn(&usage::Usage) -> Duration| (of(&used).saturating_sub(of(&used_before))).as_secs_f64();
    let mut json = json!({
        "schema": "pitot-trade/1", "version": env!("CARGO_PKG_VERSION"), "protocol": "trade",
        "database": version, "isolation": plan.isolation.name(), "orders": plan.orders.name(),
        "pool": plan.pool, "threads": plan.threads, "users": plan.population.users, "quotes": plan.population.quotes,
        "duration_s": duration.as_secs_f64(), "requests": stats.requests(), "forced": forced,
        "cpu_user_s": cpu(|u| u.cpu_user), "cpu_system_s": cpu(|u| u.cpu_system),
        "database_cpu_s": database_cpu.map(|t| t.as_secs_f64()),
        "database_restarts": cluster.as_ref().map(|cluster| cluster.restarts),
        "database_counts": delta, "audit": audit.as_ref().ok().map(Audit::json),
    });
    if let (Json::Object(all), Json::Object(of)) = (&mut json, stats.json()) {
        all.extend(of);
    }
    Ok(Summary { json, audit })
}

/// The audit at the end; a database that is not there is waited for.
async fn audit_at_end(store: &Arc<dyn Store>, users: u64) -> Result<Audit, String> {
    let began = Instant::now();
    let ask = async {
        loop {
            match store.audit().await {
                Err(StoreError::Lost(_) | StoreError::Conflict(_)) if began.elapsed() < AUDIT_LOST => {
                    tokio::time::sleep(LOOK).await;
                }
                answer => return answer.map_err(|e| e.to_string()),
            }
        }
    };
    let limit = audit_timeout(users);
    let late = || Err(format!("timeout after {} s", limit.as_secs()));
    tokio::time::timeout(limit, ask).await.unwrap_or_else(|_| late())
}

fn audit_timeout(users: u64) -> Duration {
    AUDIT_TIMEOUT.mul_f64((users as f64 / Population::default().users as f64).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audit_of_more_users_may_take_longer() {
        assert_eq!(audit_timeout(1), AUDIT_TIMEOUT);
        assert_eq!(audit_timeout(5000), AUDIT_TIMEOUT * 10);
    }
}
