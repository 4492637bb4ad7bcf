//! The options in the query of the URL.

use std::time::Duration;

use super::dialect::{DAYTRADER, Dialect, TRADE};
use crate::entry::UrlOption;

/// All of them.
pub(super) const URL_OPTIONS: &[UrlOption] = &[
    UrlOption { name: "app", default: "trade", meaning: "which implementation it is: trade or daytrader" },
    UrlOption { name: "users", default: "500", meaning: "the users of its database, uid:0 ..." },
    UrlOption { name: "quotes", default: "1000", meaning: "the quotes of its database, s:0 ..." },
    UrlOption { name: "think", default: "0", meaning: "the pause after each reply, milliseconds" },
];

/// The options, checked.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) dialect: &'static Dialect,
    /// What stands before the query of an action.
    pub(super) path: String,
    pub(super) users: u64,
    pub(super) quotes: u64,
    pub(super) think: Duration,
}

impl Options {
    /// Reads a path with a query: `/app?users=100&quotes=500`.
    ///
    /// # Errors
    /// One line on what is not understood.
    pub(super) fn parse(path: &str) -> Result<Options, String> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut options =
            Options { dialect: &TRADE, path: String::new(), users: 500, quotes: 1000, think: Duration::ZERO };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let number = |least: u64| {
                let number = value.parse::<u64>().ok().filter(|n| (least..=1 << 32).contains(n));
                number.ok_or_else(|| format!("`{pair}` in the URL is no number from {least} on"))
            };
            match name {
                "app" => {
                    options.dialect = [&TRADE, &DAYTRADER]
                        .into_iter()
                        .find(|dialect| dialect.name == value)
                        .ok_or_else(|| format!("`{pair}` in the URL: app is trade or daytrader"))?;
                }
                "users" => options.users = number(1)?,
                "quotes" => options.quotes = number(1)?,
                "think" => options.think = Duration::from_millis(number(0)?),
                _ => {
                    return Err(format!(
                        "`{name}` in the URL is no option: there are app, users, quotes and think"
                    ));
                }
            }
        }
        options.path = if matches!(path, "" | "/") { options.dialect.path } else { path }.to_owned();
        Ok(options)
    }
}
