//! The options in the query of the URL.

use std::time::Duration;

use super::dialect::{DAYTRADER, Dialect, TRADE};
use crate::entry::UrlOption;
use crate::option::{pairs, unknown};

pub(super) const URL_OPTIONS: &[UrlOption] = &[
    UrlOption { name: "app", default: "trade", meaning: "the implementation: trade or daytrader" },
    UrlOption { name: "users", default: "500", meaning: "the number of users in its database, uid:0 ..." },
    UrlOption { name: "quotes", default: "1000", meaning: "the number of quotes in its database, s:0 ..." },
    UrlOption { name: "think", default: "0", meaning: "the pause after each reply, milliseconds" },
];

#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) dialect: &'static Dialect,
    /// The path of all actions.
    pub(super) path: String,
    pub(super) users: u64,
    pub(super) quotes: u64,
    pub(super) think: Duration,
}

impl Options {
    /// Reads a path with a query: `/app?users=100&quotes=500`.
    ///
    /// # Errors
    /// An option that is unknown or invalid.
    pub(super) fn parse(path: &str) -> Result<Options, String> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut options =
            Options { dialect: &TRADE, path: String::new(), users: 500, quotes: 1000, think: Duration::ZERO };
        for pair in pairs(query, "users=100") {
            let (name, value) = pair?;
            let number = |least: u64| {
                let number = value.parse::<u64>().ok().filter(|n| (least..=1 << 32).contains(n));
                number.ok_or_else(|| {
                    format!("`{name}={value}` is not valid: {name} is a number from {least} to 2^32")
                })
            };
            match name {
                "app" => {
                    options.dialect = [&TRADE, &DAYTRADER]
                        .into_iter()
                        .find(|dialect| dialect.name == value)
                        .ok_or_else(|| format!("`{name}={value}` is not valid: app is trade or daytrader"))?;
                }
                "users" => options.users = number(1)?,
                "quotes" => options.quotes = number(1)?,
                "think" => options.think = Duration::from_millis(number(0)?),
                _ => return Err(unknown(name, URL_OPTIONS)),
            }
        }
        options.path = if matches!(path, "" | "/") { options.dialect.path } else { path }.to_owned();
        Ok(options)
    }
}
