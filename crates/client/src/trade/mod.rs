//! The scenario of Trade, an online brokerage: users who log in, look, buy and sell, in the published mix, and who check
//! what the pages say.
//!
//! What a user does next depends on what has come before (who holds nothing cannot sell), so that a session is not a script
//! but a state machine ([`user::User`]). It knows nothing of HTTP; [`conn`] writes its requests and reads the replies.

mod conn;
mod dialect;
mod options;
mod page;
mod step;
#[cfg(test)]
mod tests;
mod user;
mod users;

use super::entry::ClientEntry;

/// The entry of the registry.
pub(super) const ENTRY: ClientEntry = ClientEntry {
    scheme: "trade",
    summary: "the brokerage Trade over HTTP/1.1: sessions of the published mix of actions, with checks of meaning",
    doc: "Users log in, and then quotes 40, home 20, portfolio 12, account 10, logout 4, buy 4, sell 4, update 4 and register \
          2 of a hundred actions, until they log out. The balance after an order, the number of holdings and what was \
          written are checked in the pages (docs/trade.md). With app=daytrader the same scenario drives DayTrader.",
    port: None,
    tls: None,
    requests_per_connection_max: None,
    url_options: options::URL_OPTIONS,
    has_statuses: true,
    has_methods: false,
    logs_in: false,
    has_commands: false,
    takes_body_files: false,
    has_sessions: false,
    example: "trade://127.0.0.1:8080",
    build: conn::build,
};
