use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use percent_encoding::{percent_decode_str, utf8_percent_encode};

use pitot_proto::percent::NOT_GRAPHIC;

/// The parts of a target: `scheme://host:port/path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// The word before `://`.
    pub scheme: String,
    /// A name or an address, without the brackets of IPv6.
    pub host: String,
    /// The port, where it is named.
    pub port: Option<u16>,
    /// The user, and a password behind a colon, before an `@`.
    pub user_info: Option<String>,
    /// The path with its query, from its first slash; empty if there is none.
    pub path: String,
}

/// Why a text is not a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlError {
    /// No `scheme://` in front.
    Scheme,
    /// No host.
    Host,
    /// The port is not a number from 1 to 65535.
    Port,
    /// An IPv6 address without its brackets.
    Brackets,
    /// A number that is not an IPv4 address.
    Address,
    /// A space or a control character, or one that is not ASCII.
    Character,
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UrlError::Scheme => "it has no scheme such as `http://`",
            UrlError::Host => "it has no host",
            UrlError::Port => "its port is not a number from 1 to 65535",
            UrlError::Brackets => "its IPv6 address is not in brackets",
            UrlError::Address => "its host is not a full IP address",
            UrlError::Character => "it contains a space or a character that is not printable ASCII",
        })
    }
}

impl std::error::Error for UrlError {}

impl UrlError {
    /// How to fix the text: the right one if its meaning is clear, else an example.
    pub fn fix(self, word: &str) -> String {
        let example = || "write it like http://127.0.0.1:8080/".to_owned();
        let if_valid = |url: String| Url::parse(&url).is_ok().then(|| format!("write it as {url}"));
        match self {
            UrlError::Scheme if !word.contains("://") => {
                if_valid(format!("http://{word}")).unwrap_or_else(example)
            }
            UrlError::Brackets => with_brackets(word).and_then(if_valid).unwrap_or_else(example),
            UrlError::Address => "write all four numbers, as in 127.0.0.1, or a name".into(),
            UrlError::Character => if_valid(percent_encoded(word)).unwrap_or_else(example),
            UrlError::Scheme | UrlError::Host | UrlError::Port => example(),
        }
    }
}

/// The URL with brackets around its IPv6 address.
fn with_brackets(word: &str) -> Option<String> {
    let (scheme, rest) = word.split_once("://")?;
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let is_address = |host: &str| host.parse::<Ipv6Addr>().is_ok();
    match authority.rsplit_once(':') {
        // The last number could be a part of the address too; a port is more likely.
        Some((host, port)) if is_address(host) => Some(format!("{scheme}://[{host}]:{port}{path}")),
        _ if is_address(authority) => Some(format!("{scheme}://[{authority}]{path}")),
        _ => None,
    }
}

/// The text without surrounding white space, percent-encoded for a path.
fn percent_encoded(word: &str) -> String {
    let word = word.trim();
    // A host is not percent-encoded.
    let path = word.find("://").map_or(0, |n| n + 3);
    let path = word[path..].find(['/', '?']).map_or(word.len(), |n| path + n);
    format!("{}{}", &word[..path], utf8_percent_encode(&word[path..], NOT_GRAPHIC))
}

/// Decodes a text (RFC 3986 section 2.1).
///
/// # Errors
/// A `%` without two hexadecimal digits. The text may be a secret and is not in the message.
pub(super) fn percent_decoded(text: &str) -> Result<Vec<u8>, &'static str> {
    let is_encoding = |after: &str| matches!(after.as_bytes(), [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    if !text.split('%').skip(1).all(is_encoding) {
        return Err("has a % that is not followed by two hexadecimal digits: write %25");
    }
    Ok(percent_decode_str(text).collect())
}

/// Whether the last label of a host is a number, which no name has. The system's resolver takes `1.2.3` for 1.2.0.3, and
/// `0x7f1` and `2130706433` for addresses too (inet_aton(3)), so traffic would go to an unintended host.
pub fn ends_in_number(host: &str) -> bool {
    let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    match hex {
        Some(digits) => digits.bytes().all(|b| b.is_ascii_hexdigit()),
        None => !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit()),
    }
}

