//! The options in the query of an `smtp://` URL.

use crate::entry::UrlOption;
use crate::option::{pairs, unknown};

/// Servers must accept 100 recipients (RFC 5321 section 4.5.3.1.8), and some accept more.
const RECIPIENTS_MAX: u64 = 10_000;
/// The longest generated message.
const BYTES_MAX: u64 = 64 << 20;

pub(super) const URL_OPTIONS: &[UrlOption] = &[
    UrlOption { name: "from", default: "sender@example.com", meaning: "the sender's address" },
    UrlOption {
        name: "to",
        default: "recipient@example.net",
        meaning: "the recipient's address; several are numbered: 0-ADDRESS, 1-ADDRESS",
    },
    UrlOption {
        name: "recipients",
        default: "1",
        meaning: "the number of recipients of a message, 1 to 10000",
    },
    UrlOption { name: "size", default: "1KiB", meaning: "the length of the generated message, up to 64MiB" },
    UrlOption { name: "end", default: "data", meaning: "data, or rset to deliver nothing" },
    UrlOption { name: "pipelining", default: "auto", meaning: "auto (if the server offers it) or off" },
];

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Options {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) recipients: u64,
    /// The length of the generated message with its header.
    pub(super) bytes: u64,
    /// End with RSET instead of DATA.
    pub(super) rset: bool,
    pub(super) pipelining: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            from: "sender@example.com".into(),
            to: "recipient@example.net".into(),
            recipients: 1,
            bytes: 1024,
            rset: false,
            pipelining: true,
        }
    }
}

impl Options {
    /// Reads a path with a query: `/?recipients=10&size=1KiB`.
    ///
    /// # Errors
    /// An option that is unknown or invalid.
    pub(super) fn parse(path: &str) -> Result<Options, String> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        if !matches!(path, "" | "/") {
            return Err(format!(
                "the URL of smtp has no path: remove `{path}`, and write options behind a `?`"
            ));
        }
        let mut options = Options::default();
        for pair in pairs(query, "size=1KiB") {
            let (name, value) = pair?;
            let wrong = |wanted: &str| format!("`{name}={value}` is not valid: {name} is {wanted}");
            match name {
                "from" | "to" => {
                    let address = address(value).ok_or_else(|| wrong("an address such as a@b.test"))?;
                    *(if name == "to" { &mut options.to } else { &mut options.from }) = address;
                }
                "recipients" => {
                    options.recipients = number(value, "", 1)
                        .filter(|n| (1..=RECIPIENTS_MAX).contains(n))
                        .ok_or_else(|| wrong("a number from 1 to 10000"))?;
                }
                "size" => {
                    let size = number(value, "MiB", 1 << 20).or_else(|| number(value, "KiB", 1 << 10));
                    options.bytes = size
                        .or_else(|| number(value, "", 1))
                        .filter(|n| *n <= BYTES_MAX)
                        .ok_or_else(|| wrong("a size up to 64MiB"))?;
                }
                "end" => {
                    options.rset = choice(value, "rset", "data").ok_or_else(|| wrong("data or rset"))?;
                }
                "pipelining" => {
                    options.pipelining = choice(value, "auto", "off").ok_or_else(|| wrong("auto or off"))?;
                }
                _ => return Err(unknown(name, URL_OPTIONS)),
            }
        }
        Ok(options)
    }
}

fn number(word: &str, unit: &str, scale: u64) -> Option<u64> {
    word.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(scale)
}

fn choice(word: &str, yes: &str, no: &str) -> Option<bool> {
    if word == yes { Some(true) } else { (word == no).then_some(false) }
}

/// A mailbox that can be between angle brackets unchanged; a URL contains printable ASCII only.
fn address(word: &str) -> Option<String> {
    let (local, domain) = word.rsplit_once('@')?;
    let fits = !local.is_empty() && !domain.is_empty() && word.len() <= 254;
    (fits && !word.contains(['<', '>', ' '])).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_that_help_shows_are_those_that_hold() {
        for option in URL_OPTIONS {
            let path = format!("/?{}={}", option.name, option.default);
            assert_eq!(Options::parse(&path), Ok(Options::default()), "{path}");
        }
    }

    #[test]
    fn a_query_is_read_and_a_wrong_word_is_named() {
        assert_eq!(Options::parse("/"), Ok(Options::default()));
        let parsed =
            Options::parse("/?from=a@b.test&to=c@d.test&recipients=5&size=2KiB&end=rset&pipelining=off");
        let expected = Options {
            from: "a@b.test".into(),
            to: "c@d.test".into(),
            recipients: 5,
            bytes: 2048,
            rset: true,
            pipelining: false,
        };
        assert_eq!(parsed, Ok(expected));
        for wrong in [
            "/inbox",
            "/?size",
            "/?size=2KB",
            "/?recipients=0",
            "/?recipients=10001",
            "/?from=me",
            "/?to=a@<b>",
            "/?end=quit",
            "/?pipelining=yes",
            "/?speed=9",
        ] {
            assert!(Options::parse(wrong).is_err(), "{wrong}");
        }
    }
}
