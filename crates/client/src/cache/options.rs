//! The options in the query of a cache's URL.

use super::size::Size;
use crate::entry::UrlOption;
use crate::option::{pairs, unknown};
use pitot_proto::memcache::{KEY_BYTES_MAX, VALUE_BYTES};

/// A key number and one more bit must fit into a tag.
const KEYS_MAX: u64 = 1 << 30;
const MULTIGET_MAX: u64 = 1000;
/// The distribution of ETC's values has no end; it is cut off here. memcached counts the overhead of an item against its
/// limit of 1 MiB.
const ETC_VALUE_MAX: u64 = VALUE_BYTES - 1024;

pub(crate) const URL_OPTIONS: &[UrlOption] = &[
    UrlOption { name: "keys", default: "10k", meaning: "the number of keys, 1 to 2^30: 100k" },
    UrlOption { name: "key", default: "16", meaning: "the length of keys, 1 to 250: 20, 10-40 or etc" },
    UrlOption { name: "value", default: "1KiB", meaning: "the length of values: 1KiB, 100-2000 or etc" },
    UrlOption { name: "get", default: "0.9", meaning: "the share of requests that read, 0 to 1" },
    UrlOption { name: "multiget", default: "1", meaning: "the number of keys in one read, 1 to 1000" },
    UrlOption {
        name: "popularity",
        default: "uniform",
        meaning: "how requests spread over the keys: uniform, zipf or zipf:0.99",
    },
    UrlOption { name: "expire", default: "0", meaning: "seconds until a value expires; 0 for never" },
    UrlOption { name: "fill", default: "yes", meaning: "write every key once before the run: yes or no" },
    UrlOption {
        name: "mix",
        default: "",
        meaning: "a published mix that sets key, value, get and popularity: etc",
    },
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) keys: u64,
    pub(crate) key: Size,
    pub(crate) value: Size,
    pub(crate) value_bytes_max: u64,
    /// The share of requests that read.
    pub(crate) get: f64,
    pub(crate) multiget: u64,
    /// The exponent of Zipf's law; without one all keys are alike.
    pub(crate) zipf: Option<f64>,
    /// Seconds until a value expires; 0 is never.
    pub(crate) expire_s: u64,
    /// Write every key once before the run.
    pub(crate) fill: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            keys: 10_000,
            key: Size::Fixed(16),
            value: Size::Fixed(1024),
            value_bytes_max: 1024,
            get: 0.9,
            multiget: 1,
            zipf: None,
            expire_s: 0,
            fill: true,
        }
    }
}

impl Options {
    /// Reads a path with a query: `/?keys=100k&get=0.9`.
    ///
    /// # Errors
    /// An option that is unknown or invalid.
    pub(crate) fn parse(path: &str) -> Result<Options, String> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        if !matches!(path, "" | "/") {
            return Err(format!(
                "the URL of a cache has no path: remove `{path}`, and write options behind a `?`"
            ));
        }
        let mut options = Options::default();
        for pair in pairs(query, "keys=100k") {
            let (name, value) = pair?;
            let Some(option) = URL_OPTIONS.iter().find(|option| option.name == name) else {
                return Err(unknown(name, URL_OPTIONS));
            };
            options
                .set(name, value)
                .ok_or_else(|| format!("`{name}={value}` is not valid: {name} is {}", option.meaning))?;
        }
        options.value_bytes_max = match options.value {
            // An explicit size is taken as it is, even if the server may refuse it.
            Size::Fixed(len) | Size::Uniform(_, len) => len,
            Size::EtcKey | Size::EtcValue => ETC_VALUE_MAX,
        };
        if options.value_bytes_max > 1 << 30 {
            return Err(format!(
                "values of {} bytes are too long: the limit is 1 GiB",
                options.value_bytes_max
            ));
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let within = |n: u64, first: u64, last: u64| (first..=last).contains(&n).then_some(n);
        match name {
            "keys" => self.keys = within(quantity(value)?, 1, KEYS_MAX)?,
            "key" => {
                self.key = size(value, Size::EtcKey)?;
                if let Size::Fixed(last) | Size::Uniform(_, last) = self.key {
                    within(last, 1, KEY_BYTES_MAX as u64)?;
                }
            }
            "value" => self.value = size(value, Size::EtcValue)?,
            "get" => self.get = value.parse().ok().filter(|share| (0.0..=1.0).contains(share))?,
            "multiget" => self.multiget = within(quantity(value)?, 1, MULTIGET_MAX)?,
            "popularity" => {
                self.zipf = match value.split_once(':').unwrap_or((value, "0.99")) {
                    ("uniform", _) => None,
                    ("zipf", exponent) => {
                        let exponent = exponent.parse().ok().filter(|e| (0.01..=10.0).contains(e));
                        Some(exponent?)
                    }
                    _ => return None,
                }
            }
            "expire" => self.expire_s = within(quantity(value)?, 0, u64::from(u32::MAX))?,
            "fill" if matches!(value, "yes" | "no") => self.fill = value == "yes",
            "mix" if value == "etc" => {
                (self.key, self.value) = (Size::EtcKey, Size::EtcValue);
                (self.get, self.zipf) = (30.0 / 31.0, Some(0.99));
            }
            _ => return None,
        }
        Some(())
    }
}

