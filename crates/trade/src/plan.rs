use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::population::Population;

/// What `pitot serve trade` is asked for.
#[derive(Clone, Debug)]
pub struct TradePlan {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where the data is.
    pub database: Database,
    /// What is put into an empty database.
    pub population: Population,
    /// Empty the database first.
    pub reset: bool,
    /// Connections to the database that are open at most.
    pub pool: usize,
    /// How transactions are kept apart.
    pub isolation: Isolation,
    /// When an order is completed.
    pub orders: Orders,
    /// Threads that run the application.
    pub threads: usize,
    /// How long requests under way may take when the server is stopped.
    pub grace: Duration,
}

/// Where the data is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Database {
    /// In a file, which is made if it is not there.
    Sqlite(PathBuf),
    /// In a file of a temporary directory, which is removed at the end.
    Temporary,
    /// In a PostgreSQL server, by its URL.
    Postgres(String),
    /// In a PostgreSQL server of its own, in a temporary directory.
    PrivatePostgres,
}

/// The isolation level of transactions (PostgreSQL documentation, chapter 13.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Each statement sees what was committed before it.
    ReadCommitted,
    /// All statements see what was committed before the first.
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
    /// In a transaction of its own, soon after. Orders that wait are in the database, and are taken up again at start.
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
