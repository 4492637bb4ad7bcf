//! The options in the query of a `postgres://` URL.

use crate::entry::UrlOption;
use crate::option::{pairs, unknown};
use crate::url::percent_decoded;

/// The most parameters of a query (`Bind` counts them in 16 bits).
const PARAMETERS_MAX: usize = 1000;

pub(super) const URL_OPTIONS: &[UrlOption] = &[
    UrlOption { name: "query", default: "SELECT+1", meaning: "the query; + is a space, %2B a plus" },
    UrlOption {
        name: "protocol",
        default: "simple",
        meaning: "simple, extended (parsed each time) or prepared (parsed once per connection)",
    },
    UrlOption {
        name: "param",
        default: "",
        meaning: "the range of $1, drawn for each query: 1-100000; repeat it for $2",
    },
    UrlOption {
        name: "rows",
        default: "",
        meaning: "the number of rows of a right reply; any number if absent",
    },
    UrlOption {
        name: "value",
        default: "",
        meaning: "the first column of each row of a right reply, as text",
    },
    UrlOption {
        name: "sslmode",
        default: "disable",
        meaning: "disable (no TLS), require (any certificate, unless --tls-ca is given) or verify-full",
    },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Each as a message `Query`.
    Simple,
    /// Each as `Parse`, `Bind`, `Describe`, `Execute` and `Sync`.
    Extended,
    /// Parsed when the connection is opened; then as `Bind`, `Describe`, `Execute` and `Sync`.
    Prepared,
}

/// As libpq's `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SslMode {
    /// Without TLS.
    Disable,
    /// With any certificate of the server.
    Require,
    /// With a certificate for the host from a trusted authority.
    VerifyFull,
}

/// The range of a parameter, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: i64,
    pub(super) last: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Options {
    pub(super) database: Option<String>,
    pub(super) query: Option<String>,
    pub(super) protocol: Protocol,
    pub(super) parameters: Vec<Range>,
    pub(super) rows: Option<u64>,
    pub(super) value: Option<String>,
    pub(super) sslmode: SslMode,
}

impl Options {
    /// Reads a path with a query: `/bench?query=SELECT+1&protocol=prepared`.
    ///
    /// # Errors
    /// An option that is unknown or invalid.
    pub(super) fn parse(path: &str) -> Result<Options, String> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let database = decoded(path.strip_prefix('/').unwrap_or(path))?;
        if database.contains('/') {
            return Err(format!("`{database}` is not a database: write postgres://HOST/DATABASE?query=..."));
        }
        let mut options = Options {
            database: Some(database).filter(|name| !name.is_empty()),
            query: None,
            protocol: Protocol::Simple,
            parameters: Vec::new(),
            rows: None,
            value: None,
            sslmode: SslMode::Disable,
        };
        for pair in pairs(query, "query=SELECT+1") {
            let (name, value) = pair?;
            options.set(name, value)?;
        }
        Ok(options)
    }

    /// What all queries of a connection share.
    pub(super) fn connection(&self) -> (Option<&str>, Protocol, SslMode) {
        (self.database.as_deref(), self.protocol, self.sslmode)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let wrong = |wanted: &str| format!("`{name}={value}` is not valid: {name} is {wanted}");
        let blanks = || decoded(&value.replace('+', " "));
        match name {
            "query" => self.query = Some(blanks()?).filter(|query| !query.is_empty()),
            "protocol" => {
                self.protocol = match value {
                    "simple" => Protocol::Simple,
                    "extended" => Protocol::Extended,
                    "prepared" => Protocol::Prepared,
                    _ => return Err(wrong("simple, extended or prepared")),
                }
            }
            "param" => {
                if self.parameters.len() == PARAMETERS_MAX {
                    return Err(format!("too many parameters: the limit is {PARAMETERS_MAX}"));
                }
                self.parameters
                    .push(range(value).ok_or_else(|| wrong("a range of integers such as 1-100000"))?);
            }
            "rows" => self.rows = Some(value.parse().map_err(|_| wrong("a number of rows"))?),
            "value" => self.value = Some(blanks()?),
            "sslmode" => {
                self.sslmode = match value {
                    "disable" => SslMode::Disable,
                    "require" => SslMode::Require,
                    "verify-full" => SslMode::VerifyFull,
                    _ => return Err(wrong("disable, require or verify-full")),
                }
            }
            _ => return Err(unknown(name, URL_OPTIONS)),
        }
        Ok(())
    }
}

/// `1-100000`, `-5-5` or `7`.
fn range(text: &str) -> Option<Range> {
    let after_sign = usize::from(text.starts_with('-'));
    let dash = text.get(after_sign..)?.find('-').map(|at| at + after_sign);
    let (first, last) = dash.map_or((text, text), |at| (&text[..at], &text[at + 1..]));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some(Range { first, last })
}

/// A percent-decoded text (RFC 3986 section 2.1).
///
/// # Errors
/// It is not UTF-8, or contains a zero byte, which ends strings in the protocol.
pub(super) fn decoded(text: &str) -> Result<String, String> {
    let bytes = percent_decoded(text).map_err(|why| format!("`{text}` {why}"))?;
    if bytes.contains(&0) {
        return Err(format!("`{text}` contains a zero byte, which PostgreSQL does not allow"));
    }
    String::from_utf8(bytes).map_err(|_| format!("`{text}` is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_that_help_shows_are_those_that_hold() {
        for option in URL_OPTIONS.iter().filter(|option| !matches!(option.default, "" | "SELECT+1")) {
            let path = format!("/?{}={}", option.name, option.default);
            assert_eq!(Options::parse(&path), Options::parse(""), "{path}");
        }
    }

    #[test]
    fn a_query_is_read() {
        let options = Options::parse(
            "/my%20db?query=SELECT+1%2B$1&protocol=prepared&param=1-100000&param=-5--1&param=7&rows=1&value=a+b&sslmode=verify-full",
        );
        let range = |first, last| Range { first, last };
        let wanted = Options {
            database: Some("my db".into()),
            query: Some("SELECT 1+$1".into()),
            protocol: Protocol::Prepared,
            parameters: vec![range(1, 100_000), range(-5, -1), range(7, 7)],
            rows: Some(1),
            value: Some("a b".into()),
            sslmode: SslMode::VerifyFull,
        };
        assert_eq!(options, Ok(wanted));
    }

    #[test]
    fn an_invalid_option_is_named_in_one_line() {
        for (path, word) in [
            ("/a/b", "not a database"),
            ("/?query", "not an option"),
            ("/?protocol=fast", "simple, extended or prepared"),
            ("/?param=5-4", "a range"),
            ("/?param=", "a range"),
            ("/?param=-", "a range"),
            ("/?param=1-9223372036854775808", "a range"),
            ("/?rows=-1", "a number of rows"),
            ("/?sslmode=prefer", "disable, require or verify-full"),
            ("/?query=%zz", "hexadecimal"),
            ("/?query=a%00b", "zero"),
            ("/%ff", "UTF-8"),
            ("/?speed=9", "choose from query, protocol"),
        ] {
            let error = Options::parse(path).unwrap_err();
            assert!(error.contains(word) && !error.contains('\n'), "{path}: {error}");
        }
    }
}