impl Url {
    /// Parses a URL. A fragment (`#...`) is never sent and dropped.
    ///
    /// # Errors
    /// See [`UrlError`].
    pub fn parse(word: &str) -> Result<Url, UrlError> {
        if !word.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(UrlError::Character);
        }
        let (scheme, rest) = word.split_once("://").ok_or(UrlError::Scheme)?;
        if scheme.is_empty() || !scheme.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(UrlError::Scheme);
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (user_info, authority) = match authority.rsplit_once('@') {
            Some((user_info, authority)) => (Some(user_info.to_owned()), authority),
            None => (None, authority),
        };
        let (host, port) = match authority.strip_prefix('[') {
            Some(v6) => {
                let (host, after) = v6.split_once(']').ok_or(UrlError::Host)?;
                if !host.contains(':') {
                    return Err(UrlError::Address);
                }
                match after {
                    "" => (host, None),
                    _ => (host, Some(after.strip_prefix(':').ok_or(UrlError::Port)?)),
                }
            }
            None if authority.matches(':').count() > 1 => return Err(UrlError::Brackets),
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        if host.is_empty() {
            return Err(UrlError::Host);
        }
        if ends_in_number(host) && host.parse::<Ipv4Addr>().is_err() {
            return Err(UrlError::Address);
        }
        let port = match port {
            None => None,
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                Some(digits.parse().ok().filter(|&p| p != 0).ok_or(UrlError::Port)?)
            }
            Some(_) => return Err(UrlError::Port),
        };
        let slash = if path.starts_with('?') { "/" } else { "" };
        Ok(Url {
            scheme: scheme.to_ascii_lowercase(),
            host: host.to_owned(),
            port,
            user_info,
            path: format!("{slash}{path}"),
        })
    }

    /// A target as it may be shown: without name and password.
    pub fn without_user_info(word: &str) -> String {
        let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        match rest[..end].rfind('@') {
            Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
            None => word.to_owned(),
        }
    }

    /// The host and, where it is named, the port, as a Host header wants them.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match self.port {
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        for (word, scheme, host, port, path) in [
            ("http://localhost:8080/a?b=c#d", "http", "localhost", Some(8080), "/a?b=c"),
            ("HTTP://10.0.0.1", "http", "10.0.0.1", None, ""),
            ("http://[::1]:80/", "http", "::1", Some(80), "/"),
            ("http://[::1]", "http", "::1", None, ""),
            ("http://h?x", "http", "h", None, "/?x"),
            ("blob://h:1/1024", "blob", "h", Some(1), "/1024"),
        ] {
            let url = Url::parse(word).unwrap();
            assert_eq!(
                (&*url.scheme, &*url.host, url.port, &*url.path),
                (scheme, host, port, path),
                "{word}"
            );
        }
    }

    #[test]
    fn a_name_and_a_password_are_kept_apart_and_not_shown() {
        for (word, user_info, shown) in [
            ("http://me:p@ss@h:1/a@b", Some("me:p@ss"), "http://h:1/a@b"),
            ("http://me@[::1]/", Some("me"), "http://[::1]/"),
            ("http://h/a@b", None, "http://h/a@b"),
            ("http://h?a@b", None, "http://h?a@b"),
        ] {
            assert_eq!(Url::parse(word).unwrap().user_info.as_deref(), user_info, "{word}");
            assert_eq!(Url::without_user_info(word), shown);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (word, error) in [
            ("localhost:80", UrlError::Scheme),
            ("://x", UrlError::Scheme),
            ("http:/x", UrlError::Scheme),
            ("http://", UrlError::Host),
            ("http:///path", UrlError::Host),
            ("http://:80", UrlError::Host),
            ("http://h:", UrlError::Port),
            ("http://h:0", UrlError::Port),
            ("http://h:65536", UrlError::Port),
            ("http://h:+80", UrlError::Port),
            ("http://h:http", UrlError::Port),
            ("http://[::1]80", UrlError::Port),
            ("http://[::1", UrlError::Host),
            ("http://::1/", UrlError::Brackets),
            ("http://::1:9080/", UrlError::Brackets),
            ("http://1.2.3/", UrlError::Address),
            ("http://2130706433:80/", UrlError::Address),
            ("http://0x7f.1", UrlError::Address),
            ("http://0177.0.0.1", UrlError::Address),
            ("http://127.0.0.1./", UrlError::Address),
            ("http://[1.2.3]/", UrlError::Address),
            ("http://h/a b", UrlError::Character),
            ("http://h/\r\n", UrlError::Character),
            ("http://h\u{e9}", UrlError::Character),
        ] {
            assert_eq!(Url::parse(word), Err(error), "{word:?}");
        }
    }

    #[test]
    fn the_cure_shows_what_was_meant() {
        for (word, fix) in [
            ("127.0.0.1:80/x", "http://127.0.0.1:80/x"),
            ("ftp", "http://ftp"),
            ("http://::1:9080/x", "http://[::1]:9080/x"),
            ("http://fe80::1", "http://[fe80::1]"),
            ("http://h/a b?c=\u{e9}", "http://h/a%20b?c=%C3%A9"),
            (" http://h/ ", "http://h/"),
            ("http://h o/", "http://127.0.0.1:8080/"),
            ("http://1.2.3/", "four numbers"),
        ] {
            let shown = Url::parse(word).unwrap_err().fix(word);
            assert!(shown.contains(fix) && !shown.contains('\n'), "{word}: {shown}");
        }
        for name in ["host", "0x.example", "a1", "10.example", "1.2.3.a"] {
            assert!(Url::parse(&format!("http://{name}/")).is_ok(), "{name}");
        }
    }

    #[test]
    fn an_ipv6_authority_keeps_its_brackets() {
        assert_eq!(Url::parse("http://[::1]:81").unwrap().authority(), "[::1]:81");
    }
}
