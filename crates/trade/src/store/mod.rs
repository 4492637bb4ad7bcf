//! Where the data is: SQLite or PostgreSQL.

mod contract;
mod postgres;
mod sqlite;

pub(crate) use contract::now_ms;
pub use contract::{Cost, Store, StoreFuture};
pub use postgres::Postgres;
pub use sqlite::Sqlite;
