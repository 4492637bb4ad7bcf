//! The options of `pitot serve trade`.

use std::path::PathBuf;

use clap::Args;
use pitot_meter::units;

/// Its name among the protocols.
pub(crate) const NAME: &str = "trade";

/// The brokerage.
#[derive(Clone, Debug, Args)]
#[command(
    next_help_heading = "Options of trade (a brokerage on axum, tokio and a database; --workers is its number of threads; see docs/trade.md)"
)]
pub(crate) struct TradeArgs {
    /// Where the data is: sqlite:PATH, or the URL of a PostgreSQL server, postgres://user:password@host:5432/name. [default:
    /// SQLite in a temporary file]
    #[arg(long, value_name = "URL", value_parser = database, conflicts_with = "with_postgres")]
    pub(crate) database: Option<Database>,
    /// Start a PostgreSQL server in a temporary directory that is removed at the end.
    #[arg(long)]
    pub(crate) with_postgres: bool,
    /// Multiply --users and --quotes.
    #[arg(long, value_name = "FACTOR", value_parser = scale, default_value = "1")]
    pub(crate) scale: f64,
    /// Users in an empty database: uid:0 ..., with the password xxx and five holdings on average.
    #[arg(long, value_name = "N", value_parser = some, default_value = "500")]
    pub(crate) users: u64,
    /// Quotes in an empty database: s:0 ...
    #[arg(long, value_name = "N", value_parser = some, default_value = "1000")]
    pub(crate) quotes: u64,
    /// Empty the database first, and fill it again.
    #[arg(long)]
    pub(crate) reset: bool,
    /// Limit on connections to the database; with SQLite on those that read, besides one that writes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), default_value = "10")]
    pub(crate) pool: u16,
    /// Isolation of transactions: read-committed, repeatable-read or serializable. Conflicts are retried and
    /// counted. [default: read-committed, serializable with SQLite]
    #[arg(long, value_name = "LEVEL", value_parser = isolation)]
    pub(crate) isolation: Option<String>,
    /// When an order is completed: direct (in the transaction that places it) or queued (soon after, in one of its own).
    #[arg(long, value_name = "WHEN", value_parser = orders, default_value = "direct")]
    pub(crate) orders: String,
    /// Check the data for lost or doubled orders and money, print the result as JSON, and exit: 0 if all is right, 1 if
    /// not. Nothing is served.
    #[arg(long)]
    pub(crate) audit: bool,
}

/// A database that is named.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Database {
    /// The path of SQLite's file.
    Sqlite(PathBuf),
    /// The URL of a server.
    Postgres(String),
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

fn isolation(text: &str) -> Result<String, String> {
    match text {
        "read-committed" | "repeatable-read" | "serializable" => Ok(text.to_owned()),
        _ => Err("choose read-committed, repeatable-read or serializable".into()),
    }
}

fn orders(text: &str) -> Result<String, String> {
    match text {
        "direct" | "queued" => Ok(text.to_owned()),
        _ => Err("choose direct or queued".into()),
    }
}

/// A number that is not 0.
fn some(text: &str) -> Result<u64, String> {
    match units::count(text) {
        Ok(0) => Err("must be 1 or more".into()),
        Ok(count) => Ok(count),
        Err(e) => Err(e.to_string()),
    }
}

fn scale(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok().filter(|f| f.is_finite() && *f > 0.0 && *f <= 10_000.0);
    factor.ok_or_else(|| "write a factor such as 2 or 0.1, up to 10000".into())
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
