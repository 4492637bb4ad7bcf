//! Mail addresses in a list, one per line.

use std::fmt;

/// The longest local part and the longest domain (RFC 5321 section 4.5.3.1).
const LOCAL_BYTES_MAX: usize = 64;
const DOMAIN_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// An address `local@domain`, which can be between angle brackets unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    /// The text before the last `@`. It is never changed: only its host can interpret it.
    pub local: &'a str,
    /// The text behind it, unchanged; a name, or an address in brackets.
    pub domain: &'a str,
}

/// Why a line is not an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadAddress {
    /// There is no `@`.
    NoAt,
    /// The local part is empty or longer than 64 bytes.
    LocalLength,
    /// The local part contains a space, a control character, an angle bracket, or an open quote.
    LocalCharacter,
    /// The domain is not a host name.
    Domain,
    /// The domain is not ASCII.
    DomainNotAscii,
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The line is longer than any address.
    TooLong,
}

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BadAddress::NoAt => "no `@`",
            BadAddress::LocalLength => "the part before the `@` is empty or longer than 64 bytes",
            BadAddress::LocalCharacter => "a space, a bracket or an open quote before the `@`",
            BadAddress::Domain => "the part behind the `@` is not a domain",
            BadAddress::DomainNotAscii => "the domain is not ASCII (write its `xn--` form)",
            BadAddress::NotUtf8 => "not UTF-8",
            BadAddress::TooLong => "the address is longer than 254 bytes",
        })
    }
}

impl<'a> Address<'a> {
    /// Parses a line without its end. Surrounding spaces and one pair of angle brackets are ignored.
    ///
    /// # Errors
    /// See [`BadAddress`].
    pub fn parse(line: &'a [u8]) -> Result<Address<'a>, BadAddress> {
        let text = std::str::from_utf8(line.trim_ascii()).map_err(|_| BadAddress::NotUtf8)?;
        let text = text.strip_prefix('<').and_then(|t| t.strip_suffix('>')).unwrap_or(text);
        let (local, domain) = text.rsplit_once('@').ok_or(BadAddress::NoAt)?;
        if local.is_empty() || local.len() > LOCAL_BYTES_MAX {
            return Err(BadAddress::LocalLength);
        }
        if !is_local(local) {
            return Err(BadAddress::LocalCharacter);
        }
        if !domain.is_ascii() {
            return Err(BadAddress::DomainNotAscii);
        }
        if !is_domain(domain.as_bytes()) {
            return Err(BadAddress::Domain);
        }
        Ok(Address { local, domain })
    }
}

/// A dot-string or a quoted string (RFC 5321 section 4.1.2), where bytes above 127 count as letters (RFC 6531). Quoted
/// spaces are not taken: no list that was made in earnest has them, and a line with a space is mostly two addresses.
fn is_local(local: &str) -> bool {
    let bytes = local.as_bytes();
    if bytes.iter().any(|&b| b <= b' ' || b == 0x7f || matches!(b, b'<' | b'>')) {
        return false;
    }
    let Some(quoted) = bytes.strip_prefix(b"\"") else {
        return !bytes.iter().any(|b| br#"()[]\,;:"@"#.contains(b));
    };
    let Some(quoted) = quoted.strip_suffix(b"\"") else { return false };
    let mut inside = quoted.iter();
    while let Some(&b) = inside.next() {
        if b == b'"' || b == b'\\' && inside.next().is_none() {
            return false;
        }
    }
    true
}

fn is_domain(domain: &[u8]) -> bool {
    if let Some(literal) = literal_of(domain) {
        return literal.is_some();
    }
    let label = |label: &[u8]| {
        (1..=LABEL_BYTES_MAX).contains(&label.len())
            && label.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
            && !label.starts_with(b"-")
            && !label.ends_with(b"-")
    };
    domain.len() <= DOMAIN_BYTES_MAX && domain.split(|&b| b == b'.').all(label)
}

/// The IP address of a domain in brackets; `Some(None)` if the brackets contain something else.
pub(crate) fn literal_of(domain: &[u8]) -> Option<Option<std::net::IpAddr>> {
    let inside = domain.strip_prefix(b"[")?;
    let inside = inside.strip_suffix(b"]").and_then(|b| std::str::from_utf8(b).ok()).unwrap_or_default();
    let v6 = inside.get(..5).is_some_and(|tag| tag.eq_ignore_ascii_case("IPv6:"));
    Some(if v6 {
        inside[5..].parse().ok().map(std::net::IpAddr::V6)
    } else {
        inside.parse().ok().map(std::net::IpAddr::V4)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_apart_at_its_last_at() {
        for (line, local, domain) in [
            ("joe@example.com", "joe", "example.com"),
            ("  <Joe.Bloggs+x@Example.COM>\r", "Joe.Bloggs+x", "Example.COM"),
            ("\"a@b\"@c.d", "\"a@b\"", "c.d"),
            (r#""a\"b"@c"#, r#""a\"b""#, "c"),
            ("jürgen@xn--mnchen-3ya.de", "jürgen", "xn--mnchen-3ya.de"),
            ("a@[127.0.0.1]", "a", "[127.0.0.1]"),
            ("a@[IPv6:::1]", "a", "[IPv6:::1]"),
            ("a@_dmarc.x", "a", "_dmarc.x"),
        ] {
            assert_eq!(Address::parse(line.as_bytes()), Ok(Address { local, domain }), "{line}");
        }
    }

    #[test]
    fn what_is_no_address_is_told_apart() {
        let long = format!("{}@x.y", "a".repeat(65));
        let wide = format!("a@{}", "abcdefg.".repeat(32) + "com");
        for (line, error) in [
            ("", BadAddress::NoAt),
            ("joe", BadAddress::NoAt),
            ("@x.y", BadAddress::LocalLength),
            (long.as_str(), BadAddress::LocalLength),
            ("a b@x.y", BadAddress::LocalCharacter),
            ("a@x.y, b@x.y", BadAddress::LocalCharacter),
            ("a>b@x.y", BadAddress::LocalCharacter),
            ("\"a@x.y", BadAddress::LocalCharacter),
            ("\"a\\\"@x.y", BadAddress::LocalCharacter),
            ("a\r\nRCPT@x.y", BadAddress::LocalCharacter),
            ("a@", BadAddress::Domain),
            ("a@x..y", BadAddress::Domain),
            ("a@-x.y", BadAddress::Domain),
            ("a@x y", BadAddress::Domain),
            ("a@x>", BadAddress::Domain),
            ("a@[1.2.3]", BadAddress::Domain),
            ("a@[::1]", BadAddress::Domain),
            (wide.as_str(), BadAddress::Domain),
            ("a@münchen.de", BadAddress::DomainNotAscii),
        ] {
            assert_eq!(Address::parse(line.as_bytes()), Err(error), "{line}");
        }
        assert_eq!(Address::parse(b"\xff@x"), Err(BadAddress::NotUtf8));
    }
}
