//! Paths: `<mailbox>`, as RFC 5321 section 4.1.2 has them, with the UTF-8 of RFC 6531.
//!
//! Written here rather than taken from a library: an SMTP server accepts less than libraries for mail headers do (no
//! comments, no folding), and needs references into its input without a copy.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str;

/// The longest path with its brackets, the longest local part, domain and label, in bytes (section 4.5.3.1).
const PATH_BYTES_MAX: usize = 256;
const LOCAL_BYTES_MAX: usize = 64;
const DOMAIN_BYTES_MAX: usize = 255;
const LABEL_BYTES_MAX: usize = 63;

/// A path without its brackets and its source route, which is obsolete and ignored (RFC 5321 appendix C).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path<'a> {
    /// `local@domain`; empty for the null reverse-path; `Postmaster` has no domain.
    pub(super) mailbox: &'a str,
    /// The rest after the path.
    pub(super) rest: &'a [u8],
}

/// Parses the path of a sender. It may be empty, for messages that must not be answered.
pub(super) fn reverse(input: &[u8]) -> Option<Path<'_>> {
    if let Some(rest) = input.strip_prefix(b"<>") {
        return Some(Path { mailbox: "", rest });
    }
    path(input)
}

/// Parses the path of a recipient. The postmaster needs no domain (section 4.1.1.3).
pub(super) fn forward(input: &[u8]) -> Option<Path<'_>> {
    const POSTMASTER: &[u8] = b"<postmaster>";
    if let Some((head, rest)) = input.split_at_checked(POSTMASTER.len())
        && head.eq_ignore_ascii_case(POSTMASTER)
    {
        return Some(Path { mailbox: str::from_utf8(&head[1..head.len() - 1]).ok()?, rest });
    }
    path(input)
}

fn path(input: &[u8]) -> Option<Path<'_>> {
    let inner = input.strip_prefix(b"<")?;
    // A quoted local part may contain a `>`, so the end is found by parsing.
    let mut at = source_route(inner)?;
    let start = at;
    at += local_part(&inner[at..])?;
    if inner.get(at) != Some(&b'@') {
        return None;
    }
    at += 1;
    at += domain_or_literal(&inner[at..])?;
    if inner.get(at) != Some(&b'>') || at + 2 > PATH_BYTES_MAX {
        return None;
    }
    Some(Path { mailbox: str::from_utf8(&inner[start..at]).ok()?, rest: &inner[at + 1..] })
}

/// The length of `@one,@two:`, or 0 if there is none.
fn source_route(input: &[u8]) -> Option<usize> {
    let mut at = 0;
    while input.get(at) == Some(&b'@') {
        at += 1 + domain(&input[at + 1..])?;
        match input.get(at) {
            Some(b',') if input.get(at + 1) == Some(&b'@') => at += 1,
            Some(b':') => return Some(at + 1),
            _ => return None,
        }
    }
    Some(0)
}

/// The length of the local part.
fn local_part(input: &[u8]) -> Option<usize> {
    let len = if input.first() == Some(&b'"') { quoted_string(input)? } else { dot_string(input)? };
    (len <= LOCAL_BYTES_MAX).then_some(len)
}

fn quoted_string(input: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match input.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' if (b' '..=b'~').contains(input.get(at + 1)?) => at += 2,
            b'\\' => return None,
            b' '..=b'~' | 0x80.. => at += 1,
            _ => return None,
        }
    }
}

fn dot_string(input: &[u8]) -> Option<usize> {
    parts(input, |byte| {
        byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte) || byte >= 0x80
    })
}

fn domain_or_literal(input: &[u8]) -> Option<usize> {
    if input.first() != Some(&b'[') {
        return domain(input);
    }
    let end = input.iter().take(DOMAIN_BYTES_MAX).position(|&byte| byte == b']')?;
    let literal = str::from_utf8(&input[1..end]).ok()?;
    // The only registered tag.
    let sound = match literal.split_at_checked(5) {
        Some((tag, address)) if tag.eq_ignore_ascii_case("IPv6:") => address.parse::<Ipv6Addr>().is_ok(),
        _ => literal.parse::<Ipv4Addr>().is_ok(),
    };
    sound.then_some(end + 1)
}

fn domain(input: &[u8]) -> Option<usize> {
    let len = parts(input, |byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte >= 0x80)?;
    let sound = |label: &[u8]| {
        label.len() <= LABEL_BYTES_MAX && label.first() != Some(&b'-') && label.last() != Some(&b'-')
    };
    (len <= DOMAIN_BYTES_MAX && input[..len].split(|&byte| byte == b'.').all(sound)).then_some(len)
}

