use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::population::Population;

/// The options of `pitot serve trade`.
#[derive(Clone, Debug)]
pub struct TradePlan {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where the data is.
    pub database: Database,
    /// The initial content of an empty database.
    pub population: Population,
    /// Empty the database first.
    pub reset: bool,
    /// The most connections to the database.
    pub pool: usize,
    /// How transactions are kept apart.
    pub isolation: Isolation,
    /// When an order is completed.
    pub orders: Orders,
    /// Threads that run the application.
    pub threads: usize,
    /// How long requests in progress may take when the server is stopped.
    pub grace: Duration,
}

/// Where the data is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Database {
    /// In a file, which is created if it does not exist.
    Sqlite(PathBuf),
    /// In a file of a temporary directory, which is removed at the end.
    Temporary,
    /// In a PostgreSQL server, by its URL.
    Postgres(String),
    /// In a private PostgreSQL server, in a temporary directory.
    PrivatePostgres,
}

/// The isolation level of transactions (PostgreSQL documentation, chapter 13.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Each statement sees everything committed before it.
    ReadCommitted,
    /// All statements see everything committed before the first.
    RepeatableRead,
    /// As if transactions ran one after the other.
    Serializable,
}

impl Isolation {
    /// All of them, with their names.
    pub const ALL: [(&'static str, Isolation); 3] = [
        ("read-committed", Isolation::ReadCommitted),
        ("repeatable-read", Isolation::RepeatableRead),
        ("serializable", Isolation::Serializable),
    ];

    /// The name in options and results.
    pub fn name(self) -> &'static str {
        Isolation::ALL.iter().find(|(_, isolation)| *isolation == self).map_or("", |(name, _)| name)
    }
}

/// When an order is completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orders {
    /// In the transaction that places it.
    Direct,
    /// In a separate transaction, soon after. Waiting orders are in the database, and continue at the next start.
    Queued,
}

impl Orders {
    /// The name in options and results.
    pub fn name(self) -> &'static str {
        match self {
            Orders::Direct => "direct",
            Orders::Queued => "queued",
        }
    }
}
