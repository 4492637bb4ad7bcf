//! The scenario of Trade, an online brokerage: users log in, look, buy and sell in the published mix, and check the pages.
//!
//! The next action of a user depends on earlier replies (without holdings nothing can be sold), so a session is a state machine
//! ([`user::User`]) and not a script. It is independent of HTTP; [`conn`] writes its requests and reads the replies.

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

pub(super) const ENTRY: ClientEntry = ClientEntry {
    scheme: "trade",
    summary: "the brokerage Trade over HTTP/1.1: sessions of the published mix of actions, with checked results",
    doc: "Users log in, act, and log out. Of a hundred actions, 40 are quotes, 20 home, 12 portfolio, 10 account, 4 \
          logout, 4 buy, 4 sell, 4 update and 2 register. The pages are checked for the balance after an order, the \
          number of holdings and what was written (docs/trade.md). app=daytrader runs the same scenario on DayTrader.",
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