/// The length of non-empty parts separated by dots.
fn parts(input: &[u8], is_of_part: impl Fn(u8) -> bool) -> Option<usize> {
    let len = input.iter().take_while(|&&byte| byte == b'.' || is_of_part(byte)).count();
    let sound = input[..len].split(|&byte| byte == b'.').all(|part| !part.is_empty());
    sound.then_some(len)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_that_are_sound() {
        for (input, mailbox) in [
            ("<a@b.test>", "a@b.test"),
            ("<a.b+c@d>", "a.b+c@d"),
            ("<!#$%&'*+-/=?^_`{|}~@x-1.test>", "!#$%&'*+-/=?^_`{|}~@x-1.test"),
            ("<\"\"@b>", "\"\"@b"),
            ("<\"a b>\\\"c@\"@b>", "\"a b>\\\"c@\"@b"),
            ("<@one.test,@two.test:a@b.test>", "a@b.test"),
            ("<a@[127.0.0.1]>", "a@[127.0.0.1]"),
            ("<a@[IPv6:::1]>", "a@[IPv6:::1]"),
            ("<grün@straße.test>", "grün@straße.test"),
            ("<\"grün\"@b>", "\"grün\"@b"),
        ] {
            let read = reverse(input.as_bytes()).unwrap_or_else(|| panic!("{input}"));
            assert_eq!((read.mailbox, read.rest), (mailbox, &b""[..]));
            let with_rest = format!("{input} SIZE=1");
            assert_eq!(forward(with_rest.as_bytes()).unwrap().rest, b" SIZE=1");
        }
        assert_eq!(reverse(b"<> X").unwrap(), Path { mailbox: "", rest: b" X" });
        assert_eq!(forward(b"<PostMaster>").unwrap().mailbox, "PostMaster");
    }

    #[test]
    fn paths_that_are_not() {
        for input in [
            "",
            "<",
            "a@b",
            "<a@b",
            "<a>",
            "<@b>",
            "<a@>",
            "<.a@b>",
            "<a.@b>",
            "<a..c@b>",
            "<a@b.>",
            "<a@.b>",
            "<a@-b>",
            "<a@b->",
            "<a@b..c>",
            "<a b@c>",
            "< a@b>",
            "<a@b >",
            "<a@b_c>",
            "<\"a@b>",
            "<\"a\\\x01\"@b>",
            "<\"a\"x@b>",
            "<a@[1.2.3]>",
            "<a@[1.2.3.4>",
            "<a@[IPv6:1.2.3.4]>",
            "<a@[x:y]>",
            "<@one:>",
            "<@one a@b>",
            "<@one,two:a@b>",
            "<a@b@c>",
            "<<a@b>>",
            "<a,b@c>",
            "<a\0@b>",
            "<a@b\0>",
        ] {
            assert_eq!(reverse(input.as_bytes()), None, "{input}");
        }
        assert_eq!(reverse(b"<a\xff@b>"), None);
        assert_eq!(forward(b"<>"), None);
        assert_eq!(reverse(b"<postmaster>"), None);
    }

    #[test]
    fn lengths_are_bounded() {
        let of = |local: usize, labels: &[usize]| {
            let labels: Vec<String> = labels.iter().map(|&len| "b".repeat(len)).collect();
            reverse(format!("<{}@{}>", "a".repeat(local), labels.join(".")).as_bytes()).is_some()
        };
        assert!(of(64, &[63]) && !of(65, &[63]) && !of(64, &[64]));
        assert!(of(62, &[63, 63, 63]) && !of(63, &[63, 63, 63]));
    }

    proptest! {
        #[test]
        fn what_is_read_is_the_start_of_the_input_and_reads_the_same_alone(
            input in prop::collection::vec(prop::sample::select(b"<>@.,:\"\\[]a1- \xc3\xa9".to_vec()), 0..24),
        ) {
            let input = [b"<", &input[..]].concat();
            if let Some(read) = forward(&input) {
                prop_assert!(input.ends_with(read.rest));
                let path = &input[..input.len() - read.rest.len()];
                let end = [read.mailbox.as_bytes(), b">"].concat();
                prop_assert!(path.ends_with(&end));
                prop_assert!(!read.mailbox.chars().any(char::is_control));
                let again = format!("<{}>", read.mailbox);
                prop_assert_eq!(forward(again.as_bytes()), Some(Path { mailbox: read.mailbox, rest: b"" }));
            }
        }
    }
}