/// `20`, `10-40`, `uniform:10-40` or `etc`.
fn size(text: &str, etc: Size) -> Option<Size> {
    if text == "etc" {
        return Some(etc);
    }
    let text = text.strip_prefix("fixed:").or(text.strip_prefix("uniform:")).unwrap_or(text);
    match text.split_once('-') {
        None => Some(Size::Fixed(quantity(text)?)),
        Some((first, last)) => {
            let (first, last) = (quantity(first)?, quantity(last)?);
            (first <= last).then_some(Size::Uniform(first, last))
        }
    }
}

/// `100`, `100k`, `1M`, `4KiB`, `1MiB`.
fn quantity(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "" | "B" => 1,
        "k" => 1000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_ninety_percent_reads_of_a_kibibyte() {
        for path in ["", "/", "/?", "?"] {
            assert_eq!(Options::parse(path), Ok(Options::default()), "{path}");
        }
    }

    #[test]
    fn the_defaults_that_help_shows_are_those_that_hold() {
        for option in URL_OPTIONS.iter().filter(|option| !option.default.is_empty()) {
            let path = format!("/?{}={}", option.name, option.default);
            assert_eq!(Options::parse(&path), Ok(Options::default()), "{path}");
        }
    }

    #[test]
    fn every_option_is_read() {
        let options = Options::parse(
            "/?keys=1M&key=10-40&value=4KiB&get=0.5&multiget=10&popularity=zipf:1.1&expire=60&fill=no",
        );
        let wanted = Options {
            keys: 1_000_000,
            key: Size::Uniform(10, 40),
            value: Size::Fixed(4096),
            value_bytes_max: 4096,
            get: 0.5,
            multiget: 10,
            zipf: Some(1.1),
            expire_s: 60,
            fill: false,
        };
        assert_eq!(options, Ok(wanted));
        let etc = Options::parse("/?mix=etc&get=0").unwrap();
        assert_eq!((etc.key, etc.value, etc.get, etc.zipf), (Size::EtcKey, Size::EtcValue, 0.0, Some(0.99)));
    }

    #[test]
    fn an_invalid_option_is_named_in_one_line() {
        for (path, word) in [
            ("/a", "/a"),
            ("/?keys", "keys"),
            ("/?keys=0", "number of keys"),
            ("/?keys=2G", "number of keys"),
            ("/?key=251", "length of keys"),
            ("/?key=0", "length of keys"),
            ("/?key=5-4", "length of keys"),
            ("/?value=1KB", "length of values"),
            ("/?value=2GiB", "the limit is 1 GiB"),
            ("/?get=1.1", "share of requests that read"),
            ("/?multiget=0", "keys in one read"),
            ("/?popularity=zipf:0", "requests spread"),
            ("/?popularity=best", "requests spread"),
            ("/?fill=maybe", "before the run"),
            ("/?mix=usr", "published mix"),
            ("/?what=1", "choose from keys"),
        ] {
            let error = Options::parse(path).unwrap_err();
            assert!(error.contains(word) && !error.contains('\n'), "{path}: {error}");
        }
    }
}
