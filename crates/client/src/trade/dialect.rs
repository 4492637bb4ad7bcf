//! The implementations of Trade: their paths and their pages.

use super::page;
use super::step::Step;

#[derive(Debug)]
pub(super) struct Dialect {
    pub(super) name: &'static str,
    /// The path of its actions.
    pub(super) path: &'static str,
    /// Its pages have an account with balance, entries and holdings.
    pub(super) has_account: bool,
    /// Whether the page is the right one for a step; `user` is logged in.
    pub(super) is_right: fn(page: &[u8], step: Step, user: &str) -> bool,
    /// The first holding of a portfolio.
    pub(super) holding: fn(page: &[u8]) -> Option<i64>,
}

/// Pitot's implementation.
pub(super) static TRADE: Dialect = Dialect {
    name: "trade",
    path: "/app",
    has_account: true,
    is_right: |page, step, user| {
        let kind = match step {
            Step::Login | Step::Home | Step::Register => "home",
            Step::Quotes | Step::BuyQuotes => "quotes",
            Step::Portfolio | Step::SellPortfolio => "portfolio",
            Step::Account | Step::UpdateAccount => "account",
            Step::Logout | Step::RegisterLogout => "login",
            Step::Buy => "buy",
            Step::Sell => "sell",
            Step::Update => "update",
        };
        page::is(page, kind)
            && (kind == "login"
                || page::values(page, "user").next().is_some_and(|name| name == user.as_bytes()))
    },
    holding: |page| page::number(page, "holding"),
};

/// DayTrader, versions 7 to 10.
pub(super) static DAYTRADER: Dialect = Dialect {
    name: "daytrader",
    path: "/daytrader/app",
    has_account: false,
    is_right: |page, step, user| {
        let has = |text: &str| page::has(page, text);
        match step {
            Step::Login | Step::Home | Step::Register => has("DayTrader Home") && has(user),
            Step::Quotes | Step::BuyQuotes => has("DayTrader Quotes"),
            Step::Portfolio | Step::SellPortfolio => has("DayTrader Portfolio"),
            Step::Account | Step::UpdateAccount | Step::Update => has("DayTrader Account") && has(user),
            Step::Logout | Step::RegisterLogout => has("DayTrader Login"),
            Step::Buy | Step::Sell => has("has been submitted"),
        }
    },
    holding: |page| {
        const MARK: &[u8] = b"holdingID=";
        let rest = &page[memchr::memmem::find(page, MARK)? + MARK.len()..];
        let end = rest.iter().position(|b| !b.is_ascii_digit())?;
        std::str::from_utf8(&rest[..end]).ok()?.parse().ok()
    },
};
