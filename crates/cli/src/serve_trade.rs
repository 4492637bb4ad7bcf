//! `pitot serve trade`: an online brokerage with pages, sessions and a database.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pitot_meter::units;
use pitot_results::Failure;
use pitot_sys::user::User;
use pitot_trade::population::Population;
use pitot_trade::{Database, Isolation, Orders, TradePlan};

use crate::output::print_line;

/// Its name among the protocols.
pub(crate) const NAME: &str = "trade";
/// Default number of threads.
const THREADS: usize = 2;

/// The brokerage.
#[derive(Clone, Debug, Args)]
#[command(
    next_help_heading = "Options of trade (a brokerage on axum, tokio and a database; --workers is its number of threads; see docs/trade.md)"
)]
pub(crate) struct TradeArgs {
    /// Where the data is: sqlite:PATH, or the URL of a PostgreSQL server, postgres://user:password@host:5432/name. [default:
    /// SQLite in a temporary file]
    #[arg(long, value_name = "URL", value_parser = database, conflicts_with = "with_postgres")]
    database: Option<Database>,
    /// Start a PostgreSQL server of its own, in a temporary directory that is removed at the end.
    #[arg(long)]
    with_postgres: bool,
    /// Multiply --users and --quotes.
    #[arg(long, value_name = "FACTOR", value_parser = scale, default_value = "1")]
    scale: f64,
    /// Users in an empty database: uid:0 ..., with the password xxx and five holdings on average.
    #[arg(long, value_name = "N", value_parser = some, default_value = "500")]
    users: u64,
    /// Quotes in an empty database: s:0 ...
    #[arg(long, value_name = "N", value_parser = some, default_value = "1000")]
    quotes: u64,
    /// Empty the database first, and fill it again.
    #[arg(long)]
    reset: bool,
    /// Connections to the database that are open at most; with SQLite those that read, beside one that writes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), default_value = "10")]
    pool: u16,
    /// Isolation of transactions: read-committed, repeatable-read or serializable. What fails for that is tried again and
    /// counted. [default: read-committed, serializable with SQLite]
    #[arg(long, value_name = "LEVEL", value_parser = isolation)]
    isolation: Option<Isolation>,
    /// When an order is completed: direct (in the transaction that places it) or queued (soon after, in one of its own).
    #[arg(long, value_name = "WHEN", value_parser = orders, default_value = "direct")]
    orders: Orders,
    /// Check the data for lost or doubled orders and money, print what is found as JSON, and exit: 0 if all is right, 1 if
    /// not. Nothing is served.
    #[arg(long)]
    audit: bool,
}

fn database(text: &str) -> Result<Database, String> {
    match text.split_once(':') {
        Some(("sqlite", path)) => {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() {
                Err("sqlite: needs a path".into())
            } else {
                Ok(Database::Sqlite(PathBuf::from(path)))
            }
        }
        Some(("postgres" | "postgresql", _)) => Ok(Database::Postgres(text.to_owned())),
        _ => Err("write sqlite:PATH or postgres://user:password@host:5432/name".into()),
    }
}

fn isolation(text: &str) -> Result<Isolation, String> {
    let found = Isolation::ALL.into_iter().find(|(name, _)| *name == text);
    found
        .map(|(_, level)| level)
        .ok_or_else(|| "choose read-committed, repeatable-read or serializable".into())
}

fn orders(text: &str) -> Result<Orders, String> {
    [Orders::Direct, Orders::Queued]
        .into_iter()
        .find(|orders| orders.name() == text)
        .ok_or_else(|| "choose direct or queued".into())
}

/// A number that is not 0.
fn some(text: &str) -> Result<u64, String> {
    match units::count(text) {
        Ok(0) => Err("there has to be one".into()),
        Ok(count) => Ok(count),
        Err(e) => Err(e.to_string()),
    }
}

fn scale(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok().filter(|f| f.is_finite() && *f > 0.0 && *f <= 10_000.0);
    factor.ok_or_else(|| "write a factor such as 2 or 0.1, up to 10000".into())
}

impl TradeArgs {
    /// Serves until SIGINT or SIGTERM.
    pub(crate) fn run(
        self,
        listen: SocketAddr,
        threads: Option<usize>,
        grace: Duration,
        stats: bool,
        user: Option<User>,
    ) -> Result<ExitCode, Failure> {
        let database = match (self.database, self.with_postgres) {
            (Some(database), _) => database,
            (None, true) => Database::PrivatePostgres,
            (None, false) => Database::Temporary,
        };
        let level = match database {
            Database::Sqlite(_) | Database::Temporary => Isolation::Serializable,
            Database::Postgres(_) | Database::PrivatePostgres => Isolation::ReadCommitted,
        };
        if self.audit && matches!(database, Database::Temporary | Database::PrivatePostgres) {
            return Err(Failure::misuse(
                "--audit is about data that is there, and no --database is named",
                "name it: --database sqlite:PATH or postgres://...; a server that runs has /audit",
            ));
        }
        let scaled = |n: u64| ((n as f64 * self.scale).round() as u64).max(1);
        let plan = TradePlan {
            listen,
            database,
            population: Population { users: scaled(self.users), quotes: scaled(self.quotes) },
            reset: self.reset,
            pool: usize::from(self.pool),
            isolation: self.isolation.unwrap_or(level),
            orders: self.orders,
            threads: threads.unwrap_or(THREADS).max(1),
            grace,
        };
        if self.audit {
            crate::user::become_user(user)?;
            let audit = pitot_trade::audit_of(&plan)?;
            // stdout may be closed; the exit code says it too.
            print_line(audit.json());
            return Ok(if audit.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        let become_user = || crate::user::become_user(user);
        let summary = pitot_trade::run(&plan, become_user, |addr| {
            // stdout may be closed; the server runs all the same.
            print_line(format_args!("ready {addr}"));
        })?;
        if stats {
            print_line(summary.json);
        }
        match summary.audit {
            Ok(audit) if audit.holds() => Ok(ExitCode::SUCCESS),
            Ok(audit) => {
                let (what, count) = audit.wrong[0];
                Err(Failure::run(
                    format!("the audit at the end found something wrong: {count} {what}"),
                    "look into the database: pitot serve trade --audit --database ...",
                ))
            }
            Err(why) => Err(Failure::run(
                format!("the audit at the end could not be made: {why}"),
                "nothing is known of the orders; once the database is there: pitot serve trade --audit --database ...",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_a_file_or_a_server() {
        assert_eq!(database("sqlite:/tmp/x.db"), Ok(Database::Sqlite("/tmp/x.db".into())));
        assert_eq!(database("sqlite:///tmp/x.db"), Ok(Database::Sqlite("/tmp/x.db".into())));
        assert!(matches!(database("postgres://h/x"), Ok(Database::Postgres(_))));
        assert!(database("mysql://h/x").is_err() && database("sqlite:").is_err() && database("x").is_err());
    }
}
