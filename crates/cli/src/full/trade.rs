//! `pitot serve trade`: an online brokerage with pages, sessions and a database.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use pitot_results::Failure;
use pitot_sys::user::User;
use pitot_trade::population::Population;
use pitot_trade::{Database, Isolation, Orders, TradePlan};

use crate::output::print_line;
use crate::serve_trade::{Database as Named, TradeArgs};

/// Default number of threads.
const THREADS: usize = 2;

/// The level of that name.
fn isolation(word: &str) -> Option<Isolation> {
    Isolation::ALL.into_iter().find(|(name, _)| *name == word).map(|(_, level)| level)
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
            (Some(Named::Sqlite(path)), _) => Database::Sqlite(path),
            (Some(Named::Postgres(url)), _) => Database::Postgres(url),
            (None, true) => Database::PrivatePostgres,
            (None, false) => Database::Temporary,
        };
        let level = match database {
            Database::Sqlite(_) | Database::Temporary => Isolation::Serializable,
            Database::Postgres(_) | Database::PrivatePostgres => Isolation::ReadCommitted,
        };
        if self.audit && matches!(database, Database::Temporary | Database::PrivatePostgres) {
            return Err(Failure::misuse(
                "--audit checks existing data, and no --database is named",
                "add --database sqlite:PATH or postgres://...; a running server has /audit",
            ));
        }
        let scaled = |n: u64| ((n as f64 * self.scale).round() as u64).max(1);
        let plan = TradePlan {
            listen,
            database,
            population: Population { users: scaled(self.users), quotes: scaled(self.quotes) },
            reset: self.reset,
            pool: usize::from(self.pool),
            isolation: self.isolation.map_or(level, |word| isolation(&word).unwrap_or(level)),
            orders: if self.orders == Orders::Queued.name() { Orders::Queued } else { Orders::Direct },
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
                    format!("the audit at the end found errors: {count} {what}"),
                    "see which: pitot serve trade --audit --database ...",
                ))
            }
            Err(why) => Err(Failure::run(
                format!("the audit at the end failed: {why}"),
                "the orders are unchecked; once the database is up: pitot serve trade --audit --database ...",
            )),
        }
    }
}
